"""Pages for people's browsers: built files, read once, each under the policy that its scripts need and no wider one."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from blendp.service.campaigns import find
from blendp.service.http.answers import IMMUTABLE, REVALIDATED, SAFE, answer
from blendp.service.http.documents import Document, sent
from blendp.service.http.endpoints import PAGE, Call, Endpoint, in_thread
from blendp.service.http.openapi import Anything
from blendp.service.refusal import Refused
from blendp.wire import addresses
from blendp.wire.media_types import HTML_TYPE, ICON_TYPE, SCRIPT_TYPE, STYLE_TYPE, WEB_APP_TYPE

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types {types}"
)
_CONSOLE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_POLICIES = {
    "console.html": _CONSOLE_POLICY,
    "index.html": _POLICY.format(types="'none'"),
    "campaign.html": _POLICY.format(types="'none'"),
    "search.html": _POLICY.format(types="blendp-search-worker"),
    "search-worker.js": "default-src 'none'; connect-src 'self'",
}
"""What each file may do in a browser; those that are not named may do nothing."""

_OF_OWN_ORIGIN = {
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-dns-prefetch-control": "off",
    "x-frame-options": "DENY",
    "vary": "accept-encoding",
}
_MEDIA_TYPES = {"html": HTML_TYPE, "css": STYLE_TYPE, "js": SCRIPT_TYPE, "svg": ICON_TYPE, "webmanifest": WEB_APP_TYPE}
_TAKES_GZIP = re.compile(r"(?:^|,)\s*gzip\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:$|,)))", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class WebFile:
    """A built file: its bytes as they are and gzipped, and the headers that go with both."""

    plain: Document
    gzipped: Document
    media_type: str
    headers: Mapping[str, str]

    @classmethod
    def of(cls, name: str, body: bytes) -> WebFile:
        """A file under the policy of its name."""
        headers = {**_OF_OWN_ORIGIN, "content-security-policy": _POLICIES.get(name, SAFE["content-security-policy"])}
        zipped = gzip.compress(body, 9, mtime=0)
        return cls(Document.of(body), Document.of(zipped), _MEDIA_TYPES[name.rpartition(".")[2]], headers)

    def answer_to(self, request: Request, cache_control: str) -> Response:
        """The file in the encoding that the browser takes; only its name, if the browser has it."""
        document, headers = self._encoded(request)
        return sent(document, request, self.media_type, cache_control, headers)

    def instead(self, request: Request) -> Response:
        """The file as the page of an address where nothing is: not to be kept."""
        document, headers = self._encoded(request)
        return answer(document.body, 404, media_type=self.media_type, headers=headers)

    def _encoded(self, request: Request) -> tuple[Document, Mapping[str, str]]:
        if _TAKES_GZIP.search(", ".join(request.headers.getlist("accept-encoding"))):
            return self.gzipped, {**self.headers, "content-encoding": "gzip"}
        return self.plain, self.headers


@cache
def web_files() -> Mapping[str, WebFile]:
    """Every file that there is, by its name: pages, and under ``assets/`` what they load."""
    return {name: WebFile.of(name, file.read_bytes()) for name, file in _built(files("blendp") / "web", "")}


def _built(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    inside: list[tuple[str, Traversable]] = []
    for entry in folder.iterdir():
        inside += _built(entry, f"{path}{entry.name}/") if entry.is_dir() else [(path + entry.name, entry)]
    return inside


async def home(call: Call) -> Response:
    """The page of all campaigns."""
    return _page("index.html", call)


async def console(call: Call) -> Response:
    """The operators' page; it is empty without a token, which its script asks for."""
    return _page("console.html", call)


async def campaign_page(call: Call) -> Response:
    """Everything public about a campaign."""
    return await _page_of_campaign("campaign.html", call)


async def search_page(call: Call) -> Response:
    """Search in what a campaign released, also without a network."""
    return await _page_of_campaign("search.html", call)


async def search_worker(call: Call) -> Response:
    """What keeps the search page in the browser."""
    await in_thread(_require_campaign, call)
    return _page("search-worker.js", call)


async def search_app(call: Call) -> Response:
    """How the search page is installed."""
    await in_thread(_require_campaign, call)
    return _page("search.webmanifest", call)


async def asset(call: Call) -> Response:
    """What pages load, by a name that changes with its bytes."""
    file = web_files().get(f"assets/{call.request.path_params['asset']}")
    if file is None:
        raise Refused("not-found", "There is no such part of a page.")
    return file.answer_to(call.request, IMMUTABLE)


def _page(name: str, call: Call) -> Response:
    return web_files()[name].answer_to(call.request, REVALIDATED)


async def _page_of_campaign(name: str, call: Call) -> Response:
    """The page; with the status 404 where there is no such campaign, which it then says."""
    try:
        await in_thread(_require_campaign, call)
    except Refused as refused:
        if refused.problem.slug != "not-found":
            raise
        return web_files()[name].instead(call.request)
    return _page(name, call)


def _require_campaign(call: Call) -> None:
    """Refuses if there is no campaign of this name."""
    with call.collector.store.reading() as connection:
        find(connection, call.campaign)


_PAGE = {200: "The page", 304: "It is the one that If-None-Match names"}
_PAGE_OF_CAMPAIGN = {**_PAGE, 404: "A page that says that there is no such campaign"}

ENDPOINTS = (
    Endpoint("GET", addresses.HOME, PAGE, home, "A page of all campaigns", gives=_PAGE, answer_type=HTML_TYPE),
    Endpoint(
        "GET",
        addresses.CONSOLE,
        PAGE,
        console,
        "The operators' page, which asks for a token and shows nothing without one",
        gives=_PAGE,
        answer_type=HTML_TYPE,
    ),
    Endpoint(
        "GET",
        addresses.CAMPAIGN_PAGE,
        PAGE,
        campaign_page,
        "A page of everything public about a campaign, which verifies it in the browser",
        gives=_PAGE_OF_CAMPAIGN,
        answer_type=HTML_TYPE,
    ),
    Endpoint(
        "GET",
        addresses.SEARCH_PAGE,
        PAGE,
        search_page,
        "A page to search a release, which works without a network once it was loaded",
        gives=_PAGE_OF_CAMPAIGN,
        answer_type=HTML_TYPE,
    ),
    Endpoint(
        "GET",
        addresses.SEARCH_WORKER,
        PAGE,
        search_worker,
        "The service worker of the search page",
        gives=_PAGE,
        refuses=("not-found",),
        answer_type=SCRIPT_TYPE,
    ),
    Endpoint(
        "GET",
        addresses.SEARCH_APP,
        PAGE,
        search_app,
        "The web manifest of the search page",
        Anything,
        gives=_PAGE,
        refuses=("not-found",),
        answer_type=WEB_APP_TYPE,
    ),
    Endpoint(
        "GET",
        addresses.ASSET,
        PAGE,
        asset,
        "A script, a style or an icon of the pages",
        gives=_PAGE,
        refuses=("not-found",),
        answer_type="*/*",
    ),
)
