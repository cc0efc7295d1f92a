"""What every test of the command line starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cli_support import Cli, Tokens

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line, in an empty directory."""
    return Cli(tmp_path)


@pytest.fixture
def token() -> Tokens:
    """Makes a new secret at each call."""
    return Tokens(7)
