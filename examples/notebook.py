"""Execute a notebook of this folder and keep its outputs in it, so that it can be read without running anything.

python -m examples.notebook
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

ANALYST = Path(__file__).parent / "analyst.ipynb"

MAX_BYTES = 300_000
"""So that people can look at it where code is hosted."""

_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def execute(path: Path = ANALYST) -> Any:
    """The notebook after a fresh kernel, which listens on no network, has run it; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    config = Config({"AsyncKernelManager": {"transport": "ipc"}})
    NotebookClient(notebook, config=config, kernel_name="python3", timeout=300, record_timing=False).execute()
    notebook.metadata = nbformat.from_dict(_METADATA)
    return notebook


def main() -> None:
    """Write the notebook anew."""
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    text = nbformat.writes(execute())
    if len(text.encode()) > MAX_BYTES:
        raise SystemExit(f"{ANALYST.name} would have {len(text.encode()):,} bytes, more than {MAX_BYTES:,}.")
    ANALYST.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
