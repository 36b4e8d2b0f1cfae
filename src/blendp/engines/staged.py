"""A log whose rows the embedded database can reach, where they lie or in a table of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Protocol

import duckdb

from blendp.engines.choice import lot, number_of_place, numbered_by_content, require_draw
from blendp.engines.contributions import Contributions
from blendp.engines.database import failed
from blendp.engines.first_people import NOTHING, FirstPeople, is_too_much
from blendp.engines.quality import Described, LogQuality
from blendp.engines.second_look import CHOSEN, GATHERED
from blendp.engines.usable import DUCKDB, FILTERED_OUT, RowRule
from blendp.errors import LogError

if TYPE_CHECKING:
    from blendp.engines.embedded import EmbeddedLog

PARTS = (1, 8, 64)
"""In how many parts of the people a log is drawn from, one after the other: in more where memory does not suffice."""

STAGED = "staged"
"""The table of rows that the database did not read where they lie, with the columns of :class:`StagedLog`."""

_DRAW = """
    SELECT person, bool_and({opts_in}) AS opts_in, count(*) AS rows, count(number) AS usable, {lowest} AS lowest,
        {own} AS own
    FROM ({numbered}) GROUP BY person
"""

_GATHER = """
    SELECT owner, query, url, count(*) FILTER ({reason} IS NULL) AS times
    FROM ({{rows}}) JOIN {chosen} USING (person) GROUP BY owner, query, url HAVING times > 0
