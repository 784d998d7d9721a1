"""A real headless Chromium, and a page in it that notices everything a page from a file must not do."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from playwright.sync_api import Browser, Page, sync_playwright

from harness.report.html.page import PageSource, write_page

NAMES = ("chromium", "chromium-browser", "google-chrome")
TRAP = """
window.__ran = [];
for (const name of ["alert", "confirm", "prompt", "open", "print"]) window[name] = () => window.__ran.push(name);
document.addEventListener("securitypolicyviolation", (event) => window.__ran.push("policy " + event.violatedDirective));
"""


class Watched(Struct, frozen=True):
    """A page with its trap: `noticed` are dialogs, errors, console lines, and requests for anything but the file."""

    page: Page
    noticed: list[str]

    def ran(self) -> list[str]:
        """What ran, asked for or broke since the page was opened."""
        return [*self.noticed, *self.page.evaluate("window.__ran")]


Opener = Callable[..., Watched]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Module-wide: the driver's event loop must be gone before tests of async code run in the same process."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("no Chromium on PATH; script/setup --browser installs it")
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Writes a page and opens it: `opened(source, fragment, width=..., color_scheme=...)`."""
    contexts = []

    def open_page(source: PageSource | Path, fragment: str = "", width: int = 1280, **options: Any) -> Watched:
        path = source if isinstance(source, Path) else tmp_path / "report.html"
        if not isinstance(source, Path):
            with path.open("wb") as file:
                write_page(source, file)
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page, noticed = context.new_page(), list[str]()
        page.add_init_script(TRAP)
        page.on("dialog", lambda dialog: (noticed.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda message: noticed.append(f"console {message.text}"))
        page.on("pageerror", lambda error: noticed.append(f"error {error}"))
        page.on("request", lambda r: noticed.append(f"request {r.url[:200]}") if not is_file(r.url, path) else None)
        page.goto(f"{path.as_uri()}{fragment}")
        return Watched(page, noticed)

    yield open_page
    for context in contexts:
        context.close()


def is_file(url: str, path: Path) -> bool:
    return url.split("#")[0] == path.as_uri()
