"""The scrubber: every claimed spelling of a known value goes, everything else stays."""

from __future__ import annotations

import base64
import html
import json
import time
import urllib.parse
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.boundary.redaction import Scrubber

SECRET = "sk-9fQ/+z&\"\\é7Lm'Xw%41 yT"
KNOWN = {"OPENAI_API_KEY": SECRET}


def all_u(value: str) -> str:
    units = value.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


ENCODINGS = {
    "plain": lambda v: v,
    "reversed": lambda v: v[::-1],
    "base64": lambda v: base64.b64encode(v.encode()).decode(),
    "base64 unpadded": lambda v: base64.b64encode(v.encode()).decode().rstrip("="),
    "base64 urlsafe": lambda v: base64.urlsafe_b64encode(v.encode()).decode(),
    "base64 at offset 1": lambda v: base64.b64encode(b"x" + v.encode() + b"yy").decode(),
    "base64 at offset 2": lambda v: base64.b64encode(b"xx" + v.encode() + b"y").decode(),
    "base64 in lines": lambda v: base64.encodebytes(b"k" * 50 + v.encode() + b"k" * 50).decode(),
    "hex": lambda v: v.encode().hex(),
    "hex upper": lambda v: v.encode().hex().upper(),
    "hex colons": lambda v: v.encode().hex(":"),
    "hex spaces": lambda v: v.encode().hex(" ").upper(),
    "url": lambda v: urllib.parse.quote(v),
    "url plus": lambda v: urllib.parse.quote_plus(v),
    "url full": lambda v: "".join(f"%{b:02X}" for b in v.encode()),
    "url full lower": lambda v: "".join(f"%{b:02x}" for b in v.encode()),
    "url twice": lambda v: urllib.parse.quote(urllib.parse.quote(v)),
    "json": lambda v: json.dumps(v),
    "json utf8": lambda v: json.dumps(v, ensure_ascii=False),
    "json twice": lambda v: json.dumps(json.dumps(v)),
    "json full": all_u,
    "json full twice": lambda v: json.dumps(all_u(v)),
    "c hex": lambda v: "".join(f"\\x{b:02x}" for b in v.encode()),
    "html": html.escape,
    "html numbers": lambda v: "".join(f"&#{ord(c)};" for c in v),
    "html hex": lambda v: "".join(f"&#x{ord(c):X};" for c in v),
    "json of url": lambda v: json.dumps(urllib.parse.quote(v)),
    "base64 in url": lambda v: urllib.parse.quote_plus(base64.b64encode(v.encode()).decode()),
}
encodings = st.sampled_from(sorted(ENCODINGS))
# no escapes inside a value: a value that is itself a piece of an escape has no one spelling
values = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=6, max_size=40).filter(
    lambda v: len(v.strip()) >= 6 and len(set(v.strip())) > 3 and not set(v) & set("%\\&[]")
)
around = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20).map(
    lambda t: "".join(" " if c in "%\\&" else c for c in t) + " "
)


@pytest.mark.parametrize("name", sorted(ENCODINGS))
def test_each_claimed_spelling_becomes_the_label(name: str) -> None:
    spelled = ENCODINGS[name](SECRET)
    out = Scrubber(KNOWN).scrub_text(f"before {spelled} after")
    assert "[redacted:OPENAI_API_KEY]" in out
    assert spelled not in out
    assert out.startswith("before ")
    assert out.endswith(" after")
    assert Scrubber(KNOWN).found_in(f"before {spelled} after") == {"OPENAI_API_KEY"}


@given(values, encodings, around, around)
@settings(max_examples=300, deadline=None)
def test_no_planted_value_survives_and_scrubbing_is_idempotent(value: str, name: str, pre: str, post: str) -> None:
    scrubber = Scrubber({"K": value})
    spelled = ENCODINGS[name](value.strip())
    out = scrubber.scrub_text(pre + spelled + post)
    assert scrubber.found_in(out) == set()
    assert spelled not in out
    assert "redacted:K]" in out or "[***]" in out
    assert scrubber.scrub_text(out) == out


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=15,
)


@given(json_values)
@settings(deadline=None)
def test_json_without_a_secret_stays_equal(value: Any) -> None:
    assert Scrubber(KNOWN).scrub_json(value) == value
    assert Scrubber(KNOWN).rolling().scrub_json(value) == value


@given(json_values, values, encodings, encodings)
@settings(max_examples=100, deadline=None)
def test_json_is_scrubbed_in_keys_and_nested_values(value: Any, secret: str, one: str, two: str) -> None:
    scrubber = Scrubber({"K": secret})
    bare = secret.strip()
    dirty = {"a": [value, {ENCODINGS[one](bare): ENCODINGS[two](bare)}], ENCODINGS[two](bare): value}
    clean = scrubber.scrub_json(dirty)
    text = msgspec.json.encode(clean).decode()
    assert ENCODINGS[one](bare) not in text
    assert scrubber.found_in(text) == set()
    assert scrubber.scrub_json(clean) == clean


def test_keys_that_become_equal_are_kept_apart() -> None:
    clean = Scrubber({"K": "hunter2hunter2"}).scrub_json(
        {"hunter2hunter2": 1, "HUNTER": 2, b"hunter2hunter2".hex(): 3, "2retnuh2retnuh": 4}
    )
    assert clean == {"[redacted:K]": 1, "HUNTER": 2, "[redacted:K]#2": 3, "[redacted:K]#3": 4}


