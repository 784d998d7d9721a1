"""What an agent meets on loopback: model APIs over HTTP, the same from each of the three gateways."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from protocol.messages import AgentMessage, ModelCall
from tests.images.gateways import lines, models, run

KINDS = [pytest.param("python"), pytest.param("node"), pytest.param("binary", marks=pytest.mark.engine)]
pytestmark = pytest.mark.parametrize("kind", KINDS)

ROUTES = {
    "/v1/chat/completions": "chat",
    "/openai/deployments/gpt/chat/completions?api-version=1": "chat",
    "/v1/responses": "responses",
    "/v1/embeddings": "embeddings",
    "/v1/messages": "messages",
    "/anthropic/v1/messages?beta=true": "messages",
}


def test_a_request_crosses_as_it_is_with_its_api_named_and_so_does_the_answer(kind: str, tmp_path: Path) -> None:
    body = {"model": "m", "messages": ["€🙂", "1e999", 1.5, None]}
    code = f"body = {body!r}\nsay([ask(path, body) for path in {list(ROUTES)}])"
    answer = {"id": "x", "object": "whatever", "n": [1, 2.5, "é\u2028", None, {"a": True}]}
    heard, said = run(kind, tmp_path, code, models(lambda _: {"response": answer}))
    assert [(status, body) for status, body, _ in heard] == [(200, answer)] * len(ROUTES)
    assert [call.request for call in said.of(ModelCall)] == [{**body, "api": api} for api in ROUTES.values()]
    assert not any(call.stream for call in said.of(ModelCall))


def test_models_are_listed_and_one_is_described(kind: str, tmp_path: Path) -> None:
    code = "say([ask(p, method='GET')[0] for p in ('/v1/models', '/v1/models/org%2Fsmall', '/v1/models/org/big')])"
    heard, said = run(kind, tmp_path, code, models(lambda _: {"response": {"data": []}}))
    assert heard == [200, 200, 200]
    asked = [call.request for call in said.of(ModelCall)]
    assert asked == [{"api": "models"}, {"api": "models", "model": "org/small"}, {"api": "models", "model": "org/big"}]


def test_a_stream_is_written_as_events_and_only_a_chat_ends_with_done(kind: str, tmp_path: Path) -> None:
    def answer(message: AgentMessage) -> Any:
        if not isinstance(message, ModelCall):
            return None
        event = None if message.request["api"] == "chat" else "message_delta"
        chunk = {"type": "model_chunk", "id": message.id}
        return lines(*({**chunk, "delta": {"event": event, "data": {"n": n}}, "done": n == 1} for n in (0, 1)))

    code = "say([ask(p, {'stream': True}) for p in ('/v1/chat/completions', '/v1/messages')])"
    heard, said = run(kind, tmp_path, code, answer)
    assert [call.stream for call in said.of(ModelCall)] == [True, True]
    assert [headers["Content-Type"] for _, _, headers in heard] == ["text/event-stream"] * 2
    chat, message = (body.replace('": ', '":') for _, body, _ in heard)
    assert chat == 'data: {"n":0}\n\ndata: {"n":1}\n\ndata: [DONE]\n\n'
    assert message == 'event: message_delta\ndata: {"n":0}\n\nevent: message_delta\ndata: {"n":1}\n\n'


def test_an_error_keeps_its_status_and_its_words(kind: str, tmp_path: Path) -> None:
    own = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    replies = [
        {"error": "slow down", "status": 429, "response": own},
        {"error": "broken"},
        {"error": "broken", "status": 529},
    ]
    code = "say([ask(p, {'stream': True}) for p in ('/v1/responses', '/v1/chat/completions', '/v1/messages')])"
    heard, _ = run(kind, tmp_path, code, models(lambda _: replies.pop(0)))
    assert heard[0][:2] == [429, own]
    assert (heard[1][0], heard[1][1]["error"]["message"]) == (500, "broken")
    assert heard[2][:2] == [529, {"type": "error", "error": {"type": "api_error", "message": "broken"}}]


def test_what_the_protocol_would_not_take_is_refused_and_never_crosses(kind: str, tmp_path: Path) -> None:
    code = """
bodies = [
    b'{"a": NaN}', b'{"a": 1e999}', b'{"a": ', b'[1]', b'', b'\\xff', b'{"a": ' + b'[' * 80 + b']' * 80 + b'}',
    b'{"a": ' + b'[' * 200_000, b'{"a": "' + b'x' * 300_000 + b'"}', json.dumps({'a': '"' * 149_000}),
]
say([ask('/v1/chat/completions', body) for body in bodies])
"""
    heard, said = run(kind, tmp_path, code, limits={"max_line_bytes": 298_050})
    assert [status for status, _, _ in heard] == [400] * 8 + [413] * 2
    assert all(body["error"]["message"] for _, body, _ in heard)
    assert said.of(ModelCall) == []


def test_a_body_that_fills_a_line_crosses_whole(kind: str, tmp_path: Path) -> None:
    code = "say(ask('/v1/chat/completions', {'a': 'x' * 4_000_000})[1]['n'])"
    heard, _ = run(kind, tmp_path, code, models(lambda call: {"response": {"n": len(call.request["a"])}}))
    assert heard == 4_000_000


def test_a_body_without_a_length_is_read_by_its_chunks(kind: str, tmp_path: Path) -> None:
    code = """
