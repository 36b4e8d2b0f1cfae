"""Frozen dataclasses that are quick to define: what every command pays for each class before it starts.

The standard decorator compiles up to six methods for a frozen class. Here only ``__init__`` is compiled, by the
standard decorator; the others are the same functions for all classes. Other classes are the standard decorator's.
"""

from __future__ import annotations

TYPE_CHECKING = False  # checkers take it for true

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from functools import cache
    from reprlib import recursive_repr

    def dataclass(cls=None, /, *, frozen=False, eq=True, repr=True, kw_only=False, **others):
        """As ``dataclasses.dataclass``; a frozen class says of itself that it is none, and takes each field once."""
        if not frozen or others:
            return dataclasses.dataclass(cls, frozen=frozen, eq=eq, repr=repr, kw_only=kw_only, **others)

        def define(cls):
            shared = {
                "__setattr__": _set_once,
                "__delattr__": _delete,
                **({"__repr__": _repr} if repr else {}),
                **({"__eq__": _eq, "__hash__": _hash} if eq else {}),
            }
            for name, method in shared.items():
                if name not in vars(cls):
                    setattr(cls, name, method)
            return dataclasses.dataclass(cls, eq=False, repr=False, kw_only=kw_only)

        return define if cls is None else define(cls)

    def _set_once(self, name, value):
        """For ``__init__``; no value is changed, and nothing is added that is no field."""
        if name in vars(self) or name not in self.__dataclass_fields__:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def _delete(self, name):  # noqa: ARG001
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    @recursive_repr()
    def _repr(self):
        shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def _eq(self, other):
        return _compared(self) == _compared(other) if type(other) is type(self) else NotImplemented

    def _hash(self):
        return hash(_compared(self))

    def _compared(self):
        return tuple([getattr(self, name) for name in _compared_names(type(self))])

    @cache
    def _compared_names(cls):
        return [field.name for field in dataclasses.fields(cls) if field.compare]


__all__ = ["dataclass"]
