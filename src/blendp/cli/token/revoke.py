"""``blendp token revoke``: a token that is worthless from now on."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from blendp.cli.console import results
from blendp.cli.serve import FOLDER, DatabaseAddress, DataFolder, opened, stored
from blendp.errors import ParameterError

EXAMPLES = """Examples:

- `blendp token revoke 3f9a0c1d2e4b`
"""


def revoke(
    token_id: Annotated[str, Argument(help="The token's id, as blendp token list shows it.", metavar="ID")],
    data: DataFolder = FOLDER,
    database: DatabaseAddress = None,
) -> None:
    """Make a token worthless, at once, in all processes of the collector."""
    with opened(stored(data, database)) as collector:
        revoked = collector.tokens.revoke(token_id)
    if not revoked:
        raise ParameterError("ID", token_id, "that of a token which is not revoked", "See blendp token list.")
    results.print(f"Token {token_id} is revoked.", markup=False, highlight=False)
