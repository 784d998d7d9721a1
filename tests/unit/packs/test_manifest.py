"""An agent's manifest: every mistake at once with its place, and the same Dockerfile for the same words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.app.recipes import dockerfile_of, recipe_of
from harness.domain.manifest import ADAPTERS, Manifest
from harness.errors import PackError, UsageError
from harness.packs.manifest import load_manifest

SMALL = "fumehood: 1\nadapter: python\nentry: agent:agent\n"
WRONG = """\
fumehood: 2
adpater: python
adapter: langraph
name: "bad name"
entry: agent:graph
install:
  pipp: [x]
  pip: [--index-url=http://evil.example, "a b"]
state: {inptu: question, output: a..b}
env: {OPENAI_BASE_URL: "http://x", "1X": y}
writable: [../up, /proc/self, data, data/deep, 3]
http: {port: 0}
"""


def written(folder: Path, text: str) -> Path:
    (folder / "agent.yaml").write_text(text)
    return folder


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(PackError) as caught:
        load_manifest(written(folder, text))
    return [str(problem).removeprefix(f"{folder}/agent.yaml:") for problem in caught.value.problems]


def test_every_mistake_is_told_at_once_with_its_place(tmp_path: Path) -> None:
    found = problems(tmp_path, WRONG)
    for place, words in (
        ("1:11", "unsupported version 2"),
        ("2:1", "unknown field 'adpater' in the manifest; did you mean 'adapter'?"),
        ("3:10", "did you mean 'langgraph'?"),
        ("4:7", "unsafe name"),
        ("7:3", "unknown field 'pipp' in install; did you mean 'pip'?"),
        ("8:9", "item of pip must be one word without blanks, and no option"),
        ("8:42", "item of pip"),
        ("9:9", "unknown field 'inptu' in state; did you mean 'input'?"),
        ("9:34", "output must be names joined by single dots"),
        ("10:7", "OPENAI_BASE_URL is set for every agent"),
        ("10:36", "key of env must be letters, digits and _, no digit first"),
        ("11:12", "leaves the agent's folder"),
        ("11:19", "cannot be writable"),
        ("11:37", "are one in the other"),
        ("11:48", "must be text"),
        ("12:14", "at least 1"),
    ):
        assert [line for line in found if line.startswith(place) and words in line], (place, words, found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fumehood: 1\nadapter: langgraph\nentry: agent.py\n", "entry must be module:name"),
        ("fumehood: 1\nadapter: python\nentry: [agent]\n", "entry must be text: only the adapters"),
        ("fumehood: 1\nadapter: node\nentry: agent.py\n", "entry must be a .js, .cjs or .mjs file"),
        ('fumehood: 1\nadapter: cli\nentry: "say \'x"\n', "entry must be a command"),
        ("fumehood: 1\nadapter: cli\nentry: []\n", "entry must be a command"),
        ("fumehood: 1\nadapter: http\nentry: serve\n", "needs a section 'http'"),
        ("fumehood: 1\nadapter: cli\nentry: run\nstate: {input: x}\n", "'state' is not for the adapter cli"),
        (SMALL + "http: {port: 80}\n", "'http' is not for the adapter python"),
        (SMALL + "install: {requirements: requirments.txt}\n", "did you mean 'requirements.txt'?"),
        (SMALL + "install: {requirements: ../requirements.txt}\n", "no file"),
        (SMALL + 'env: {A: "x\\ny"}\n', "A"),
        (SMALL + "writable: [/tmp/x]\n", "is writable anyway"),
        (SMALL + "base: 'python:3.12\\'\n", "base must be the name of an image"),
        ("fumehood: 1\nadapter: http\nentry: x\nhttp: {port: 1, reset: reboot}\n", "reset must be a path that begins"),
        (SMALL + "entry: again:agent\n", "duplicate key 'entry'"),
        ("fumehood: 1\n", "field 'adapter' is missing"),
        ("", "empty"),
    ],
)
def test_a_manifest_that_cannot_be_meant_is_refused(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("")
    assert said in "\n".join(problems(tmp_path, text))


def test_a_folder_has_a_dockerfile_or_a_manifest_and_not_both(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"neither a Dockerfile nor an agent\.yaml"):
        recipe_of(tmp_path)
    written(tmp_path, SMALL)
    assert recipe_of(tmp_path).files
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")
    with pytest.raises(UsageError, match=r"both a Dockerfile and an agent\.yaml"):
        recipe_of(tmp_path)
    (tmp_path / "agent.yaml").unlink()
    assert recipe_of(tmp_path).files == {}


def test_the_dockerfile_of_a_manifest_is_these_lines(tmp_path: Path) -> None:
    text = """\
        fumehood: 1
        adapter: python
        entry: agent:agent
        base: python:3.11
        install: {apt: [git], requirements: requirements.txt, pip: [x==1, .]}
        env: {B: 'say "$HOME" \\', A: plain}
        writable: [data, /var/lib/app]
        """
    (tmp_path / "requirements.txt").write_text("")
    made = recipe_of(written(tmp_path, text)).dockerfile
    pip = '"python3", "-m", "pip", "install", "--no-cache-dir", "--disable-pip-version-check", "--no-input"'
    assert [line for line in made.splitlines() if not line.startswith(('RUN ["sh"', "ENTRYPOINT"))] == [
        "# Made from agent.yaml by Fumehood.",
        "ARG BASE=python:3.11",
        "FROM ${BASE}",
        "USER 0:0",
        "WORKDIR /app/code",
        'COPY ["code/requirements.txt", "/app/code/requirements.txt"]',
        f'RUN [{pip}, "-r", "requirements.txt"]',
        f'RUN [{pip}, "x==1"]',
        "ENV PYTHONPATH=/app/code:/app PYTHONDONTWRITEBYTECODE=1",
        "CMD []",
        "COPY adapter/ /app/",
        "COPY code/ /app/code/",
        f'RUN [{pip}, "."]',
        'ENV A="plain"',
        'ENV B="say \\"\\$HOME\\" \\\\"',
        "WORKDIR /app",
        "USER 65532:65532",
    ]
    assert made.count('"writable", "/app/code/data", "/var/lib/app"]') == 1


def test_the_same_folder_gives_the_same_bytes_wherever_it_lies(tmp_path: Path) -> None:
    recipes = []
    for name in ("a", "b"):
        folder = tmp_path / name / "agent"
        folder.mkdir(parents=True)
        recipes.append(recipe_of(written(folder, SMALL)))
    assert recipes[0].dockerfile == recipes[1].dockerfile
    assert recipes[0].files == recipes[1].files


def test_values_of_a_dotenv_never_enter_the_build(tmp_path: Path) -> None:
    secret = "sk-live-0123456789"
    (tmp_path / "sub").mkdir()
    for path in (".env", ".env.local", "sub/.env"):
        (tmp_path / path).write_text(f"export OPENAI_API_KEY='{secret}'\nMODE={secret}\nOPENAI_BASE_URL=x\n# note\n")
    (tmp_path / ".env.example").write_text("OPENAI_API_KEY=\n")
    recipe = recipe_of(written(tmp_path, SMALL + "env: {MODE: fast}\n"))
    masked = b'OPENAI_API_KEY="sk-placeholder"\nMODE="fast"\n'
    paths = {path for path in recipe.files if "code/" in path}
    assert paths == {"code/.env", "code/.env.local", "code/sub/.env"}
    assert {recipe.files[path] for path in paths} == {masked}
    assert secret.encode() not in b"".join(recipe.files.values())


WORDS = st.text(
    st.sampled_from("ab\n\r\t\x85\u2028\\'\"$ {}") | st.characters(blacklist_categories=["Cs"]), max_size=20
)


@given(
    adapter=st.sampled_from(sorted(ADAPTERS)),
    entry=WORDS,
    package=WORDS.filter(lambda word: not word.startswith(".")),
    base=WORDS,
    env=st.dictionaries(st.from_regex(r"[A-Z]{1,5}\n?", fullmatch=True), WORDS, max_size=3),
)
def test_no_word_of_a_manifest_becomes_an_instruction(
    adapter: str, entry: str, package: str, base: str, env: dict[str, str]
) -> None:
    """Whatever the loader lets through stays on the line it was put on; each word is tried by itself."""
    plain: dict[str, Any] = {"fumehood": 1, "adapter": adapter, "entry": ["x"], "install": {"pip": ["x"]}}
    lines = dockerfile_of(msgspec.convert(plain, Manifest)).splitlines()
    for more in ({"entry": [entry]}, {"install": {"pip": [package]}}, {"base": base}, {"env": env}):
        try:
            manifest = msgspec.convert({**plain, **more}, Manifest)
        except msgspec.ValidationError:
            continue
        made = dockerfile_of(manifest).splitlines()
        assert len(made) == len(lines) + len(manifest.env)
        assert [line.split()[0] for line in made if not line.startswith("ENV ")] == [
            line.split()[0] for line in lines if not line.startswith("ENV ")
        ]
        assert not made[1].endswith("\\")


@pytest.mark.parametrize("value", ["x\n", "x\ny", "x\u2028", "x\x85"])
@pytest.mark.parametrize("where", ["env", "entry", "base", "pip"])
def test_a_line_break_is_refused_anywhere(where: str, value: str) -> None:
    more: dict[str, Any] = {
        "env": {"env": {"A": value}},
        "entry": {"entry": value},
        "base": {"base": value},
        "pip": {"install": {"pip": [value]}},
    }[where]
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"fumehood": 1, "adapter": "python", "entry": "a:b", **more}, Manifest)


def test_settings_hold_what_the_adapter_needs(tmp_path: Path) -> None:
    text = "fumehood: 1\nadapter: http\nentry: serve --port 80\nname: x\nhttp: {port: 80, reset: restart}\n"
    files = recipe_of(written(tmp_path, text)).files
    settings = json.loads(files["adapter/fumehood_adapter.json"])
    assert settings == {
        "name": "x",
        "entry": ["serve", "--port", "80"],
        "models": [],
        "state": {"input": None, "start": {}, "output": None},
        "http": {"port": 80, "path": "/", "ready": None, "reset": "restart"},
    }
