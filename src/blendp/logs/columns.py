"""Which column of a log holds what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from blendp.errors import LogError, ParameterError
from blendp.logs.column_names import candidates
from blendp.spelling import option


class UnclearError(LogError):
    """A log of which several columns may be meant."""


@dataclass(frozen=True)
class Columns:
    """The names of the columns blendp reads; all other columns are left alone.

    A name in another case will do, and ``user``, ``query`` and ``url`` stand for what is known by other names too
    (:mod:`blendp.logs.column_names`), but not in NDJSON, where rows alone have names.
    ``opt_in`` None means: the log does not say who trusts the curator. ``levels`` is 2 for <query, URL> records and 1
    for queries alone; None means 2 if ``url`` is named or the log's schema has a column ``"url"``. It never depends on
    rows: NDJSON has no schema, so it has two levels unless ``levels`` says otherwise.
    """

    user: str = "user"
    query: str = "query"
    url: str | None = None
    opt_in: str | None = None
    levels: int | None = None

    def __post_init__(self) -> None:
        """Refuse names that are empty or stand for two things, and levels that contradict them."""
        if self.levels not in (None, 1, 2):
            raise ParameterError("levels", self.levels, "1 or 2, or left out", "1 counts queries alone.")
        if self.levels == 1 and self.url is not None:
            raise ParameterError("levels", 1, "2 where a URL column is named", "Leave one of the two out.")
        named = {role: getattr(self, role) for role in ("user", "query", "url", "opt_in")}
        names = {role: name for role, name in named.items() if name is not None}
        for role, name in sorted(names.items(), key=lambda item: item[0] == item[1]):  # what was said is named first
            if not (isinstance(name, str) and name):
                raise ParameterError(f"columns.{role}", name, "a name of one character or more", "Name the column.")
            same = [other for other in names if other != role and names[other] == name]
            if same:
                legal = f"another column than the {same[0].replace('_', '-')}"
                raise ParameterError(f"columns.{role}", name, legal, "Give every column its own name.")

    @classmethod
    def of(cls, given: Any) -> Columns:
        """The columns that somebody names, also by a mapping of what each holds to its name; None for the usual."""
        if given is None or isinstance(given, Columns):
            return given or cls()
        roles = [role.name for role in fields(cls)]
        if not (isinstance(given, Mapping) and set(given) <= set(roles)):
            legal = f"blendp.Columns(...), or a mapping with some of {', '.join(roles)}"
            raise ParameterError("columns", given, legal, 'Write blendp.Columns(user="who", query="text").')
        return cls(**given)

    @property
    def named(self) -> dict[str, str]:
        """The columns a log must have: what each holds, and its name."""
        url = "url" if self.url is None and self.levels == 2 else self.url
        pairs = {"user": self.user, "query": self.query, "url": url, "opt_in": self.opt_in}
        return {role: name for role, name in pairs.items() if name is not None}

    @property
    def wanted(self) -> dict[str, str]:
        """The columns blendp looks for, the optional ``"url"`` included."""
        taken = self.named
        return taken if self.levels == 1 or "url" in taken or "url" in taken.values() else {**taken, "url": "url"}


def positions(names: Sequence[str], columns: Columns, where: str) -> dict[str, int]:
    """Where each wanted column stands among ``names``; raises :class:`LogError` when one is missing or not clear.

    A column of the name that was given is taken, else one that differs in case alone, else one of a name that is known
    for its role (:mod:`blendp.logs.column_names`).
    """
    position_of: dict[str, int] = {}
    for role, name in sorted(columns.wanted.items(), key=lambda item: item[0] == item[1]):
        taken = position_of.values()
        if (position := one_position(names, role, name, where, taken)) is not None:
            position_of[role] = position
        elif role in columns.named:
            raise missing(role, name, where, names)
    return {role: position_of[role] for role in columns.wanted if role in position_of}


def one_position(
    names: Sequence[str], role: str, name: str | None, where: str, taken: Iterable[int] = ()
) -> int | None:
    """Where the column of a role stands, None if there is none; raises :class:`LogError` when several may be meant.

    Columns that are ``taken`` by another role are not meant.
    """
    meant = [at for at in candidates(names, role, name) if at not in taken]
    if len(meant) < 2:
        return meant[0] if meant else None
    some = [names[at] for at in meant]
    if len(set(some)) < len(some):
        raise LogError(f"{where} has {len(some)} columns named {some[0]!r}: rename all but one.")
    shown = ", ".join(repr(item[:40]) for item in some)
    named_by = "time_column" if role == "time" else f"columns.{role}"
    raise UnclearError(
        f"{where} has {len(some)} columns that may be the {role} ({shown}): name one ({option(named_by)})."
    )


def missing(role: str, name: str, where: str, names: Sequence[str] = ()) -> LogError:
    """The error for a column that is not there, with the columns that are."""
    shown = ", ".join(repr(item[:40]) for item in list(names)[:12])
    there = f" (it has {shown})" if shown else ""
    named_by = option(f"columns.{role}")
    if role == "url":
        named_by += f", or {option('columns.levels', 1)} to count queries alone"
    return LogError(f"{where} has no column {name!r}{there}: name the right one ({named_by}).")


def same_levels(roles: Mapping[str, object], earlier: int | None, where: str) -> int:
    """The levels of a file: 2 with a URL column, else 1; every file of a log must agree."""
    levels = 2 if "url" in roles else 1
    if earlier not in (None, levels):
        raise LogError(
            f"{where} has {'a' if levels == 2 else 'no'} URL column, unlike the files before it:"
            " give files of one kind."
        )
    return levels