connection = http.client.HTTPConnection(ROOT.hostname, ROOT.port)
parts, headers = iter([b'{"a":', b'[1]', b'}']), {'Transfer-Encoding': 'chunked'}
connection.request('POST', '/v1/responses', parts, headers, encode_chunked=True)
first = connection.getresponse().read().decode()
connection.request('POST', '/v1/responses', b'{"a": 2}')
say([first, connection.getresponse().read().decode()])
"""
    heard, said = run(kind, tmp_path, code, models(lambda call: {"response": [call.request["a"]]}))
    assert heard == ["[[1]]", "[2]"]
    assert len(said.of(ModelCall)) == 2


def test_many_requests_wait_at_once_and_each_gets_its_own_answer(kind: str, tmp_path: Path) -> None:
    waiting: list[ModelCall] = []

    def answer(message: AgentMessage) -> Any:
        if not isinstance(message, ModelCall):
            return None
        waiting.append(message)
        if len(waiting) < 50:
            return None
        results = [{"type": "model_result", "id": call.id, "response": [call.request["n"]]} for call in waiting]
        return lines(*reversed(results))

    code = """
with concurrent.futures.ThreadPoolExecutor(50) as pool:
    say(list(pool.map(lambda n: ask('/v1/embeddings', {'n': n})[1], range(50))))
"""
    heard, _ = run(kind, tmp_path, code, answer)
    assert heard == [[n] for n in range(50)]


def test_a_client_that_hangs_up_in_mid_stream_disturbs_nobody(kind: str, tmp_path: Path) -> None:
    def answer(message: AgentMessage) -> Any:
        if not isinstance(message, ModelCall):
            return None
        if not message.stream:
            return {"type": "model_result", "id": message.id, "response": ["fine"]}
        chunk = {"type": "model_chunk", "id": message.id, "delta": {"event": None, "data": "x" * 200_000}}
        return lines(*({**chunk, "done": n == 19} for n in range(20)))

    code = """
connection = socket.create_connection((ROOT.hostname, ROOT.port))
head = b'POST /v1/responses HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 16\\r\\n\\r\\n'
connection.sendall(head + b'{"stream": true}')
connection.recv(1000)
connection.close()
say(ask('/v1/responses', {})[1])
"""
    heard, said = run(kind, tmp_path, code, answer)
    assert heard == ["fine"]
    assert "Traceback" not in said.stderr


def test_after_cancel_every_request_is_refused(kind: str, tmp_path: Path) -> None:
    def answer(message: AgentMessage) -> Any:
        return {"type": "cancel", "reason": "time"} if isinstance(message, ModelCall) else None

    code = """
for _ in range(2):
    status, body, headers = ask('/v1/messages', {})
    names = {name.lower(): value for name, value in headers.items()}
    print('status', status, body['type'], names['x-should-retry'], file=sys.stderr, flush=True)
"""
    _, said = run(kind, tmp_path, code, answer)
    assert said.stderr.count("status 503 error false") == 2
    assert len(said.of(ModelCall)) == 1
    assert said.code == 0


def test_other_paths_are_refused_in_words_that_name_what_is_served(kind: str, tmp_path: Path) -> None:
    heard, said = run(kind, tmp_path, "say([ask('/api/chat', {}), ask('/', method='HEAD'), ask('/v1', method='GET')])")
    assert heard[0][0] == 404
    assert "chat/completions" in heard[0][1]["error"]["message"]
    assert [heard[1][0], heard[2][0]] == [200, 200]
    assert said.of(ModelCall) == []


def test_keys_are_placeholders_and_no_proxy_stands_between(kind: str, tmp_path: Path) -> None:
    heard, _ = run(kind, tmp_path, "say(dict(os.environ))")
    root = heard["ANTHROPIC_BASE_URL"]
    assert root.startswith("http://127.0.0.1:")
    assert {heard["OPENAI_BASE_URL"], heard["OPENAI_API_BASE"]} == {root + "/v1"}
    assert heard["FUMEHOOD_MCP_URL"] == root + "/mcp"
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "LITELLM_PROXY_API_KEY")
    assert {heard[name] for name in keys} == {"sk-placeholder"}
    assert "127.0.0.1" in heard["NO_PROXY"]
    assert "127.0.0.1" in heard["no_proxy"]
