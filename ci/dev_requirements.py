"""Prints what pyproject.toml asks for, to run and to develop, or for the extra that is named, one a line."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = project["optional-dependencies"]
print(*([*project["dependencies"], *extras["dev"]] if len(sys.argv) == 1 else extras[sys.argv[1]]), sep="\n")
