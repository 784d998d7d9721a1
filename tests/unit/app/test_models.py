"""What the `--model` options mean, and what is refused before a run begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.app.models import ModelOptions, model_spec, opened_models, tools_spec
from harness.app.ready import PLANNED, RunRequest
from harness.domain.limits import Limits
from harness.domain.model import ModelSpec, NameRule, Price
from harness.errors import UsageError
from harness.models.cassette import Recorder

LIMITS = Limits()


def spec(
    text: str | None = None, *, record: Path | None = None, limits: Limits = LIMITS, **more: Any
) -> ModelSpec | None:
    return model_spec(ModelOptions(text, **more), limits, record)


def test_nothing_asked_for_is_the_packs_turns() -> None:
    assert spec() is spec("scripted") is None


@pytest.mark.parametrize(
    ("text", "model", "url"),
    [
        ("openai:gpt-4o@https://api.openai.com/v1", "gpt-4o", "https://api.openai.com/v1"),
        ("openai:gpt-4o", "gpt-4o", ""),
        ("openai:@http://127.0.0.1:8000/v1", "", "http://127.0.0.1:8000/v1"),
        ("openai:org/model@2@http://x/v1", "org/model@2", "http://x/v1"),
    ],
)
def test_an_upstream_is_a_model_at_an_address(text: str, model: str, url: str) -> None:
    found = spec(text)
    assert found is not None
    assert (found.source, found.model, found.base_url) == ("openai", model, url)


def test_names_settings_and_prices_are_read(tmp_path: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"local": {"input": 0, "output": 0.5}}))
    found = spec(
        "openai:m@http://x/v1", names=("gpt-*=local", "a=b=c"), sets=("retries=1", "max_cost_usd=2.5"), prices=prices
    )
    assert found is not None
    assert found.names == (NameRule("gpt-*", "local"), NameRule("a", "b=c"))
    assert (found.settings.retries, found.settings.max_cost_usd) == (1, 2.5)
    assert found.prices == {"local": Price(0.0, 0.5)}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"text": "gpt-4o"}, "openai:MODEL@URL"),
        ({"text": "openai:"}, "openai:MODEL@URL"),
        ({"text": "cassette:"}, "cassette:FILE"),
        ({"text": "none:x"}, "--model"),
        ({"text": "openai:m@https://u:p@x/v1"}, "password"),
        ({"text": "cassette:/nowhere"}, "cannot be read"),
        ({"text": "openai:m@http://x/v1", "names": ("a",)}, "ASKED=USED"),
        ({"text": "openai:m@http://x/v1", "names": ("a=",)}, "ASKED=USED"),
        ({"text": "openai:m@http://x/v1", "sets": ("timeout=3",)}, "timeout_ms=3"),
        ({"text": "openai:m@http://x/v1", "sets": ("retries=-1",)}, "retries"),
        ({"text": "openai:m@http://x/v1", "sets": ("timeout_ms=200000",)}, "call_ms"),
        ({"text": "openai:m@http://x/v1", "prices": Path("/nowhere")}, "--prices"),
        ({"sets": ("retries=1",)}, "--model-set"),
        ({"text": "none", "names": ("a=b",)}, "--model-map"),
        ({"text": "none", "record": Path("x")}, "--record"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        spec(**given)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["[]", "{", '{"m": {"input": -1, "output": 0}}', '{"m": {"input": 1}}', '{"m": 3}'])
def test_a_price_table_that_is_none_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"prices"):
        spec("openai:m@http://x/v1", prices=path)


def test_a_key_that_cannot_be_one_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUMEHOOD_MODEL_API_KEY", "two words")
    with pytest.raises(UsageError) as caught:
        spec("openai:m@http://x/v1")
    assert "two words" not in str(caught.value)
    assert "FUMEHOOD_MODEL_API_KEY" in str(caught.value)


@pytest.mark.anyio
async def test_a_cassette_that_changed_since_the_run_began_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tape"
    Recorder(path)
    found = spec(f"cassette:{path}")
    async with opened_models(found, None):
        pass
    path.write_bytes(path.read_bytes() + b'{"type":"take","trial":"x"}\n')
    with pytest.raises(UsageError, match="not as it was"):
        async with opened_models(found, None):
            pass


@pytest.mark.parametrize("text", ["", "cassette:", "servers", "cassette:/nowhere"])
def test_what_cannot_stand_for_tool_servers_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"cassette"):
        tools_spec(text)


@pytest.mark.anyio
async def test_tools_from_a_cassette_are_held_to_it_and_are_not_recorded_again(tmp_path: Path) -> None:
    path, other = tmp_path / "tape", tmp_path / "other"
    Recorder(path)
    found = tools_spec(f"cassette:{path}")
    assert found is not None
    assert str(found) == f"cassette:{found.digest[:12]}"
    with pytest.raises(UsageError, match="--record"):
        tools_spec(f"cassette:{path}", other)
    with pytest.raises(UsageError, match="--record"):
        async with opened_models(None, other, found):
            pass
    assert not other.exists()
    path.write_bytes(path.read_bytes() + b'{"type":"take","trial":"x"}\n')
    with pytest.raises(UsageError, match="not as it was"):
        async with opened_models(None, None, found):
            pass


def test_a_run_that_goes_on_takes_its_models_from_the_plan() -> None:
    fixed = {name for name in RunRequest.__struct_fields__ if name.startswith("model")} | {"prices", "tools"}
    assert fixed <= set(PLANNED)


def test_what_a_comparison_calls_it_says_nothing_of_addresses() -> None:
    found = ModelSpec("openai", "m", "http://10.0.0.1/v1", names=(NameRule("a", "b"),))
    assert str(found) == "openai:m a=b"
    assert str(ModelSpec("cassette", cassette="/home/me/x", cassette_digest="ab" * 32)) == "cassette:" + "ab" * 6
