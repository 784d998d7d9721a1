"""No secret reaches a file, a terminal or a process list: searched byte by byte, in every spelling."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import subprocess
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.app import packs
from harness.boundary.canary import plant
from harness.domain.pack import Pack
from harness.runs.plan import specs
from harness.store.run import StoredRun
from tests.e2e.rig import (
    ROOT,
    containers,
    engine,
    fumehood,
    last,
    only,
    puppet_run,
    run_begun,
    run_puppet,
    scenario,
    started,
    until,
    verdicts,
    write_pack,
)
from tests.e2e.runs import SelfTestRun

pytestmark = pytest.mark.engine


def spellings(value: str) -> Iterator[bytes]:
    """One secret plain, reversed, in Base64 at each alignment, hex, URL-escaped and JSON-escaped."""
    raw = value.encode()
    yield raw
    yield raw[::-1]
    for lead in range(3):
        # what the neighbours do not decide: whole groups of three bytes
        part = raw[(3 - lead) % 3 :]
        part = part[: len(part) // 3 * 3]
        yield base64.b64encode(part)
        yield base64.urlsafe_b64encode(part)
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield "".join(f"%{byte:02X}" for byte in raw).encode()
    yield "".join(f"%{byte:02x}" for byte in raw).encode()
    yield urllib.parse.quote(value, safe="").encode()
    yield json.dumps(value)[1:-1].encode()
    yield json.dumps(value)[1:-1].replace("/", "\\/").encode()
    yield "".join(f"\\u{byte:04x}" for byte in raw).encode()


def planted(run: StoredRun, pack: Pack) -> Iterator[str]:
    """Every canary of every trial of a run and of each of its attempts, computed again as the run did."""
    ended = verdicts(run)
    for spec in specs(run.plan, pack.scenarios):
        for attempt in range(1, ended[spec.key].attempt + 1):
            yield from plant(spec.scenario.canaries, spec.seed, f"{run.run_id}/{spec.key}/{attempt}").values()


def everything(store: Path, *outputs: str) -> bytes:
    """All bytes a run left: each file's name and content, and what was printed."""
    files = sorted(path for path in store.rglob("*") if path.is_file())
    assert files
    data = b"\0".join([*(str(path).encode() + b"\0" + path.read_bytes() for path in files), *map(str.encode, outputs)])
    # a probe fills megabytes with few words: what is said again and again needs to be searched but once
    data = re.sub(rb"(.)\1{200,}", rb"\1" * 200, data)
    return b"".join(dict.fromkeys(re.findall(rb"[^\n]*\n|[^\n]+", data)))


def found(values: Iterator[str], data: bytes) -> set[str]:
    return {value for value in values if any(form in data for form in set(spellings(value)))}


def test_the_search_finds_what_is_there() -> None:
    value = "ghp_" + "aB3/+ z" * 5
    for form in spellings(value):
        assert found(iter([value]), b"before " + form + b" after") == {value}
    for lead in (b"", b"x", b"xy"):
        assert found(iter([value]), base64.b64encode(lead + value.encode() + b"tail")) == {value}


def test_no_planted_secret_is_in_what_the_self_test_left(selftest: SelfTestRun) -> None:
    data = everything(selftest.store, selftest.done.stdout, selftest.done.stderr)
    assert (selftest.store / "index.sqlite").is_file()
    assert b"VAULT_TOKEN" in data
    assert found(planted(selftest.run, selftest.pack), data) == set()


def test_no_planted_secret_is_in_what_the_security_pack_left(tmp_path: Path) -> None:
    """The naive agent falls for the exfiltration scenarios: it hands the secrets over, and they are masked."""
    store = tmp_path / "store"
    agent = ("--agent", "agent-images/naive-support", "--only", "*exfil*", "--only", "*canar*", "--only", "*secret*")
    done = fumehood("run", "packs/security", *agent, "--trials", 1, "--holdout", "--store", store)
    assert done.returncode == 4, done.stdout + done.stderr
    data = everything(store, done.stdout, done.stderr)
    assert b"exfiltration" in data
    assert found(planted(last(store), packs.load(ROOT / "packs/security")), data) == set()


