"""Models for agents, and recordings of them and of tool servers, put together from what the command line says."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from harness.app.limits import overridden
from harness.domain.limits import Limits
from harness.domain.model import ModelSettings, ModelSpec, NameRule, SourceKind
from harness.domain.pack import ModelTurn
from harness.domain.run import CassetteRef
from harness.errors import UsageError
from harness.models.broker import Broker
from harness.models.cassette import Cassette, Player, Recorder, TrialRecorder
from harness.models.names import Names
from harness.models.none import NoModel
from harness.models.prices import Prices, read_prices
from harness.models.scripted import ScriptedModel
from harness.models.tool_player import ToolPlayer
from harness.ports import ModelProvider

if TYPE_CHECKING:
    from harness.models.upstream import Upstream

KEYS = ("FUMEHOOD_MODEL_API_KEY", "OPENAI_API_KEY")
"""Where the key is looked for; a local server needs none."""
_FORM = "scripted, none, openai:MODEL@URL (openai:@URL: the name the agent asks for), cassette:FILE"
_DOC = "docs/models.md"

Change = Callable[[Any], Any]


class TrialModels(Struct, frozen=True):
    """What a broker must know of its trial; `names` are its agent's own and come before the run's.

    `fill` puts this trial's canaries into the pack's texts; `clean` takes them and all secrets out, and `restored`
    puts the former back.
    """

    trial: str
    turns: Sequence[ModelTurn]
    fill: Change
    clean: Change
    restored: Change
    names: tuple[NameRule, ...] = ()


class ModelOptions(Struct, frozen=True):
    """The options as they were given."""

    spec: str | None = None
    names: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    prices: Path | None = None


class Models:
    """Where the brokers of one run come from, and what answers in place of its tool servers (`tools`)."""

    def __init__(
        self,
        spec: ModelSpec | None = None,
        upstream: Upstream | None = None,
        cassette: Cassette | None = None,
        recorder: Recorder | None = None,
        tools: Cassette | None = None,
    ) -> None:
        self._spec = spec or ModelSpec()
        self._upstream = upstream
        self._cassette = cassette
        self._recorder = recorder
        self._tools = tools

    def recorder(self, trial: TrialModels) -> TrialRecorder | None:
        """Takes down the answers of one trial, which begins with it; None: nothing is recorded."""
        return None if self._recorder is None else TrialRecorder(self._recorder, trial.trial, trial.clean)

    def tool_player(self, trial: TrialModels) -> ToolPlayer | None:
        """Answers in place of one trial's tool servers; None: they run."""
        return None if self._tools is None else ToolPlayer(self._tools, trial.trial, trial.clean, trial.restored)

    def broker(self, trial: TrialModels, recorder: TrialRecorder | None = None) -> Broker:
        """The models of one trial."""
        spec = self._spec
        names = (*trial.names, *spec.names)
        if self._upstream is not None:
            from harness.app.clock import MonotonicClock
            from harness.models.upstream import UpstreamModel

            model = UpstreamModel(self._upstream, MonotonicClock().now_ms)
            return Broker(model, Names(names, spec.model), self._upstream.prices, recorder, model.held.ms)
        if self._cassette is not None:
            return Broker(Player(self._cassette, trial.trial, trial.clean, trial.restored))
        source: ModelProvider = NoModel() if spec.source == "none" else ScriptedModel(trial.turns, trial.fill)
        return Broker(source, Names(names), recorder=recorder)


SCRIPTED = Models()
"""The pack's own turns."""


def model_spec(given: ModelOptions, limits: Limits, record: Path | None = None) -> ModelSpec | None:
    """What the `--model` options ask for; None: the pack's turns, as they are. UsageError where it cannot be meant."""
    spec = _source(given.spec)
    _recorder(spec.source, record)
    if spec.source != "openai" and (given.sets or given.prices):
        raise UsageError(
            "--model-set and --prices are for --model openai:...", "leave them out: nothing is asked of an upstream"
        )
    if spec.source in ("cassette", "none") and given.names:
        raise UsageError(
            f"--model-map is not for --model {spec.source}", "leave it out: nothing is asked under another name"
        )
    settings = overridden(given.sets, ModelSettings(), "--model-set", _DOC)
    if spec.source == "openai" and settings.timeout_ms >= limits.call_ms:
        raise UsageError(
            f"timeout_ms ({settings.timeout_ms}) must be less than the limit call_ms ({limits.call_ms})",
            "lower it, or raise --limit call_ms: what is slow for long would else look like the agent's doing",
        )
    spec = msgspec.structs.replace(
        spec,
        names=tuple(map(_rule, given.names)),
        settings=settings,
        prices={} if given.prices is None else read_prices(given.prices),
    )
    return None if spec == ModelSpec() else spec


