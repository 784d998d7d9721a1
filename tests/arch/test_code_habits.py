"""The habits of the code that a reader relies on: sizes, docstrings, no print, errors of our own tree."""

from __future__ import annotations

import ast
import builtins
import inspect
import re

import pytest

from harness import errors
from tests.arch.tree import ROOT, Module, modules

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80
MAX_PARAMETERS = 6
BUILTINS_THAT_ARE_WORDS = {"ValueError", "BrokenPipeError", "TimeoutError"}
"""Builtin exceptions raised between neighbours, which one of them catches; the user never sees them."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.where)
def test_module_keeps_the_habits(module: Module) -> None:
    assert habits_broken(module) == []


def habits_broken(module: Module) -> list[str]:
    """Every broken habit of one module, with its line."""
    tree, found = module.syntax, []
    lines = len(module.text.splitlines())
    if lines > MAX_FILE_LINES:
        found.append(f"{module.where}: {lines} lines")
    if module.text.strip() and not ast.get_docstring(tree):
        found.append(f"{module.where}: no module docstring")
    for node in ast.walk(tree):
        at = f"{module.where}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, FUNCTIONS):
            found += [f"{at}: {problem}" for problem in _function_problems(node)]
        elif isinstance(node, ast.Name) and node.id in ("print", "eval", "exec", "breakpoint"):
            found.append(f"{at}: {node.id}")
        elif isinstance(node, ast.ExceptHandler) and node.type is None:
            found.append(f"{at}: except without a type")
    return found


def _function_problems(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    length = (node.end_lineno or 0) - node.lineno + 1
    given = node.args
    count = len([a for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg not in ("self", "cls")])
    problems = []
    if length > MAX_FUNCTION_LINES:
        problems.append(f"{node.name} has {length} lines")
    # A click command's parameters are the command's options, one by one.
    if count > MAX_PARAMETERS and not node.decorator_list:
        problems.append(f"{node.name} has {count} parameters")
    return problems


def test_exceptions_raised_are_of_our_tree() -> None:
    """A local class that is caught where it is raised is fine: it is defined in the same module."""
    wrong = []
    for module in modules():
        tree = module.syntax
        local = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and (name := _class_raised(node)) and name not in local:
                known = name in vars(errors) or name in BUILTINS_THAT_ARE_WORDS
                ours = known or (module.name.startswith("protocol.") and name == "LineError")
                if not ours and not (module.name.startswith("harness.cli.") and name == "UsageError"):
                    wrong.append(f"{module.where}:{node.lineno}: raises {name}")
    assert wrong == []


def _class_raised(node: ast.Raise) -> str | None:
    """The name of the class, where what is raised looks like one: variables and helpers are lower case."""
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    name = getattr(raised, "attr", None) or getattr(raised, "id", None)
    return name if name and (name[0].isupper() or isinstance(getattr(builtins, name, None), type)) else None


def test_the_error_tree_in_the_docstring_is_the_tree_of_classes() -> None:
    assert _drawn() == _defined(errors.FumehoodError)


def _drawn() -> list[tuple[str, str | None, str, str, int]]:
    """(class, its base, code, blame, exit) for each line of the drawing, in its order."""
    parents: list[tuple[int, str]] = []
    rows: list[tuple[str, str | None, str, str, int]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(
            r"(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)\s+(?P<code>\w+)\s+(?P<blame>\w+)\s+(?P<exit>\d)\b", line
        )
        if match:
            depth = len(match["branch"])
            parents = [(d, name) for d, name in parents if d < depth]
            rows.append(
                (
                    match["name"],
                    parents[-1][1] if parents else "FumehoodError",
                    match["code"],
                    match["blame"],
                    int(match["exit"]),
                )
            )
            parents.append((depth, match["name"]))
    return rows


def _defined(base: type[errors.FumehoodError]) -> list[tuple[str, str | None, str, str, int]]:
    rows: list[tuple[str, str | None, str, str, int]] = []
    own = [c for c in vars(errors).values() if inspect.isclass(c) and c.__bases__ == (base,)]
    for each in own:
        rows.append((each.__name__, base.__name__, each.code, each.blame, each.exit_code))
        rows += _defined(each)
    return rows


def test_no_error_class_lives_outside_the_tree() -> None:
    names = {name for name, value in vars(errors).items() if inspect.isclass(value)}
    outside = [
        f"{module.where}:{node.lineno}: {node.name}"
        for module in modules()
        if module.name != "harness.errors"
        for node in ast.walk(module.syntax)
        if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") in names for base in node.bases)
    ]
    assert outside == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('"""Doc."""\nprint(1)', "print"),
        ("x = 1", "no module docstring"),
        ('"""Doc."""\n' + "x = 1\n" * 400, "401 lines"),
        ('"""Doc."""\ndef f():\n' + "    x = 1\n" * 80, "f has 81 lines"),
        ('"""Doc."""\nasync def f(a, b, c, *, d, e, g, h): ...', "f has 7 parameters"),
        ('"""Doc."""\ntry:\n    pass\nexcept:\n    pass', "except without a type"),
    ],
)
def test_a_broken_habit_is_seen(text: str, said: str) -> None:
    broken = habits_broken(Module("harness.x", ROOT / "harness" / "x.py", text))
    assert len(broken) == 1
    assert said in broken[0]