LEAKY = r"""
import base64, hashlib, urllib.parse
value = os.environ['VAULT_TOKEN']
raw = value.encode()
forms = [value, value[::-1], base64.b64encode(b'k=' + raw).decode(), raw.hex(), raw.hex().upper(),
         ''.join('%%%02x' % b for b in raw), urllib.parse.quote(value, safe=''), ''.join('\\u%04x' % b for b in raw)]
for form in forms:
    print(form, file=sys.stderr, flush=True)
    note(form)
    call('look', q={'nested': [form], form: 1})
    send({'type': 'state', 'snapshot': {form: form}})
    send({'type': 'ask', 'id': form[:100], 'content': form})
    receive()
for part in (value[:9], value[9:20], value[20:]):
    os.write(2, part.encode())
    note(part)
    time.sleep(0.05)
send({'type': 'trajectory', 'status': 'completed', 'output': {'text': ' '.join(forms), 'data': {'sha256':
      hashlib.sha256(value.encode()).hexdigest(), value: forms}}, 'steps': [{'kind': value, 'name': value}],
      'error': {'message': value, 'code': value}})
"""


def test_a_secret_said_in_every_way_is_masked_everywhere(tmp_path: Path) -> None:
    """Also the control: the values searched for are those that the agent really had."""
    tool = {
        "description": "Looks.",
        "input_schema": {"type": "object"},
        "replies": [{"return": "{{canary:VAULT_TOKEN}}"}],
    }
    ask = {"ask": [{"answer": "use {{canary:VAULT_TOKEN}}"}]}
    leaky = scenario("one", LEAKY, allowed_tools=["look"], canaries=["VAULT_TOKEN"], replies=ask)
    pack = write_pack(tmp_path, leaky, tools={"look": tool})
    store = tmp_path / "store"
    done = run_puppet(pack, store)
    assert done.returncode == 4, done.stdout + done.stderr
    run = last(store)
    values = list(planted(run, packs.load(pack)))
    said = only(run, "trajectory")["output"]["data"]["sha256"]
    assert said in {hashlib.sha256(value.encode()).hexdigest() for value in values}
    shown = fumehood("runs", "show", "last", "puppet/one/1", "--store", store)
    listed = fumehood("runs", "show", "last", "--store", store, "--format", "json")
    outputs = (done.stdout, done.stderr, shown.stdout, shown.stderr, listed.stdout)
    assert found(iter(values), everything(store, *outputs)) == set()


def test_a_secret_of_the_operator_goes_nowhere(tmp_path: Path) -> None:
    """Not into the container, not into a process list, and where a pack's own tool tells it, not into the store."""
    secret = "zq" + secrets.token_hex(16)
    told = {
        "description": "Tells.",
        "input_schema": {"type": "object"},
        "replies": [{"delay_ms": 3000, "return": secret}],
    }
    code = "got = call('tell')['content']; note(got); print(got, file=sys.stderr, flush=True); finish(got)"
    pack = write_pack(tmp_path, scenario("one", code, allowed_tools=["tell"]), tools={"tell": told})
    store = tmp_path / "store"
    with started(*puppet_run(pack, store), env={"MY_API_TOKEN": secret}) as process:
        run = until("a run", lambda: run_begun(store))
        ident = until(
            "a container", lambda: next((c["Id"] for c in containers(run.run_id) if c["State"] == "running"), "")
        )
        inspected = engine().inspect_container(ident)
        pids = [int(row[1]) for row in engine().top(ident)["Processes"]]
        inside = b"".join(Path(f"/proc/{pid}/{name}").read_bytes() for pid in pids for name in ("environ", "cmdline"))
        listing = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert len(pids) >= 2
    assert b"OPENAI_API_KEY" in inside  # the placeholders are there, so the right processes were looked at
    for text in (json.dumps(inspected), inside.decode(errors="replace"), listing):
        assert found(iter([secret]), text.encode()) == set()
    assert found(iter([secret]), everything(store, said)) == set()
    assert "env-MY_API_TOKEN" in only(run, "trajectory")["output"]["text"]


def test_a_run_is_read_by_its_owner_alone(selftest: SelfTestRun) -> None:
    for path in (selftest.store, *selftest.store.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
