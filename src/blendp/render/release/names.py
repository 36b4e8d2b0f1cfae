"""How the files of a release are called."""

from blendp.wire.files import READABLE

DOCUMENT = "release_document.json"
"""All of it in one document, as a collector would sign it: what an offline index is made of."""

FILES = (*READABLE, DOCUMENT)
