"""The source tree as syntax trees: every module, and every import in it, also those inside functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Module:
    """One source file; `name` is dotted, a package is named after its folder."""

    name: str
    path: Path
    text: str

    @property
    def where(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text, str(self.path))


@dataclass(frozen=True)
class Import:
    """One imported module, as a dotted name; what is imported from it is not in it unless it is a module."""

    module: Module
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.module.where}:{self.line}: {self.module.name} imports {self.name}"


@cache
def modules() -> tuple[Module, ...]:
    """All of `harness` and `protocol`; compiled data and templates are no modules."""
    paths = sorted(path for top in ("harness", "protocol") for path in (ROOT / top).rglob("*.py"))
    found = tuple(Module(_dotted(path), path, path.read_text()) for path in paths if "_data" not in path.parts)
    assert len(found) > 80, "the tree was not found"
    return found


@cache
def imports() -> tuple[Import, ...]:
    found = tuple(each for module in modules() for each in imports_of(module))
    assert len(found) > 300, "the imports were not found"
    return found


def imports_of(module: Module) -> Iterator[Import]:
    """Every import statement, at any depth, `TYPE_CHECKING` blocks too."""
    for node in ast.walk(module.syntax):
        if isinstance(node, ast.Import):
            yield from (Import(module, node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(module, node)
            for alias in node.names:
                name = f"{base}.{alias.name}"
                yield Import(module, node.lineno, name if _is_module(name) else base)


def within(name: str, *packages: str) -> bool:
    """`name` is one of `packages` or below one."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _absolute(module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    kept = parts[: len(parts) - node.level + (module.path.name == "__init__.py")]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return name.split(".")[0] in ("harness", "protocol") and (path.with_suffix(".py").is_file() or path.is_dir())
