"""Keeping reports: each pseudonym once, and what became of every row, in the words of either database.

An install has one pseudonym and makes one report, so the pseudonym is the key of the table, and the only one: in a
table of millions there is one page to look for and to write for a report, not two. The report's id tells a retry from a
second report.
"""

from __future__ import annotations

import os
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from blendp.service.refusal import Refused
from blendp.service.store.one_call import DOOR, SLOTS, Row, keep_in_one_call
from blendp.service.store.schema import pending_deletion, report
from blendp.service.store.store import Store
from blendp.wire.reports import ACCEPTED, DUPLICATE, ID_BYTES

COME_BACK = "busy"
PIECE = 5_000
"""Rows that one transaction deletes when a campaign is over, so that nobody waits long for it."""

MAX_PENDING = 10_000
"""Reports of a campaign whose deletion may be asked for while they are counted."""

_INSERT_SQLITE = """
    INSERT INTO report (campaign, report_id, pseudonym, question, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_BAR = """
    INSERT INTO report (campaign, report_id, pseudonym, question) VALUES ({0}, {0}, {0}, {0}) ON CONFLICT DO NOTHING
"""
_STATE = "SELECT state FROM campaign WHERE number = {0}"
_COUNT = """
    INSERT INTO intake (campaign, day, outcome, slot, count) VALUES ({0}, {0}, {0}, {0}, {0})
    ON CONFLICT (campaign, day, outcome, slot) DO UPDATE SET count = intake.count + excluded.count
"""
_Kept = tuple[bytes, int, bytes | None]
_MARK = {"sqlite": "?", "postgresql": "%s"}
_AT_A_TIME = 500


def keep_reports(
    connection: Connection,
    rows_of: Mapping[int, Sequence[Row]],
    day: str,
    refused: Counter[tuple[int, str]],
    *,
    hope: bool = True,
) -> dict[int, list[str]]:
    """Keep the rows of campaigns that are new, in their order; what became of every row, by campaign.

    All outcomes are counted, also of what was refused before. With ``hope`` PostgreSQL takes all rows for new first.

    accepted     is kept now,
    duplicate    is kept already, byte for byte,
    conflict     has pseudonym and id of a report that is kept, and other contents,
    over-quota   has the pseudonym of a report that is kept, and another id,
    deleted      was deleted on request, or its install asked for that before it came,
    late         came after the campaign's end,
    wrong-state  came before its list,
    busy         came while the result is computed, which may fail: it is not counted, and may come back.
    """
    outcomes, uncounted = {}, Counter(refused)
    for number, rows in sorted(rows_of.items()):
        if connection.dialect.name == "postgresql":
            last = number == max(rows_of)  # nothing of another campaign is held while one waits at a door
            fates = keep_in_one_call(connection, number, rows, day, uncounted if last else {}, hope=hope)
            if last and fates is not None:
                uncounted.clear()
        elif fates := _keep_sqlite(connection, number, rows):
            uncounted.update((number, outcome) for outcome in fates)
        if fates is None:
            fates = [_reason(connection, number)] * len(rows)
            if fates[0] != COME_BACK:
                uncounted[number, fates[0]] += len(rows)
        outcomes[number] = fates
    if uncounted:
        count_intake(connection, day, uncounted)
    return outcomes


def _state(connection: Connection, campaign: int) -> str | None:
    row = connection.exec_driver_sql(_STATE.format(_MARK[connection.dialect.name]), (campaign,)).first()
    return None if row is None else str(row[0])


def _reason(connection: Connection, campaign: int) -> str:
    """Why a campaign takes no reports; or took none a moment ago."""
    state = _state(connection, campaign)
    if state in ("reporting", "closing", "signing"):
        return COME_BACK
    return "late" if state == "released" else "wrong-state"


def close_door(connection: Connection, campaign: int) -> None:
    """Wait until no transaction keeps reports of a campaign, and let none begin before this transaction ends."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s, %s)", (DOOR, campaign))


