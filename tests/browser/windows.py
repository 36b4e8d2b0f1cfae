"""Windows of a browser that tests take over from each other: to open one costs more than to load most pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Dialog, Page

_FORGET = "() => { localStorage.clear(); sessionStorage.clear(); }"


@dataclass
class Window:
    """A page, and what came of it since it was taken."""

    page: Page
    said: list[str] = field(default_factory=list)
    """What its console, errors and dialogs say."""

    asked: list[str] = field(default_factory=list)
    """The addresses that it asked for."""

    def __post_init__(self) -> None:
        """Listening."""
        self._size = self.page.viewport_size
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", self._dismiss)

    def _dismiss(self, dialog: Dialog) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()

    def complaints(self, *expected: str) -> list[str]:
        """Whatever was said until now, other than what is expected."""
        if not self.page.is_closed():
            self.page.evaluate("0")  # what was said before this has been heard
        return [one for one in self.said if not any(part in one for part in expected)]

    def leave(self) -> None:
        """Forget the page, all but the files of it that browsers keep."""
        for other in self.page.context.pages:
            if other is not self.page:
                other.close()
        self.page.unroute_all()
        self.page.evaluate(_FORGET)
        self.page.emulate_media(forced_colors="null")
        if self._size and self.page.viewport_size != self._size:
            self.page.set_viewport_size(self._size)
        self.page.goto("about:blank")
        self.said.clear()
        self.asked.clear()


@dataclass
class Windows:
    """Those of one browser, by the options that they were opened with."""

    browser: Browser
    _free: dict[str, Window] = field(default_factory=dict)

    @contextmanager
    def window(self, **options: Any) -> Iterator[Window]:
        """A blank window with these options; one in which a test fails or closes the page is not used again."""
        kind = repr(sorted(options.items()))
        window = self._free.pop(kind, None) or Window(self.browser.new_context(**options).new_page())
        is_blank = False
        try:
            yield window
            if not window.page.is_closed():
                window.leave()
                is_blank = True
        finally:
            if is_blank:
                self._free[kind] = window
            else:
                window.page.context.close()
