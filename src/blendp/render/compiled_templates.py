"""Compiled templates, kept where Python keeps compiled modules: compiling one takes longer than filling it in."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

_FOLDER = Path(__file__).parent / "__pycache__"


class KeptCompiled(BytecodeCache):
    """Keeps templates in ``__pycache__`` where that can be written; one that has changed since is compiled anew."""

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what was kept, if it is of this template, this Jinja and this Python."""
        with suppress(OSError), _path(bucket).open("rb") as file:
            bucket.load_bytecode(file)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template, whole or not at all."""
        if sys.dont_write_bytecode:
            return
        path = _path(bucket)
        draft = path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            draft.write_bytes(bucket.bytecode_to_string())
            draft.replace(path)


def _path(bucket: Bucket) -> Path:
    return _FOLDER / f"{bucket.key}.{sys.implementation.cache_tag}.jinja"