def count_intake(connection: Connection, day: str, counts: Counter[tuple[int, str]]) -> None:
    """Add to the numbers of a day, by campaign and outcome."""
    slot = os.getpid() % SLOTS
    rows = [(number, day, outcome, slot, count) for (number, outcome), count in sorted(counts.items())]
    connection.exec_driver_sql(_COUNT.format(_MARK[connection.dialect.name]), rows)


def _keep_sqlite(connection: Connection, campaign: int, rows: Sequence[Row]) -> list[str] | None:
    """What became of every row; None if the campaign takes no reports. There is one writer, so that stays true."""
    if _state(connection, campaign) != "reporting":
        return None
    new = _insert_sqlite(connection, campaign, rows)
    if all(new):
        return [ACCEPTED] * len(rows)
    left = [row for row, is_new in zip(rows, new, strict=True) if not is_new]
    kept = _kept(connection, campaign, {row[1] for row in left})
    fates = (_fate(row, kept[row[1]]) for row in left)
    return [ACCEPTED if is_new else next(fates) for is_new in new]


def _insert_sqlite(connection: Connection, campaign: int, rows: Sequence[Row]) -> list[bool]:
    """All at once, sorted, so that each page of a large table is looked for once; where some are not new, one by one
    and in their order, to see which."""
    values = [(campaign, *row) for row in rows]
    with closing(connection.connection.cursor()) as cursor:
        if len(rows) > 1:
            cursor.execute("SAVEPOINT reports")
            if cursor.executemany(_INSERT_SQLITE, sorted(values, key=_pseudonym)).rowcount == len(rows):
                cursor.execute("RELEASE reports")
                return [True] * len(rows)
            cursor.execute("ROLLBACK TO reports")
        return [cursor.execute(_INSERT_SQLITE, value).rowcount == 1 for value in values]


def _pseudonym(values: tuple[int, bytes, bytes, int, bytes]) -> bytes:
    return values[2]


def _kept(connection: Connection, campaign: int, pseudonyms: set[bytes]) -> dict[bytes, _Kept]:
    """Id, question and data of the reports of these installs; no data if it was deleted on request."""
    columns = report.c
    query = sa.select(columns.report_id, columns.pseudonym, columns.question, columns.data)
    kept, left = {}, iter(sorted(pseudonyms))
    while some := list(islice(left, _AT_A_TIME)):
        rows = connection.execute(query.where(columns.campaign == campaign, columns.pseudonym.in_(some)))
        for report_id, pseudonym, question, data in rows:
            kept[bytes(pseudonym)] = (bytes(report_id), question, None if data is None else bytes(data))
    return kept


def _fate(row: Row, kept: _Kept) -> str:
    report_id, _, *contents = row
    if kept[2] is None:
        return "deleted"
    if kept[0] != report_id:
        return "over-quota"
    return DUPLICATE if kept[1:] == tuple(contents) else "conflict"


def delete_report(connection: Connection, campaign: int, pseudonym: bytes) -> bool:
    """Delete the contents of a report for good; its id and pseudonym stay until the release, so it cannot come back.

    A report that is still on its way is kept out by a row without contents under its pseudonym.
    """
    deletion = (
        report.update()
        .where(report.c.campaign == campaign, report.c.pseudonym == pseudonym, report.c.data.is_not(None))
        .values(data=None)
    )
    if connection.execute(deletion).rowcount:
        return True
    mark = _MARK[connection.dialect.name]
    row = (campaign, secrets.token_bytes(ID_BYTES), pseudonym, 0)
    barred = connection.exec_driver_sql(_BAR.format(mark), row).rowcount
    return not barred and connection.execute(deletion).rowcount == 1