def tools_spec(text: str | None, record: Path | None = None) -> CassetteRef | None:
    """What `--tools` asks for; None: tool servers run. UsageError where it cannot be meant."""
    if text is None:
        return None
    kind, _, rest = text.partition(":")
    if kind != "cassette" or not rest:
        raise UsageError(f"--tools wants cassette:FILE; came {text[:120]!r}", "see docs/tool-servers.md")
    _require_servers(record)
    return CassetteRef(os.path.realpath(rest), Cassette(Path(rest)).digest)


def _require_servers(record: Path | None) -> None:
    if record is not None:
        raise UsageError("--record is not for --tools cassette", "record where the tool servers run")


def _source(text: str | None) -> ModelSpec:
    kind, _, rest = (text or "scripted").partition(":")
    if kind in ("scripted", "none") and not rest:
        return ModelSpec(kind)  # type: ignore[arg-type]
    if kind == "cassette" and rest:
        path = Path(rest)
        return ModelSpec("cassette", cassette=os.path.realpath(path), cassette_digest=Cassette(path).digest)
    if kind == "openai" and rest:
        from harness.models.client import checked_key, checked_url
        from harness.models.failures import MODEL

        at = rest.rfind("@http")
        model, url = (rest, "") if at < 0 else (rest[:at], rest[at + 1 :])
        checked_url(url, MODEL)
        checked_key(api_key(), MODEL)
        if len(model) <= 200 and (model or url):
            return ModelSpec("openai", model, url)
    raise UsageError(f"--model wants one of {_FORM}; came {(text or '')[:120]!r}", f"see {_DOC}")


def _recorder(source: SourceKind, record: Path | None) -> Recorder | None:
    if record is not None and source in ("cassette", "none"):
        raise UsageError(f"--record is not for --model {source}", "record from an upstream, or from the pack's turns")
    return None if record is None else Recorder(record)


def _rule(text: str) -> NameRule:
    asked, _, used = text.partition("=")
    try:
        return msgspec.convert({"asked": asked, "used": used}, NameRule)
    except msgspec.ValidationError:
        raise UsageError(f"--model-map wants ASKED=USED, came {text[:120]!r}", f"see {_DOC}") from None


@asynccontextmanager
async def opened_models(
    spec: ModelSpec | None, record: Path | None, tools: CassetteRef | None = None
) -> AsyncIterator[Models]:
    """The models of a run for as long as it lasts; with `record`, answers go to that file too.

    `tools`: what answers in place of tool servers. UsageError where a cassette is not the one the run began with, or
    nothing is to be recorded.
    """
    source: SourceKind = "scripted" if spec is None else spec.source
    taped = None
    if tools is not None:
        _require_servers(record)
        taped = _as_it_was(tools)
    recorder = _recorder(source, record)
    if spec is None or source in ("scripted", "none"):
        yield Models(spec, recorder=recorder, tools=taped)
    elif source == "cassette":
        yield Models(spec, cassette=_as_it_was(CassetteRef(spec.cassette, spec.cassette_digest)), tools=taped)
    else:
        from harness.models.upstream import Upstream

        upstream = Upstream(spec, api_key(), Prices(spec.prices))
        try:
            yield Models(spec, upstream=upstream, recorder=recorder, tools=taped)
        finally:
            await upstream.aclose()


def _as_it_was(asked: CassetteRef) -> Cassette:
    cassette = Cassette(Path(asked.path))
    if cassette.digest != asked.digest:
        raise UsageError(f"{asked.path} is not as it was when the run began", "put it back, or start a new run")
    return cassette


def api_key() -> str:
    """The upstream's key from our own environment; "" where there is none."""
    return next((os.environ[name] for name in KEYS if os.environ.get(name)), "")
