"""Agents' model calls end to end, in real containers: metered, mapped, cut, blamed, recorded and played."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

from harness.domain.outcome import Blame, End
from harness.store.run import StoredRun
from tests.e2e.rig import events, last, only, run_puppet, scenario, trial_events, verdicts, write_pack
from tests.openai_server import OpenAIServer, Request, Step, fails, says, streams

pytestmark = pytest.mark.engine
KEY = "sk-planted-Zq81Kk27Vv93Xx55"
SAY = """
def model(ident, stream=False, **request):
    send({'type': 'model_call', 'id': ident, 'request': request, **({'stream': True} if stream else {})})
def hi(text='Hi', **more):
    return {'model': 'gpt-3.5-turbo', 'messages': [{'role': 'user', 'content': text}], **more}
"""


def work(name: str, code: str, **more: Any) -> dict[str, Any]:
    return scenario(name, SAY + textwrap.dedent(code), **more)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture(autouse=True)
def _no_key_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "FUMEHOOD_MODEL_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def upstream(server: OpenAIServer, model: str = "local-model") -> tuple[str, ...]:
    return ("--model", f"openai:{model}@{server.url}", "--model-set", "retries=0")


def answers(run: StoredRun) -> list[dict[str, Any]]:
    (key,) = run.plan.cells()
    return events(run, key, "model_result")


def test_a_call_is_mapped_metered_and_priced_and_the_key_stays_here(tmp_path: Path, store: Path) -> None:
    code = """
    model('1', **hi(api='chat'))
    said = receive()[0]['response']
    model('2', stream=True, max_tokens=50, **hi(api='messages') | {'model': 'claude-x'})
    names = []
    while True:
        chunk = receive()[0]
        names.append(chunk['delta']['event'])
        if chunk['done']:
            break
    inside = [name for name, value in os.environ.items() if 'Zq81' + 'Kk27' in value]
    finish(said['choices'][0]['message']['content'], {'inside': inside, 'names': names, 'model': said['model']})
    """
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"local-model": {"input": 2.0, "output": 4.0}}))

    def echo(request: Request) -> Step:
        return says(f"Your headers: {dict(request.headers)}", tokens=(1000, 100))

    with OpenAIServer(echo) as server:
        mapping = ("--model-map", "gpt-3.5-*=local-model", "--prices", prices)
        pack = write_pack(tmp_path, work("s", code))
        done = run_puppet(pack, store, *upstream(server, "big"), *mapping, env={"FUMEHOOD_MODEL_API_KEY": KEY})
    assert done.returncode == 0, done.stderr + done.stdout
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"] * 2
    assert [body["model"] for body in server.bodies] == ["local-model", "big"]
    run = last(store)
    first, second = answers(run)
    assert (first["asked"], first["used"], second["asked"], second["used"]) == (
        "gpt-3.5-turbo",
        "local-model",
        "claude-x",
        "big",
    )
    assert first["usage"] == {"input_tokens": 1000, "output_tokens": 100, "cost_usd": 0.0024}
    assert second["usage"]["cost_usd"] is None
    (verdict,) = verdicts(run).values()
    assert (verdict.usage.tokens, verdict.usage.cost_known, verdict.usage.model_calls) == (2200, False, 2)
    told = only(run, "trajectory")["output"]
    assert told["data"]["model"] == "gpt-3.5-turbo"
    assert told["data"]["inside"] == []
    assert told["data"]["names"][0] == "message_start"
    assert told["data"]["names"][-1] == "message_stop"
    assert "[key]" in told["text"]
    assert KEY not in done.stdout + done.stderr
    assert [path for path in store.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []
    plan = run.plan.model
    assert plan is not None
    assert (plan.source, plan.model, [rule.used for rule in plan.names], plan.settings.retries) == (
        "openai",
        "big",
        ["local-model"],
        0,
    )


def test_calls_side_by_side_cannot_spend_more_than_the_budget(tmp_path: Path, store: Path) -> None:
    code = """
    for number in range(6):
        model(str(number), **hi(max_tokens=100))
    for number in range(6):
        receive()
    finish('done')
    """
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"local-model": {"input": 0.0, "output": 1_000_000.0}}))
    with OpenAIServer(lambda request: says("x", tokens=(10, request.body["max_tokens"]))) as server:
        pack = write_pack(tmp_path, work("s", code, budget={"max_cost_usd": 250.0}))
        run_puppet(pack, store, *upstream(server), "--prices", prices)
    run = last(store)
    assert only(run, "end")["end"] == End.BUDGET_EXCEEDED
    assert only(run, "end")["detail"] == {"budget": "max_cost_usd", "limit": 250.0, "count": 250}
    assert [body["max_tokens"] for body in server.bodies] == [100, 100, 50]


def test_an_upstream_that_fails_is_its_own_fault_and_no_verdict(tmp_path: Path, store: Path) -> None:
    with OpenAIServer(fails(500, "boom")) as server:
        pack = write_pack(tmp_path, work("s", "model('1', **hi())\nreceive()\nfinish('x')"))
        done = run_puppet(pack, store, *upstream(server))
    assert done.returncode == 6
    end = only(last(store), "end")
    assert (end["end"], end["blame"], end["attempt"]) == (End.UPSTREAM_ERROR, Blame.UPSTREAM, 3)
    assert len(server.requests) == 3


def test_a_request_that_is_not_taken_is_told_to_the_agent_who_may_go_on(tmp_path: Path, store: Path) -> None:
    code = """
    model('1', **hi())
    told = receive()[0]
    model('2', **hi(api='responses'))
    finish('went on', [told, receive()[0]])
    """
    with OpenAIServer(fails(400, "too many words")) as server:
        done = run_puppet(write_pack(tmp_path, work("s", code)), store, *upstream(server))
    assert done.returncode == 0, done.stdout
    first, second = only(last(store), "trajectory")["output"]["data"]
    assert (first["error"], first["status"]) == ("too many words", 400)
    assert second["status"] == 400
    assert "messages" in second["response"]["error"]["message"]


def test_no_model_is_refused_and_the_agent_may_go_on(tmp_path: Path, store: Path) -> None:
    pack = write_pack(tmp_path, work("s", "model('1', **hi())\nfinish(receive()[0]['error'])"))
    assert run_puppet(pack, store, "--model", "none").returncode == 0
    assert only(last(store), "trajectory")["output"]["text"] == "this run gives agents no model"


TALK = """
secret = os.environ['OPENAI_API_KEY'][:3] and work['context']['code']
model('1', **hi('first ' + secret))
one = receive()[0]['response']['choices'][0]['message']['content']
model('2', stream=True, **hi('then ' + one))
two = receive()[0]['delta']['content']
receive(), receive()
model('3', api='embeddings', model='e', input=['a', 'b'])
three = receive()[0]['response']['data']
finish(one + two, three)
"""


def story(run: StoredRun) -> dict[str, list[tuple[str, Any]]]:
    """What every trial did and was told, without what is different in every run: times, ids of runs and containers."""
    told = {}
    for key, found in trial_events(run).items():
        kinds = ("model_call", "model_result", "trajectory", "note")
        told[str(key)] = [(event.kind, event.data) for event in found if event.kind in kinds]
    return told


def test_a_recording_is_played_the_same_twice_and_a_miss_is_the_recordings_fault(tmp_path: Path, store: Path) -> None:
    count = iter(range(100))

    def talk(request: Request) -> Step:
        if request.path.endswith("embeddings"):
            vectors = [{"object": "embedding", "index": i, "embedding": [next(count)]} for i in range(2)]
            return Step(200, json.dumps({"object": "list", "model": "e", "data": vectors}).encode())
        if request.body.get("stream"):
            return streams({"role": "assistant", "content": f"two {next(count)}"}, {"content": "!"})
        return says(f"one {next(count)} of {request.body['messages'][0]['content'][-8:]}")

    tape = tmp_path / "tape.jsonl"
    more: dict[str, Any] = {"canaries": ["CODE"], "context": {"code": "{{canary:CODE}}"}, "trials": 2}
    pack = write_pack(tmp_path, work("s", TALK, **more))
    with OpenAIServer(talk) as server:
        done = run_puppet(pack, store, *upstream(server), "--record", tape, env={"FUMEHOOD_MODEL_API_KEY": KEY})
    assert done.returncode == 0, done.stdout + done.stderr
    recorded = last(store)
    assert KEY.encode() not in tape.read_bytes()
    asked = len(server.requests)
    played = []
    for _ in range(2):
        done = run_puppet(pack, store, "--model", f"cassette:{tape}", env={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
        assert done.returncode == 0, done.stdout + done.stderr
        played.append(story(last(store)))
    assert len(server.requests) == asked
    assert json.dumps(played[0]) == json.dumps(played[1])
    assert {len(told) for told in played[0].values()} == {7}
    assert [list(told) for told in story(recorded).values()] == [list(told) for told in played[0].values()]

    other = write_pack(tmp_path, work("s", "model('1', **hi('never asked'))\nreceive()\nfinish('x')"))
    assert run_puppet(other, store, "--model", f"cassette:{tape}").returncode == 6
    end = only(last(store), "end")
    assert (end["end"], end["blame"], end["detail"]["code"]) == (End.PACK_ERROR, Blame.PACK, "cassette_miss")
    assert end["attempt"] == 1


def test_the_runs_own_purse_stops_it_without_a_word_on_the_agent(tmp_path: Path, store: Path) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"local-model": {"input": 0.0, "output": 1_000_000.0}}))
    with OpenAIServer(says("x", tokens=(1, 1))) as server:
        pack = write_pack(tmp_path, work("s", "model('1', **hi(max_tokens=1))\nreceive()\nfinish('x')", trials=4))
        purse = ("--model-set", "max_cost_usd=2", "--prices", prices)
        done = run_puppet(pack, store, *upstream(server), *purse)
    assert done.returncode == 6
    ends = [verdict.end for verdict in verdicts(last(store)).values()]
    assert sorted(ends) == [End.CANCELLED] * 2 + [End.COMPLETED] * 2
    assert len(server.requests) == 2


def test_a_resumed_run_has_its_models_from_the_plan(tmp_path: Path, store: Path) -> None:
    pack = write_pack(tmp_path, work("s", "finish('x')"))
    run_puppet(pack, store, "--model", "none")
    done = run_puppet(pack, store, "--resume", last(store).run_id, "--model", "none")
    assert done.returncode == 2
    assert os.environ.get("OPENAI_API_KEY") is None
