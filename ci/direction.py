"""Checks who may depend on whom (the layers of the design), in Rust and in Python.

Exits 1 and names every edge that points the wrong way.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# Each crate with the crates of ours that it may use.
CRATES = {
    "ctxproto-text": set[str](),
    "ctxproto-detect": {"ctxproto-text"},
    "ctxproto-redact": {"ctxproto-text", "ctxproto-detect"},
    "ctxproto-tokens": set[str](),
    "ctxproto-trim": {"ctxproto-text", "ctxproto-detect", "ctxproto-redact", "ctxproto-tokens"},
    "ctxproto-budget": {"ctxproto-trim"},
    "ctxproto-batch": {"ctxproto-text", "ctxproto-detect", "ctxproto-redact"},
    "ctxproto-memory": set[str](),
    "ctxproto-py": {
        "ctxproto-text",
        "ctxproto-detect",
        "ctxproto-redact",
        "ctxproto-tokens",
        "ctxproto-trim",
        "ctxproto-budget",
        "ctxproto-batch",
        "ctxproto-memory",
    },
}
PYTHON_CRATE = "ctxproto-py"

# From the bottom up: a part imports from parts before it, and from itself.
LAYERS = [
    *[
        "_core",
        "errors",
        "arguments",
        "tokens",
        "messages",
        "tools",
        "budget",
        "memory",
        "tasks",
        "audit",
        "assembly",
        "recall",
    ],
    *["protocol", "async_protocol", "telemetry", "debug", "pytest_plugin", "config", "cli"],
]
PACKAGE = Path("python/ctxproto")


def crate_edges() -> Iterator[str]:
    """Yields what is wrong with the dependencies between crates."""
    metadata = json.loads(
        subprocess.run(
            ["cargo", "metadata", "--locked", "--no-deps", "--format-version=1"],
            check=True,
            capture_output=True,
        ).stdout
    )
    for package in metadata["packages"]:
        name = package["name"]
        if name not in CRATES:
            yield f"Cargo: {name} has no place in ci/direction.py"
            continue
        for dependency in package["dependencies"]:
            target = dependency["name"]
            if target in CRATES and target not in CRATES[name] and dependency["kind"] != "dev":
                yield f"Cargo: {name} may not depend on {target}"
            if target.startswith("pyo3") and name != PYTHON_CRATE:
                yield f"Cargo: {name} may not know Python, only {PYTHON_CRATE} may ({target})"
    # What comes in through others counts as well.
    tree = subprocess.run(
        ["cargo", "tree", "--locked", "--edges=normal", "--invert=pyo3", "--depth=1", "--prefix=none"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split("\n")[1:]
    for user in {line.split(" ")[0] for line in tree if line}:
        if user != PYTHON_CRATE:
            yield f"Cargo: {user} brings in pyo3, only {PYTHON_CRATE} may"


def import_edges() -> Iterator[str]:
    """Yields what is wrong with the imports between parts of the Python package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        if part not in LAYERS:
            yield f"{path}: {part} has no place in ci/direction.py"
            continue
        for line, target in imports(path):
            if target not in LAYERS:
                # `ctxproto` itself, the face of the package, is for those outside; the command line is one.
                if part != "cli":
                    yield f"{path}:{line}: imports the package from inside"
            elif LAYERS.index(target) > LAYERS.index(part):
                yield f"{path}:{line}: {part} may not import {target}, which stands above it"


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yields line and part for each import of our own package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "(relative import)"
            elif node.module == "ctxproto":
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif node.module and node.module.startswith("ctxproto."):
                yield node.lineno, node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "ctxproto":
                    yield node.lineno, [*alias.name.split("."), ""][1]


if __name__ == "__main__":
    wrong = [*crate_edges(), *import_edges()]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    sys.exit(bool(wrong))