"""

_AT_RANDOM = "SELECT *, CASE WHEN {reason} IS NULL THEN {number} END AS number FROM ({rows})"


class Witness(Protocol):
    """Looks at the bytes of a log while the database reads its rows, and tells whether these may be believed."""

    def start(self) -> None:
        """Begin to look."""

    def stop(self) -> None:
        """Look no further, if that is still going on."""

    def agrees(self, rows: int) -> bool:
        """Whether the database, which found so many rows, read them rightly; waits until everything was looked at."""

    def put_aside(self) -> int:
        """Put the rows that the database left out into the table :data:`STAGED`; gives how many."""

    @property
    def rows(self) -> int:
        """How many rows were seen so far."""


class _NotBelievedError(Exception):
    """The database did not read the rows as it should."""


@dataclass(frozen=True, eq=False, repr=False)
class StagedLog:
    """Rows that are yet to be drawn from.

    Drawing leaves tables in the database that what was drawn then owns. So who draws again, or keeps the log after
    that, gets it opened anew, with a database of its own.

    where:
        rows     is SQL for the rows: place, if ``has_places``, person (a user's id), query, url, opt_in, all as they
                 stand in the log; reason, why the reader holds a row for broken, if ``has_reasons``; and kept if the
                 rule says so,
        rule     says which rows are usable,
        broken, ignored  count the rows that are not among ``rows``,
        where    names the log in messages,
        instead  is the same log read in another way, should the database refuse its bytes,
        witness  knows whether the database read them rightly; if not, they are read in that other way,
        rows_of_chosen  is SQL for at least the rows of the people in the table ``chosen``, if it costs less than
                 ``rows``,
        how      says how the log was read, for people and for a release's card,
        anew     opens the same log once more, None if its rows can be read only once.
    """

    rows: str
    rule: RowRule
    where: str
    max_broken: float
    connection: duckdb.DuckDBPyConnection
    has_reasons: bool = True
    has_places: bool = True
    broken: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    total_rows: int | None = None
    progress: Callable[[int], None] | None = None
    instead: Callable[[], StagedLog] | None = None
    witness: Witness | None = None
    rows_of_chosen: str | None = None
    how: Described | None = None
    anew: Callable[[], StagedLog] | None = None
    _drawn: list[LogQuality] = field(default_factory=list, init=False)
    _taken: Lock = field(default_factory=Lock, init=False)
    """Whoever gets it first may use the rows of this database."""

    def __repr__(self) -> str:
        """One line for people."""
        return f"<{type(self).__name__} of {self.where}, {'<query, URL> records' if self.levels == 2 else 'queries'}>"

    @property
    def levels(self) -> int:
        """2 for <query, URL> records, 1 for queries alone."""
        return self.rule.levels

    @property
    def quality(self) -> LogQuality:
        """The fate of the rows, known once the log has been drawn from."""
        return quality_of_drawn(self._drawn, self.where)

    def draw(
        self, per_user: int, key: int, *, reproducible: bool = False, holdings: bool = True, share: float | None = None
    ) -> Contributions:
        """Contribution bounding of every user (:mod:`blendp.engines.choice`), reading the log once if memory suffices.

        Without ``holdings`` nobody's holdings can be asked for later, and rows that wait in a table are forgotten.
        With a ``share`` of the people who will be asked for theirs, people are in random order, and the first are
        asked without reading the log again, if that can be (:mod:`blendp.engines.first_people`).
        """
        require_draw(per_user, key)
        if not self._taken.acquire(blocking=False):
            return self._draw_by(self._opened_anew(), per_user, key, reproducible, holdings, share)
        reason = self.rule.reason_but_user(DUCKDB, self._known)
        numbered = (
            numbered_by_content("{rows}", reason, key, DUCKDB)
            if reproducible
            else _AT_RANDOM.format(reason=reason, number=self._number(key), rows="{rows}")
        )
        record = "struct_pack(number, query, url)"
        lowest = f"min_by({record}, number)" if per_user == 1 else f"min_by({record}, number, {per_user})"
        first = FirstPeople(key, share, self.levels) if share is not None and holdings and not reproducible else None
        drawn, with_own = (
            _DRAW.format(numbered=numbered, opts_in=self.rule.opts_in(DUCKDB), lowest=lowest, own=own)
            for own in (NOTHING, first.own if first else NOTHING)
        )
        try:
            with self._watched():
                self._collect("drawn", drawn, at_once=with_own)
            rows, usable = counted(self.connection, self.rule)
            if self._left_out(rows):
                if reproducible:
                    self._collect("drawn", drawn)
                else:
                    self.connection.execute(f"INSERT INTO drawn {with_own.replace('{rows}', f'FROM {STAGED}')}")
                rows, usable = counted(self.connection, self.rule)
            quality = self._quality(rows, usable)
            if not holdings:
                self.connection.execute(f"DROP TABLE IF EXISTS {STAGED}")
            order = lot("name", key, DUCKDB) if reproducible else None
            if first:
                order = first.number("name")
            gather = partial(self._gather, first) if holdings else None
            contributions = Contributions.of_drawn(
                self.connection, per_user, self.rule, quality, self.where, gather, order
            )
        except (duckdb.Error, _NotBelievedError) as error:
            if self._is_refused(error):
                return self._draw_by(self._again(), per_user, key, reproducible, holdings, share)
            raise failed(self.where, error) from error
        require_people(contributions.users, quality, self.where)
        self._drawn.append(quality)
        return contributions

    def _draw_by(
        self, other: StagedLog, per_user: int, key: int, reproducible: bool, holdings: bool, share: float | None
    ) -> Contributions:
        """What is drawn from the same log opened otherwise."""
        contributions = other.draw(per_user, key, reproducible=reproducible, holdings=holdings, share=share)
        self._drawn.append(contributions.quality)
        return contributions

    def _gather(self, first: FirstPeople | None) -> str:
        """SQL for every usable row of the chosen people, counted (:mod:`blendp.engines.second_look`)."""
        gathered = first.gathered(self.connection) if first else None
        if gathered is not None:
            return gathered
        reason = self.rule.reason_but_user(DUCKDB, self._known)
        with self._told():
            self._collect(GATHERED, _GATHER.format(chosen=CHOSEN, reason=reason), self.rows_of_chosen)
        return f"FROM {GATHERED}"

    def _collect(self, table: str, sql: str, every: str | None = None, at_once: str | None = None) -> None:
        """Make a table of what is asked of the ``{rows}``, in as few parts of the people as memory allows.

        If it allows for everybody at once, ``at_once`` is asked instead.
        """
        every = every or self.rows
        for parts in PARTS:
            self.connection.execute(f"DROP TABLE IF EXISTS {table}")
            try:
                for part in range(parts):
                    rows = f"SELECT * FROM ({every}) WHERE hash(person) % {parts} = {part}" if parts > 1 else every
                    make = f"INSERT INTO {table}" if part else f"CREATE TEMP TABLE {table} AS"
                    asked = sql if parts > 1 else at_once or sql
                    self.connection.execute(f"{make} {asked.replace('{rows}', rows)}")
                return
            except (duckdb.OutOfMemoryException, duckdb.InvalidInputException) as error:
                if parts == PARTS[-1] or not is_too_much(error):
                    raise

    def numbered(self) -> EmbeddedLog:
        """The whole log by numbers, to draw from many times; it takes the rows with it."""
        from blendp.engines.numbering import number_rows

        if not self._taken.acquire(blocking=False):
            return self._opened_anew().numbered()
        try:
            count = f"SELECT count(*), count(*) FILTER ({self._reason} IS NULL) FROM ({self.rows})"
            with self._watched():
                rows, usable = self.connection.execute(count).fetchall()[0]
            if self._left_out(rows):
                rows, usable = self.connection.execute(count).fetchall()[0]
            quality = self._quality(rows, usable)
            if not self.has_places:
                self.connection.execute("SET preserve_insertion_order = true")
            log = number_rows(self.connection, self.rows, self._reason, self.rule, quality, has_places=self.has_places)
        except (duckdb.Error, _NotBelievedError) as error:
            if self._is_refused(error):
                return self._again().numbered()
            raise failed(self.where, error) from error
        require_people(log.users, quality, self.where)
        return replace(log, how=self.how)

    @property
    def _reason(self) -> str:
        return self.rule.reason(DUCKDB, self._known)

    @property
    def _known(self) -> str | None:
        return "reason" if self.has_reasons else None

    def _quality(self, rows: int, usable: int) -> LogQuality:
        """The fate of the rows, of which so many are usable; the reasons are looked for only if some are not."""
        broken = Counter(self.broken)
        if usable < rows:
            reasons = f"SELECT why, count(*) FROM (SELECT {self._reason} AS why FROM ({self.rows})) GROUP BY why"
            broken += Counter({why: n for why, n in self.connection.execute(reasons).fetchall() if why is not None})
        return judge(usable, broken, self.ignored, self.max_broken, self.where, self.how)

    def _number(self, key: int) -> str:
        """SQL for the number of a row, by which it is chosen."""
        return number_of_place("place" if self.has_places else "random()", key)

    def _left_out(self, rows: int) -> int:
        """Ask the witness about so many rows; how many it has that the database left out."""
        if self.witness is None:
            return 0
        if not self.witness.agrees(rows):
            raise _NotBelievedError
        left_out = self.witness.put_aside()
        if self.progress is not None:
            self.progress(rows + left_out)
        return left_out

    def _is_refused(self, error: Exception) -> bool:
        """Whether the rows must be read in the other way: the database refuses their bytes, or misread them."""
        if self.instead is None:
            return False
        if isinstance(error, duckdb.IOException) and self.witness is not None:
            return True
        return isinstance(error, duckdb.InvalidInputException | _NotBelievedError)

    def _opened_anew(self) -> StagedLog:
        if self.anew is None:
            raise LogError(
                f"The rows of {self.where} come once, and it has been drawn from: open it again, or keep it with "
                "blendp.read_log to draw from it many times."
            )
        return self.anew()

    def _again(self) -> StagedLog:
        assert self.instead is not None
        self.connection.close()
        return self.instead()

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Let the witness look while the database is at work; it ends when the database fails."""
        if self.witness is None:
            with self._told():
                yield
            return
        self.witness.start()
        try:
            with self._told():
                yield
        except BaseException:
            self.witness.stop()
            raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell ``progress`` how many rows have been read while the database is at work."""
        if self.progress is None or (self.total_rows is None and self.witness is None):
            yield
            return
        progress, done = self.progress, Event()

        def watch() -> None:
            while not done.wait(0.25):
                total = self.witness.rows if self.witness is not None else self.total_rows or 0
                share = self.connection.query_progress()
                if share > 0:
                    progress(round(share / 100 * total))

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


def counted(connection: duckdb.DuckDBPyConnection, rule: RowRule) -> tuple[int, int]:
    """How many rows a table ``drawn`` comes from, and how many of them are usable."""
    rows, usable = connection.execute(f"""
        SELECT coalesce(sum(rows), 0)::BIGINT, coalesce(sum(usable) FILTER ({rule.names_somebody(DUCKDB)}), 0)::BIGINT
        FROM drawn
    """).fetchall()[0]
    return rows, usable


def quality_of_drawn(drawn: Sequence[LogQuality], where: str) -> LogQuality:
    """The latest; raises if nothing was drawn yet."""
    if not drawn:
        raise LogError(f"{where} has not been drawn from: how its rows fare is known after blendp.run.")
    return drawn[-1]


def judge(
    usable: int,
    broken: Counter[str],
    ignored: Counter[str],
    max_broken: float,
    where: str,
    how: Described | None = None,
) -> LogQuality:
    """The fate of a log's rows; raises if there are none, or more are broken than the share ``max_broken``.

    What is filtered out may be counted as broken before: it is ignored.
    """
    ignored = ignored + Counter({FILTERED_OUT: broken[FILTERED_OUT]})
    broken = Counter({why: rows for why, rows in broken.items() if why != FILTERED_OUT})
    quality = LogQuality(usable + broken.total() + ignored.total(), usable, broken, ignored)
    if not quality.rows:
        raise LogError(f"{where} has no rows: give a log with rows.")
    quality.require(max_broken, where, how)
    return quality


def require_people(users: int, quality: LogQuality, where: str) -> None:
    """Raise if nobody is in the log."""
    if not users:
        fates = "; ".join(str(quality).splitlines())
        raise LogError(f"{where} has no row that names a user ({fates}): check format and columns.")
