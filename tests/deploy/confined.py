"""Run a command under a unit's own system call filter, as systemd would; of its other settings, under few.

``python confined.py UNIT_SETTINGS COMMAND...``, where the settings are JSON: ``allowed`` system calls, the ``families``
of addresses that sockets may have, the ``refusal`` (an errno), and whether memory is ``write_xor_execute``.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import socket
import sys

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_MASKED_EQUAL, _EQUAL = 7, 4
_WRITE_AND_EXECUTE, _EXECUTE = 2 | 4, 4
_NO_NEW_PRIVILEGES = 38


class _Comparison(ctypes.Structure):
    """libseccomp's scmp_arg_cmp: an argument of a system call against a number."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("datum_a", ctypes.c_uint64),
        ("datum_b", ctypes.c_uint64),
    )


class Filter:
    """A filter of system calls, from libseccomp, which systemd uses too."""

    def __init__(self, otherwise: int) -> None:
        """With the action for what no rule is about."""
        self._library = ctypes.CDLL("libseccomp.so.2")
        self._library.seccomp_init.restype = ctypes.c_void_p
        self._context = ctypes.c_void_p(self._library.seccomp_init(ctypes.c_uint32(otherwise)))

    def rule(self, action: int, call: str, *comparisons: _Comparison) -> None:
        """What becomes of a call, if all comparisons fit; calls that this machine does not have are skipped."""
        number = self._library.seccomp_syscall_resolve_name(call.encode())
        if number < 0:
            return
        array = (_Comparison * len(comparisons))(*comparisons)
        arguments = (self._context, ctypes.c_uint32(action), number, len(comparisons), array)
        if self._library.seccomp_rule_add_array(*arguments) != 0:
            raise OSError(f"no rule can be made about {call}")

    def load(self) -> None:
        """From here on, for this process and all that it starts."""
        if self._library.seccomp_load(self._context) != 0:
            raise OSError("the kernel takes no filter of system calls")


def confine(allowed: list[str], families: list[str], refusal: str, write_xor_execute: bool) -> None:
    """What the unit says, from here on."""
    ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.umask(0o077)
    refuse = _ERRNO | getattr(errno, refusal)
    if write_xor_execute:
        memory = Filter(_ALLOW)
        memory.rule(refuse, "mmap", _Comparison(2, _MASKED_EQUAL, _WRITE_AND_EXECUTE, _WRITE_AND_EXECUTE))
        for call in ("mprotect", "pkey_mprotect"):
            memory.rule(refuse, call, _Comparison(2, _MASKED_EQUAL, _EXECUTE, _EXECUTE))
        memory.load()
    calls = Filter(refuse)
    for call in {*allowed} - {"socket"}:
        calls.rule(_ALLOW, call)
    for family in families:
        calls.rule(_ALLOW, "socket", _Comparison(0, _EQUAL, getattr(socket, family), 0))
    calls.load()


if __name__ == "__main__":
    confine(**json.loads(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
