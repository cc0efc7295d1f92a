"""Prints what pyproject.toml asks for, to run and to develop, one requirement a line."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
print(*project["dependencies"], *project["optional-dependencies"]["dev"], sep="\n")
