"""The options that the campaign commands share: which collector, and whose token."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from blendp.cli.console import errors, results
from blendp.cli.failures import NoSuchFileError
from blendp.cli.panels import output
from blendp.errors import ParameterError
from blendp.render.text import visible
from blendp.service.operator_client import DEFAULT_SERVER, OperatorClient

TOKEN = "BLENDP_TOKEN"
_MAX_TOKEN = 4096

collector = partial(Option, rich_help_panel="Collector")

AsJson = Annotated[bool, output("--json", help="Print JSON for programs.")]
Server = Annotated[str, collector(envvar="BLENDP_SERVER", help="Address of the collector.")]
Yes = Annotated[bool, output("--yes", help="Do not ask for confirmation.")]
CampaignName = Annotated[str, Argument(help="The campaign's name.", metavar="CAMPAIGN")]


@dataclass(frozen=True, kw_only=True)
class CollectorOptions:
    """A collector and an operator's token, as given on the command line and in the environment."""

    server: Server = DEFAULT_SERVER
    token_file: Annotated[
        Path | None, collector(help=f"File with the operator's token (${TOKEN} if none is said).")
    ] = None

    def client(self) -> OperatorClient:
        """The collector, ready to be asked."""
        return OperatorClient(self.server, self._token())

    def _token(self) -> str:
        """The token; never on the command line, where other users of the machine could read it."""
        if self.token_file is None:
            token = os.environ.get(TOKEN, "")
            if not token:
                legal = f"given where the environment variable {TOKEN} is not set"
                raise ParameterError("token_file", None, legal, "blendp token create makes a token.")
            return token.strip()
        try:
            with self.token_file.open("rb") as file:
                return file.read(_MAX_TOKEN).decode("ascii", "replace").strip()
        except FileNotFoundError:
            raise NoSuchFileError("token_file", self.token_file) from None


def require_answer(consequence: str) -> None:
    """Raise :class:`ParameterError` where nobody can be asked, and ``--yes`` was not given."""
    if not sys.stdin.isatty():
        raise ParameterError("yes", None, "given where nobody can be asked", consequence)


def agreed(question: str, otherwise: str) -> bool:
    """Whether the person at the terminal says yes; if not, that nothing was done is told."""
    if typer.confirm(question, err=True):
        return True
    say(otherwise)
    return False


def say(sentence: str) -> None:
    """Print a sentence."""
    results.print(visible(sentence), markup=False, highlight=False, soft_wrap=True)


def warn(sentence: str) -> None:
    """Print a caution beside the result."""
    errors.print(visible(sentence), style="yellow", markup=False, highlight=False, soft_wrap=True)
