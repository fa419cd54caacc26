"""A browser for tests: the machine's own Chromium, watched for errors and for requests to anywhere else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SIZES = {"wide": {"width": 1280, "height": 800}, "narrow": {"width": 390, "height": 844}}
SHOTS = os.environ.get("WHENCE_SCREENSHOTS")  # a directory that keeps them


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; tests are skipped where there is none."""
    place = shutil.which("chromium") or shutil.which("chromium-browser")
    if place is None:
        pytest.skip("the explorer is tested in Chromium, and this machine has none: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that is looked at, and all that went wrong on it."""

    def __init__(self, browser: Browser, url: str, size: str = "wide", scheme: str = "light") -> None:
        self.url, self.home, self.scheme = url, urlsplit(url).netloc, scheme
        self.context = browser.new_context(viewport=SIZES[size], color_scheme=scheme)  # type: ignore[arg-type]  # one of its literals
        self.page: Page = self.context.new_page()
        self.wrong: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("request", self._requested)

    def _heard(self, message: Any) -> None:
        # A refused question is drawn, and Chromium notes it besides; pixels are read back by tests alone.
        expected = any(each in message.text for each in ("Failed to load resource", "willReadFrequently"))
        if message.type in ("error", "warning") and not expected:
            self.wrong.append(f"{message.type}: {message.text}")

    def _requested(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self.home:
            self.wrong.append(f"request to {request.url}")

    def go(self, **state: str) -> Page:
        """The page in a state, when all is drawn."""
        self.page.goto(f"{self.url}&{urlencode(state)}" if state else self.url)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the page has drawn what it asked for: it says how many questions are on their way."""
        for _ in range(2):  # an answer may lead to the next question
            self.page.wait_for_timeout(60)
            self.page.wait_for_selector("html[data-whence-asking='0']", state="attached")
            self.page.wait_for_selector(".bar", state="detached")

    def shot(self, name: str) -> None:
        """A screenshot, kept where the environment says so."""
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            # Where a test keeps its log is of no interest to those who see the picture.
            place, colour = self.page.locator(".dir"), "#1d2126" if self.scheme == "dark" else "#ffffff"
            self.page.screenshot(path=str(Path(SHOTS, f"{name}.png")), mask=[place], mask_color=colour)

    def close(self) -> None:
        self.context.close()
        assert self.wrong == []