def test_numbers_that_spell_a_secret_are_masked_and_others_stay_numbers() -> None:
    scrubber = Scrubber({"PIN": "90210771"})
    assert scrubber.scrub_json({"a": 90210771, "b": 390210771, "c": 7, "d": True, "e": 1.5}) == {
        "a": "[redacted:PIN]",
        "b": "3[redacted:PIN]",
        "c": 7,
        "d": True,
        "e": 1.5,
    }


@pytest.mark.parametrize(
    "value",
    [
        ["abcdefgh", "ijklmnop"],
        [{"type": "text", "text": "abcdefgh"}, {"type": "text", "text": "ijklmnop"}],
        {"a": "x abcdefgh", "b": "ijklmnop y"},
        list("abcdefghijklmnop"),
        [base64.b64encode(b"abcdefghijklmnop").decode()[:9], base64.b64encode(b"abcdefghijklmnop").decode()[9:]],
    ],
)
def test_a_secret_split_over_fields_of_one_value_is_masked_in_each(value: Any) -> None:
    clean = json.dumps(Scrubber({"K": "abcdefghijklmnop"}).scrub_json(value))
    assert "[redacted:K]" in clean
    assert "abcdefgh" not in clean
    assert "ijklmnop" not in clean


def test_the_second_half_is_masked_when_a_secret_comes_in_two_messages() -> None:
    rolling = Scrubber({"K": "abcdefghijklmnop"}).rolling()
    assert rolling.scrub_json({"level": "info", "text": "abcdefgh"}, "note")["text"] == "abcdefgh"
    assert rolling.scrub_json({"level": "info", "text": "ijklmnop!"}, "note")["text"] == "[redacted:K]!"
    assert rolling.scrub_json({"level": "info", "text": "ijklmnop!"}, "note")["text"] == "ijklmnop!"


def test_values_under_six_characters_are_ignored() -> None:
    scrubber = Scrubber({"SHORT": "abcde", "BLANK": "  a  \n"})
    assert scrubber.scrub_text("abcde and a") == "abcde and a"


def test_a_mask_never_spells_the_secret_it_hides() -> None:
    scrubber = Scrubber({"password": "password", "r": "redacted"})
    out = scrubber.scrub_text("my password is redacted")
    assert out == "my [***] is [***]"


KEYS = {
    "openai-key": "sk-proj4abcdefghijklmnop_Q-rst",
    "anthropic-key": "sk-ant-api03-Abcdefghijklmnop012345",
    "github-token": "ghp_" + "a1B2" * 9,
    "aws-access-key": "AKIAIOSFODNN7EXAMPLE",
    "google-api-key": "AIza" + "Sy1_-" * 7,
    "slack-token": "xoxb-123456789012-abcdefABCDEF",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl_-",
    "private-key": "-----BEGIN PRIVATE KEY-----\nMIIEvQ+/=\n-----END PRIVATE KEY-----",
}


@pytest.mark.parametrize("name", sorted(KEYS))
def test_key_shapes_are_masked_by_name(name: str) -> None:
    assert Scrubber({}).scrub_text(f"key {KEYS[name]} end") == f"key [redacted:{name}] end"


def test_a_bearer_token_goes_and_the_word_stays() -> None:
    out = Scrubber({}).scrub_text("Authorization: Bearer abcDEF0123456789.xyz==, ok")
    assert out == "Authorization: Bearer [redacted:bearer-token], ok"


@pytest.mark.parametrize(
    "text", ["risk-based-assessment-of-things", "sk-learn-compatible-estimators", "Bearer authentication-mechanisms"]
)
def test_prose_that_resembles_a_key_stays(text: str) -> None:
    assert Scrubber({}).scrub_text(text) == text


def test_a_known_value_keeps_its_label_where_a_shape_matches_too() -> None:
    value = "sk-" + "a1" * 20
    assert Scrubber({"OPENAI_API_KEY": value}).scrub_text(f"Bearer {value}") == "Bearer [redacted:OPENAI_API_KEY]"


def test_lone_surrogates_and_nul_pass_unchanged() -> None:
    assert Scrubber(KNOWN).scrub_text("\ud800 some text\x00 and more") == "\ud800 some text\x00 and more"


def secrets_of(count: int) -> dict[str, str]:
    return {f"K{i}": f"sk-{i:02d}" + "aB3dE5" * 6 for i in range(count)}


def test_a_megabyte_of_text_is_scrubbed_fast() -> None:
    text = ("The quick brown fox jumps over the lazy dog, line after line.\n" * 17000)[:1_000_000]
    scrubber = Scrubber(secrets_of(7))
    took = []
    for _ in range(5):
        start = time.process_time()
        assert scrubber.scrub_text(text) == text
        took.append(time.process_time() - start)
    assert min(took) < 0.05


@pytest.mark.parametrize(
    "unit", ["%41", "\\", "\\u0041", "&#65;", "sk-", "sk-ant-", "eyJ-", "eyJa.", "-----BEGIN PRIVATE KEY-----",
             "Bearer ", "gh", "AKIA", "xoxb-", "%2525", "aB3dE5"],
)  # fmt: skip
def test_hostile_text_costs_linear_time(unit: str) -> None:
    scrubber = Scrubber(secrets_of(3))
    start = time.process_time()
    scrubber.scrub_text(unit * (300_000 // len(unit)))
    assert time.process_time() - start < 3
