"""Names that are imported at their first use (PEP 562): a door loads what stands behind it, and no more."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from types import ModuleType


class LazyModule(ModuleType):
    """Stands for a module that is imported when a name of it is first asked for.

    For large libraries that most ways through a module do without.
    """

    def __getattr__(self, name: str) -> object:
        """A name of the module, remembered here."""
        from importlib import import_module

        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


def lazy_names(
    package: str, homes: Mapping[str, tuple[str, ...]], *, rooms: bool = False
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a package.

    Args:
        package: Its name.
        homes: The names that each module has.
        rooms: Whether the package's own modules can be reached without an import, too.
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def get(name: str) -> object:
        """Import a name from its home."""
        from importlib import import_module
        from importlib.util import find_spec

        if name in home_of:
            value = getattr(import_module(home_of[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        if rooms and not name.startswith("_") and find_spec(f"{package}.{name}") is not None:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)

    def names() -> list[str]:
        """Every name, used or not."""
        own = vars(sys.modules[package])
        return sorted({*own, *own["__all__"]})

    return get, names
