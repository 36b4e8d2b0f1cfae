"""The inputs of all vectors, by what they are about; outputs are computed, reasons are written beside the inputs."""

from __future__ import annotations

from collections.abc import Iterator

from blendp.conformance.cases import devices, documents, randomisers, reports, searches, sending, texts
from blendp.conformance.vectors import VectorFile


def all_vectors() -> Iterator[VectorFile]:
    """Every kind, made anew."""
    for room in (documents, texts, randomisers, reports, sending, searches, devices):
        yield from room.vector_files()
