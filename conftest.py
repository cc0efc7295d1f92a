"""Runs the examples of the README (and of docs/, when there are any) as tests."""

import os
import signal
from doctest import ELLIPSIS
from pathlib import Path

import pytest
from hypothesis import settings
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS), SkipParser()],
    patterns=["README.md", "docs/**/*.md"],
).pytest()

# A shell starts background jobs with Ctrl-C ignored, and every child of a test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The same cases in every run, so that a change is judged by what it did; `make soak` draws new ones.
settings.register_profile("fixed", derandomize=True, database=None)
settings.register_profile("soak", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The directory of real data; tests that need it are skipped where there is none."""
    path = Path(os.environ.get("CTXPROTO_CORPORA") or Path(__file__).parent / "../shared/corpora").resolve()
    if not path.is_dir():
        pytest.skip(f"no corpora at {path}: set CTXPROTO_CORPORA")
    return path