def defer_deletion(connection: Connection, campaign: int, pseudonym: bytes) -> bool:
    """Note that a report is to be deleted while reports are being counted, so that it is taken away from the sums.

    Whoever ends the counting carries it out (:func:`carry_out_deletions`), well or badly. No more than
    :data:`MAX_PENDING` wait, so that the end of the counting is not far: who comes too many is asked to come back.
    """
    pending = sa.select(pending_deletion.c.pseudonym).where(pending_deletion.c.campaign == campaign)
    kept = sa.select(report.c.campaign).where(
        report.c.campaign == campaign, report.c.pseudonym == pseudonym, report.c.data.is_not(None)
    )
    if connection.execute(kept).first() is None:
        return delete_report(connection, campaign, pseudonym)
    if connection.execute(pending.where(pending_deletion.c.pseudonym == pseudonym)).first():
        return False
    if connection.execute(sa.select(sa.func.count()).select_from(pending.subquery())).scalar_one() >= MAX_PENDING:
        raise Refused("busy", "The result is being computed: try again, nothing was deleted.", retry_after=30)
    connection.execute(pending_deletion.insert().values(campaign=campaign, pseudonym=pseudonym))
    return True


def pending_reports(connection: Connection, campaign: int) -> list[tuple[int, bytes]]:
    """Question and data of the reports that were to be deleted while they were counted."""
    waiting = sa.select(pending_deletion.c.pseudonym).where(pending_deletion.c.campaign == campaign)
    query = sa.select(report.c.question, report.c.data).where(
        report.c.campaign == campaign, report.c.pseudonym.in_(waiting), report.c.data.is_not(None)
    )
    return [(question, bytes(data)) for question, data in connection.execute(query)]


def carry_out_deletions(connection: Connection, campaign: int) -> bool:
    """Delete the contents of all reports for which that was noted; whether there were any."""
    waiting = sa.select(pending_deletion.c.pseudonym).where(pending_deletion.c.campaign == campaign)
    mine = report.update().where(report.c.campaign == campaign, report.c.pseudonym.in_(waiting))
    deleted = connection.execute(mine.values(data=None)).rowcount
    connection.execute(pending_deletion.delete().where(pending_deletion.c.campaign == campaign))
    return deleted > 0


def delete_piece(connection: Connection, campaign: int, after: bytes) -> bytes | None:
    """Delete the next :data:`PIECE` rows of a campaign behind this pseudonym; the last one, None if there were none."""
    behind = sa.select(report.c.pseudonym).where(report.c.campaign == campaign, report.c.pseudonym > after)
    piece = behind.order_by(report.c.pseudonym).limit(PIECE).subquery()
    last = connection.execute(sa.select(piece.c.pseudonym).order_by(piece.c.pseudonym.desc()).limit(1)).scalar()
    if last is None:
        return None
    mine = report.delete().where(report.c.campaign == campaign)
    connection.execute(mine.where(report.c.pseudonym > after, report.c.pseudonym <= last))
    return bytes(last)


def has_rows(connection: Connection, campaign: int) -> bool:
    """Whether anything of reports is left of a campaign, deleted ones included."""
    return (
        connection.execute(sa.select(report.c.campaign).where(report.c.campaign == campaign).limit(1)).first()
        is not None
    )


def count_reports(connection: Connection, campaign: int) -> int:
    """How many reports are kept."""
    query = sa.select(sa.func.count()).where(report.c.campaign == campaign, report.c.data.is_not(None))
    return int(connection.execute(query).scalar_one())


def read_reports(store: Store, campaign: int, at_a_time: int = 20_000) -> Iterator[list[tuple[int, bytes]]]:
    """Question and data of all reports of a campaign, some at a time.

    PostgreSQL reads one state of the table. The embedded database is read in many short transactions, since a long one
    would let its log grow without end; while a campaign is closing its reports stay as they are: it is one state, too.
    """
    columns = report.c
    query = sa.select(columns.pseudonym, columns.question, columns.data)
    query = query.where(columns.campaign == campaign, columns.data.is_not(None))
    if not store.embedded:
        with store.reading() as connection:
            for some in connection.execution_options(yield_per=at_a_time).execute(query).partitions():
                yield [(question, bytes(data)) for _, question, data in some]
        return
    last = b""
    while True:
        with store.reading() as connection:
            page = query.where(columns.pseudonym > last).order_by(columns.pseudonym).limit(at_a_time)
            rows = connection.execute(page).all()
        if not rows:
            return
        last = bytes(rows[-1][0])
        yield [(question, bytes(data)) for _, question, data in rows]
