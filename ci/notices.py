"""Writes THIRD_PARTY_NOTICES.md: the crates that are linked into the binary, and their licences.

Fails on a licence that is not on the list of those that may be shipped. With --check, fails when the file is not
what would be written.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

NOTICES = Path("THIRD_PARTY_NOTICES.md")
BEGIN = "<!-- crates:begin -->"
END = "<!-- crates:end -->"

ALLOWED = {
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
}

# All platforms count, not only the one this runs on.
ROOT = "ctxproto-py"


def metadata() -> dict[str, Any]:
    """The whole dependency graph, for every platform."""
    command = ["cargo", "metadata", "--locked", "--format-version=1"]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def linked(graph: dict[str, Any]) -> list[dict[str, Any]]:
    """The crates that end in the binary: normal dependencies, no build scripts, no macros."""
    packages = {package["id"]: package for package in graph["packages"]}
    nodes = {node["id"]: node for node in graph["resolve"]["nodes"]}
    todo = [package["id"] for package in graph["packages"] if package["name"] == ROOT]
    seen = set(todo)
    while todo:
        for dependency in nodes[todo.pop()]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            package = packages[dependency["pkg"]]
            macro = any("proc-macro" in target["kind"] for target in package["targets"])
            if None in kinds and not macro and package["id"] not in seen:
                seen.add(package["id"])
                todo.append(package["id"])
    others = [packages[one] for one in seen if packages[one]["source"]]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def allowed(licence: str) -> bool:
    """Whether an SPDX expression offers a way that is on the list."""

    def judge(node: ast.expr) -> bool:
        if isinstance(node, ast.BoolOp):
            return (all if isinstance(node.op, ast.And) else any)(map(judge, node.values))
        return isinstance(node, ast.Constant) and node.value in ALLOWED

    # Written as Python, whose and, or and brackets mean the same.
    operators = {"AND": "and", "OR": "or", "/": "or"}
    words = re.findall(r"[()/]|[^()/\s]+(?:\s+WITH\s+[^()/\s]+)?", licence) or [""]
    python = " ".join(word if word in "()" and word else operators.get(word, repr(word)) for word in words)
    return judge(ast.parse(python, mode="eval").body)


def table(crates: list[dict[str, Any]]) -> str:
    """The crates as a Markdown table."""
    rows = ["| crate | version | licence | copyright |", "| --- | --- | --- | --- |"]
    rows += [f"| {crate['name']} | {crate['version']} | {crate['license']} | {holders(crate)} |" for crate in crates]
    return "\n".join(rows)


def holders(crate: dict[str, Any]) -> str:
    """The copyright lines of a crate's licence files, or its authors where those name nobody."""
    files = sorted(Path(crate["manifest_path"]).parent.glob("LICEN[CS]E*"))
    lines = [line.strip() for file in files if file.is_file() for line in file.read_text("utf-8").splitlines()]
    # Some lines end with the year, as if it were plain who wrote the crate.
    found = dict.fromkeys(
        re.sub(r"(\d)$", rf"\1 the {crate['name']} developers", line.rstrip("."))
        for line in lines
        if re.match(r"Copyright (\(c\)|\d)", line, re.IGNORECASE)
    )
    authors = [re.sub(r"\s*<[^>]*>", "", author) for author in crate["authors"]]
    return "; ".join(found) or ", ".join(authors) or f"the {crate['name']} developers"


def main() -> int:
    """Writes or checks the notices."""
    crates = linked(metadata())
    refused = [crate for crate in crates if not allowed(crate["license"] or "")]
    for crate in refused:
        print(
            f"{crate['name']} {crate['version']}: licence {crate['license']} is not on the list",
            file=sys.stderr,
        )
    old = NOTICES.read_text(encoding="utf-8")
    head, rest = old.split(BEGIN)
    new = f"{head}{BEGIN}\n{table(crates)}\n{END}{rest.split(END)[1]}"
    if "--check" in sys.argv[1:]:
        if new != old:
            print(f"{NOTICES} is out of date: run python ci/notices.py", file=sys.stderr)
            return 1
    else:
        NOTICES.write_text(new, encoding="utf-8")
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
