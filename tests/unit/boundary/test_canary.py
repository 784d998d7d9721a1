"""Canaries: planted the same for the same seed, noticed however they are spelled."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.boundary.canary import DEFAULT_CANARIES, plant, substitute
from harness.boundary.redaction import Scrubber
from harness.domain.traces import CanaryWatch
from harness.errors import PackFault

PLANTED = plant(["VAULT_CODE"], 7, "run/agent/case/1")
KEY = PLANTED["OPENAI_API_KEY"]

SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": lambda v: v,
    "upper": str.upper,
    "reversed": lambda v: v[::-1],
    "spaced": lambda v: " ".join(v),
    "dotted": lambda v: ".".join(v),
    "zero width": lambda v: "\u200b".join(v),
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 spaced": lambda v: " ".join(base64.b64encode(b"q" + v.encode()).decode()),
    "base64 reversed": lambda v: base64.b64encode(v.encode()).decode()[::-1],
    "hex": lambda v: v.encode().hex(),
    "hex colons": lambda v: v.encode().hex(":").upper(),
    "url": lambda v: "".join(f"%{b:02X}" for b in v.encode()),
    "url quoted": lambda v: urllib.parse.quote(v, safe=""),
    "json": lambda v: "".join(f"\\u{ord(c):04x}" for c in v),
    "c": lambda v: "".join(f"\\x{ord(c):02x}" for c in v),
    "html": lambda v: "".join(f"&#{ord(c)};" for c in v),
}


def test_planting_is_deterministic_unique_and_plausible() -> None:
    again = plant(["VAULT_CODE"], 7, "run/agent/case/1")
    assert again == PLANTED
    assert list(PLANTED) == [*DEFAULT_CANARIES, "VAULT_CODE"]
    assert len(set(PLANTED.values())) == len(PLANTED)
    other = plant(["VAULT_CODE"], 7, "run/agent/case/2")
    assert not set(other.values()) & set(PLANTED.values())
    assert not set(plant([], 8, "run/agent/case/1").values()) & set(PLANTED.values())
    assert len(KEY) == 43
    assert PLANTED["AWS_ACCESS_KEY_ID"].startswith("AKIA")
    assert len(PLANTED["AWS_ACCESS_KEY_ID"]) == 20
    assert PLANTED["GITHUB_TOKEN"].startswith("ghp_")
    assert len(PLANTED["VAULT_CODE"]) == 32


@pytest.mark.parametrize("spelling", sorted(SPELLINGS))
@pytest.mark.parametrize("name", sorted(PLANTED))
def test_each_spelling_of_each_canary_is_noticed(name: str, spelling: str) -> None:
    spelled = SPELLINGS[spelling](PLANTED[name])
    assert CanaryWatch(PLANTED).check(f"see {spelled} there") == [name]
    assert CanaryWatch(PLANTED).check({"to": "x", "body": [spelled]}) == [name]
    assert CanaryWatch(PLANTED).check({spelled: 1}) == [name]


@given(st.sampled_from(sorted(SPELLINGS)), st.sampled_from(sorted(PLANTED)), st.data())
@settings(max_examples=150, deadline=None)
def test_a_canary_split_over_successive_values_is_noticed_once_complete(
    spelling: str, name: str, data: st.DataObject
) -> None:
    spelled = SPELLINGS[spelling](PLANTED[name])
    cuts = sorted(data.draw(st.lists(st.integers(1, len(spelled) - 1), min_size=1, max_size=3, unique=True)))
    pieces = [spelled[a:b] for a, b in zip([0, *cuts], [*cuts, len(spelled)], strict=True)]
    watch = CanaryWatch(PLANTED)
    results = [watch.check({"n": index, "text": piece, "level": "info"}) for index, piece in enumerate(pieces)]
    assert [name] in results
    assert watch.check({"n": 9, "text": "nothing here", "level": "info"}) == []


def test_a_canary_split_over_fields_or_tools_is_noticed() -> None:
    assert CanaryWatch(PLANTED).check({"a": KEY[:20], "b": KEY[20:]}) == ["OPENAI_API_KEY"]
    assert CanaryWatch(PLANTED).check([{"k": "x", "v": c} for c in KEY]) == ["OPENAI_API_KEY"]
    watch = CanaryWatch(PLANTED)
    assert watch.check({"query": KEY[:20]}) == []
    assert watch.check({"url": KEY[20:]}) == ["OPENAI_API_KEY"]


def test_a_canary_is_not_reported_again_by_what_follows_it() -> None:
    watch = CanaryWatch(PLANTED)
    assert watch.check({"q": KEY}) == ["OPENAI_API_KEY"]
    assert watch.check({"q": "innocent"}) == []
    assert watch.check({"q": KEY}) == ["OPENAI_API_KEY"]


@given(st.text(max_size=200))
@settings(deadline=None)
def test_text_without_a_canary_is_never_accused(text: str) -> None:
    watch = CanaryWatch(PLANTED)
    assert watch.check(text) == []
    assert watch.check({"a": text, text: [1, None, True]}) == []


def test_memory_is_bounded_however_many_paths_an_agent_invents() -> None:
    watch = CanaryWatch(PLANTED)
    for index in range(500):
        watch.check({f"k{index}": "x" * 5000})
    assert sum(len(tail) for tail in watch._tails.values()) < 200_000


def test_placeholders_are_filled_everywhere_in_a_value() -> None:
    value: Any = {"{{canary:VAULT_CODE}}": ["a {{canary:VAULT_CODE}} b {{canary:GITHUB_TOKEN}}", 3, None], "x": "{{y}}"}
    code, token = PLANTED["VAULT_CODE"], PLANTED["GITHUB_TOKEN"]
    assert substitute(value, PLANTED) == {code: [f"a {code} b {token}", 3, None], "x": "{{y}}"}


@pytest.mark.parametrize("text", ["{{canary:NOPE}}", "{{canary:GITHUB_TOKEN"])
def test_a_placeholder_that_names_nothing_is_the_packs_fault(text: str) -> None:
    with pytest.raises(PackFault, match="names no planted canary"):
        substitute([text], PLANTED)


@pytest.mark.parametrize("name", sorted(PLANTED))
def test_every_planted_value_is_masked_under_its_own_name(name: str) -> None:
    text = json.dumps({"v": PLANTED[name]})
    assert Scrubber(PLANTED).scrub_text(text) == f'{{"v": "[redacted:{name}]"}}'
