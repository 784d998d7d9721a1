"""The page's template, style and script: packaged files, escaping always on, the policy made from their digests."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.report.html import words
from harness.report.html.marks import MARKS, WORDS
from harness.report.terminal import clean
from harness.report.words import percent

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

SCRIPTS = ("dom", "text", "data", "matrix", "trials", "events", "trial", "pair", "main")
"""Parts of the page's one script, in order."""
_HERE = Path(__file__).parent
_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def json_block(value: Any) -> Markup:
    """`value` as JSON that cannot end a script element, nor be taken for markup inside one."""
    from markupsafe import Markup

    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES))  # noqa: S704


def render(values: dict[str, Any]) -> str:
    """The page up to its transcripts. `values` are all the template names."""
    from markupsafe import Markup

    style, script = _style(), _script()
    # Both are ours, and neither may hold what would end its element.
    assets = {"style": Markup(style), "script": Markup(script)}  # noqa: S704
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(style)}'",
            f"script-src '{_digest(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    return _environment().get_template("page.html.j2").render(values | assets | {"policy": policy})


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_inert,
    )
    made.filters |= {
        "percent": percent, "millis": words.millis, "usd": words.usd, "count": words.count, "size": words.size,
    }  # fmt: skip
    made.globals |= {"MARKS": MARKS, "WORDS": WORDS}
    return made


def _inert(value: Any) -> Any:
    """Text from outside with its bidi, zero-width and control characters shown instead of obeyed."""
    return clean(value) if type(value) is str else value


@cache
def _style() -> str:
    return _read("style.css")


@cache
def _script() -> str:
    parts = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _read(name: str) -> str:
    return (_HERE / "static" / name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
