"""Runs the examples of the README (and of docs/, when there are any) as tests."""

import signal
from doctest import ELLIPSIS

from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(doctest_optionflags=ELLIPSIS), SkipParser()],
    patterns=["README.md", "docs/**/*.md"],
).pytest()

# A shell starts background jobs with Ctrl-C ignored, and every child of a test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
