"""Keeping a group of new reports in one trip to PostgreSQL, by a function that lives there.

The function is code, not data: it is put in place when a store is opened that lacks it, so no backup need hold it. One
that does something else takes another number, so that two versions side by side do not call each other's.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import accumulate

from sqlalchemy.engine import Connection

Row = tuple[bytes, bytes, int, bytes]
"""Report id, keyed pseudonym, question, data."""

DOOR = 7235602
"""The advisory lock of a campaign's door: shared while reports come in, exclusive while it is closed."""

SLOTS = 16
"""Rows that processes share out among them to count in, so that none waits for another's commit."""

_NAME = "blendp_keep_new_1"
_FUNCTION = f"""
    CREATE FUNCTION {_NAME}(
        campaigns int[], questions smallint[], widths int[], starts int[], sizes int[], packed bytea,
        counted int[], outcomes text[], counts bigint[], today text, own_slot int
    ) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_advisory_xact_lock_shared({DOOR}, one) FROM unnest(campaigns) AS one;
        IF EXISTS (
            SELECT FROM unnest(campaigns) AS one LEFT JOIN campaign ON number = one
            WHERE state IS DISTINCT FROM 'reporting'
        ) THEN
            RETURN false;
        END IF;
        BEGIN
            INSERT INTO report (campaign, report_id, pseudonym, question, data)
            SELECT number, substr(packed, place, 16), substr(packed, place + 16, 16), question,
                   substr(packed, place + 32, width)
            FROM unnest(campaigns, questions, widths, starts, sizes) AS section (number, question, width, start, size),
                 generate_series(start, start + (size - 1) * (32 + width), 32 + width) AS place;
        EXCEPTION WHEN unique_violation THEN
            RETURN false;
        END;
        INSERT INTO intake (campaign, day, outcome, slot, count)
        SELECT number, today, outcome, own_slot, more
        FROM unnest(counted, outcomes, counts) AS sent (number, outcome, more)
        ON CONFLICT (campaign, day, outcome, slot) DO UPDATE SET count = intake.count + excluded.count;
        RETURN true;
    END $$
"""
_CALL = f"""
    SELECT {_NAME}(
        %s::int[], %s::smallint[], %s::int[], %s::int[], %s::int[], %s, %s::int[], %s::text[], %s::bigint[], %s, %s
    )
"""


def put_in_place(connection: Connection) -> None:
    """Put the function into the database if it is not there; whoever calls this sees that nobody else does just now."""
    if connection.exec_driver_sql(f"SELECT to_regproc('{_NAME}')").scalar_one() is None:
        connection.exec_driver_sql(_FUNCTION)


def keep_new(
    connection: Connection, rows_of: Mapping[int, Sequence[Row]], day: str, refused: Counter[tuple[int, str]]
) -> bool:
    """Keep all rows of these campaigns and count them; False, and nothing was kept, unless all are new and in time.

    Rows travel as the bytes of their ids, pseudonyms and data one after the other, in a section for each campaign,
    question and width: a driver spends most of its time on arrays. Each statement of the function sees what was
    committed before it, so the campaigns' states are those behind the door, not of the moment when the call came.
    """
    sections: defaultdict[tuple[int, int, int], list[bytes]] = defaultdict(list)
    for number, rows in sorted(rows_of.items()):
        for report_id, pseudonym, question, data in rows:
            sections[number, question, len(data)].append(report_id + pseudonym + data)
    counts = refused + Counter({(number, "accepted"): len(rows) for number, rows in rows_of.items()})
    packed = [b"".join(section) for section in sections.values()]
    starts = accumulate(map(len, packed[:-1]), initial=1)
    sent = (
        *map(_array, zip(*sections, strict=True)),
        _array(starts),
        _array(map(len, sections.values())),
        b"".join(packed),
        *map(_array, zip(*((*key, count) for key, count in sorted(counts.items())), strict=True)),
        day,
        os.getpid() % SLOTS,
    )
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(_CALL, sent)
        ((kept,),) = cursor.fetchall()
    return bool(kept)


def _array(values: Iterable[int | str]) -> str:
    """Numbers, or words of ours, as PostgreSQL writes arrays."""
    return f"{{{','.join(map(str, values))}}}"
