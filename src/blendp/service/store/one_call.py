"""Keeping reports in one call to PostgreSQL, of a function that lives there.

The function is code, not data: it is put in place when a store is opened that lacks it, so no backup need hold it. Its
name ends with a hash of what it does, so that two versions side by side do not call each other's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import accumulate, chain, groupby

from sqlalchemy.engine import Connection

Row = tuple[bytes, bytes, int, bytes]
"""Report id, keyed pseudonym, question, data."""

DOOR = 7235602
"""The advisory lock of a campaign's door: shared while reports come in, exclusive while it is closed."""

SLOTS = 16
"""Rows that processes share out among them to count in, so that none waits for another's commit."""

_OUTCOMES = {"a": "accepted", "d": "duplicate", "c": "conflict", "q": "over-quota", "x": "deleted"}
_LETTERS = ", ".join(f"('{letter}', '{outcome}')" for letter, outcome in _OUTCOMES.items())
_SENT = """
    SELECT place, substr(packed, place, 16) AS report_id, substr(packed, place + 16, 16) AS pseudonym,
           question, substr(packed, place + 32, width) AS data
    FROM unnest(questions, widths, starts, sizes) AS section (question, width, start, size),
         generate_series(start, start + (size - 1) * (32 + width), 32 + width) AS place
"""
_INSERT = f"""
    INSERT INTO report (campaign, report_id, pseudonym, question, data)
    SELECT asked, sent.report_id, sent.pseudonym, sent.question, sent.data FROM ({_SENT}) AS sent
"""
_FUNCTION = f"""(
        asked int, questions smallint[], widths int[], starts int[], sizes int[], packed bytea, hope boolean,
        counted int[], outcomes text[], counts bigint[], today text, own_slot int
    ) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_custom_plan
    AS $$
    DECLARE
        fresh bytea[];
        kept bigint;
        fates text;
    BEGIN
        PERFORM pg_advisory_xact_lock_shared({DOOR}, asked);
        PERFORM FROM campaign WHERE number = asked AND state = 'reporting';
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
        IF hope THEN
            BEGIN
                {_INSERT};
                GET DIAGNOSTICS kept = ROW_COUNT;
                fates := repeat('a', kept::int);
            EXCEPTION WHEN unique_violation THEN
            END;
        END IF;
        IF fates IS NULL THEN
            WITH inserted AS (
                {_INSERT} ORDER BY place ON CONFLICT DO NOTHING
                RETURNING report.pseudonym
            )
            SELECT array_agg(pseudonym) INTO fresh FROM inserted;
            SELECT string_agg(fate, '' ORDER BY place) INTO fates FROM (
                SELECT place, CASE
                    WHEN pseudonym IN (SELECT unnest(fresh))
                         AND row_number() OVER (PARTITION BY pseudonym ORDER BY place) = 1 THEN 'a'
                    ELSE (
                        SELECT CASE
                            WHEN held.data IS NULL THEN 'x'
                            WHEN held.report_id <> sent.report_id THEN 'q'
                            WHEN (held.question, held.data) = (sent.question, sent.data) THEN 'd'
                            ELSE 'c'
                        END
                        FROM report AS held WHERE held.campaign = asked AND held.pseudonym = sent.pseudonym
                    )
                END AS fate
                FROM ({_SENT}) AS sent
            ) AS told;
        END IF;
        INSERT INTO intake (campaign, day, outcome, slot, count)
        SELECT number, today, outcome, own_slot, more FROM (
            SELECT asked, outcome, length(fates) - length(replace(fates, letter, ''))
            FROM (VALUES {_LETTERS}) AS word (letter, outcome)
            UNION ALL
            SELECT * FROM unnest(counted, outcomes, counts)
        ) AS all_counts (number, outcome, more)
        WHERE more > 0
        ORDER BY number, outcome
        ON CONFLICT (campaign, day, outcome, slot) DO UPDATE SET count = intake.count + excluded.count;
        RETURN fates;
    END $$
"""
_NAME = f"blendp_keep_reports_{sha256(_FUNCTION.encode('utf-8')).hexdigest()[:8]}"
_CALL = f"""
    SELECT {_NAME}(
        %s, %s::smallint[], %s::int[], %s::int[], %s::int[], %s, %s, %s::int[], %s::text[], %s::bigint[], %s, %s
    )
"""


def put_in_place(connection: Connection) -> None:
    """Put the function into the database if it is not there; whoever calls this sees that nobody else does just now."""
    if connection.exec_driver_sql(f"SELECT to_regproc('{_NAME}')").scalar_one() is None:
        connection.exec_driver_sql(f"CREATE FUNCTION {_NAME}{_FUNCTION}")


def keep_in_one_call(
    connection: Connection,
    campaign: int,
    rows: Sequence[Row],
    day: str,
    refused: Mapping[tuple[int, str], int],
    *,
    hope: bool,
) -> list[str] | None:
    """Keep the rows that are new, count all outcomes and what was refused before; what became of every row.

    None, and nothing was done, if the campaign takes no reports. Each statement of the function sees what was committed
    before it, so the campaign's state is that behind the door, not that when the call came. With ``hope`` all rows are
    taken for new first, which is up to twice as fast if it is true.

    Rows travel as the bytes of their ids, pseudonyms and data, one after the other, in a section for each question and
    width, since on arrays a driver would spend most of its time; in sections of neighbours where rows have a
    pseudonym in common, and the first is the one to be kept.
    """
    indices = list(range(len(rows)))
    if len({row[1] for row in rows}) == len(rows):
        indices.sort(key=lambda index: _kind(rows[index]))
    sections = [(kind, list(some)) for kind, some in groupby(indices, key=lambda index: _kind(rows[index]))]
    packed = [b"".join(rows[index][0] + rows[index][1] + rows[index][3] for index in some) for _, some in sections]
    sent = (
        campaign,
        *map(_array, zip(*(kind for kind, _ in sections), strict=True)),
        _array(accumulate(map(len, packed[:-1]), initial=1)),
        _array(len(some) for _, some in sections),
        b"".join(packed),
        hope,
        _array(number for number, _ in refused),
        _array(outcome for _, outcome in refused),
        _array(refused.values()),
        day,
        os.getpid() % SLOTS,
    )
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(_CALL, sent)
        ((fates,),) = cursor.fetchall()
    if fates is None:
        return None
    outcomes = ["accepted"] * len(rows)
    if fates.count("a") < len(rows):
        for index, letter in zip(chain.from_iterable(some for _, some in sections), fates, strict=True):
            outcomes[index] = _OUTCOMES[letter]
    return outcomes


def _kind(row: Row) -> tuple[int, int]:
    return row[2], len(row[3])


def _array(values: Iterable[int | str]) -> str:
    """Numbers, or words of ours, as PostgreSQL writes arrays."""
    return f"{{{','.join(map(str, values))}}}"
