"""The boundary itself: what `_core` shows, how it is declared, and what it does when given nonsense."""

from __future__ import annotations

import contextlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import ctxproto
import pytest
from ctxproto import BudgetError, ConfigError, CtxprotoError, Finding, Redactor, _core
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_text, json_values, random_token

ROOT = Path(__file__).parent.parent


def public(module: Any) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


def test_every_core_symbol_is_used_or_private() -> None:
    source = "".join(path.read_text("utf-8") for path in Path(ctxproto.__file__).parent.rglob("*.py"))
    for name in public(_core):
        assert re.search(rf"\b{name}\b", source), f"{name} is reached from nowhere"
        if name in ctxproto.__all__:
            native, shown = getattr(_core, name), getattr(ctxproto, name)
            assert shown is native or issubclass(shown, native)


def test_all_is_complete_and_sorted() -> None:
    # What pytest puts into the modules of its plugins begins with an @.
    named = {name for name in public(ctxproto) if not name.startswith("@")}
    parts = {name for name in named if isinstance(getattr(ctxproto, name), ModuleType)}
    assert set(ctxproto.__all__) == named - parts | {"__version__"}
    assert ctxproto.__all__ == sorted(ctxproto.__all__)


def test_every_pyclass_is_frozen() -> None:
    declared = [
        (path.name, attribute)
        for path in (ROOT / "rust/py/src").glob("*.rs")
        for attribute in re.findall(r"#\[pyclass(.*?)\]\s*\n", path.read_text("utf-8"), re.DOTALL)
    ]
    assert len(declared) >= 5
    assert [one for one in declared if "frozen" not in one[1]] == []


@pytest.mark.parametrize("name", sorted({*ctxproto.__all__} - {"__version__"}))
def test_everything_public_says_what_it_is(name: str) -> None:
    thing = getattr(ctxproto, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing) and not issubclass(thing, Exception):
        told = inspect.getdoc(thing) or ""
        for member in public(thing):
            # A field is told with the class's arguments.
            field = re.search(rf"^ +(\w+, )*{member}(, \w+)*:", told, re.MULTILINE)
            assert field or inspect.getdoc(inspect.getattr_static(thing, member)), member


def test_one_error_tree() -> None:
    errors = [thing for thing in vars(ctxproto.errors).values() if inspect.isclass(thing)]
    assert {error.__name__ for error in errors} == set(ctxproto.errors.__all__)
    for error in errors:
        assert issubclass(error, CtxprotoError)
        assert error is CtxprotoError or len(error.__mro__) > len(CtxprotoError.__mro__) + 1, "and a builtin"
        assert getattr(ctxproto, error.__name__) is error


def test_version_is_the_same_everywhere() -> None:
    manifest = (ROOT / "Cargo.toml").read_text("utf-8")
    assert f'version = "{ctxproto.__version__}"' in manifest
    assert _core.__version__ == ctxproto.__version__ == ctxproto.build_info()["version"]


def test_core_of_another_version_is_refused(tmp_path: Path) -> None:
    package = tmp_path / "ctxproto"
    shutil.copytree(Path(ctxproto.__file__).parent, package)
    init = package / "__init__.py"
    init.write_text(init.read_text("utf-8").replace(f'"{ctxproto.__version__}"', '"99.0.0"'), "utf-8")
    script = "import sys; sys.path.insert(0, sys.argv[1]); import ctxproto"
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("ctxproto.errors.VersionError: ctxproto 99.0.0 cannot use the native core ")
    assert "reinstall ctxproto" in message


class Hostile:
    """Answers every protocol with an exception or a lie."""

    def refuse(self, *_: object) -> Any:
        raise ValueError("hostile")

    __len__ = __iter__ = __getitem__ = __str__ = __repr__ = __index__ = __bool__ = __eq__ = refuse
    __hash__ = None  # type: ignore[assignment]


class EndlessSequence:
    def __len__(self) -> int:
        return -1

    def __getitem__(self, index: int) -> str:
        if index > 50:
            raise KeyError(index)
        return "text"


class Shrinking(list[Any]):
    """Loses its items to whoever looks at one."""

    def __iter__(self) -> Any:
        for item in list(self):
            self.clear()
            yield item


anything = st.one_of(
    json_values,
    any_text,
    st.binary(max_size=30),
    st.binary(max_size=30).map(bytearray),
    st.binary(max_size=30).map(lambda data: memoryview(data)),
    st.integers(-(2**80), 2**80),
    st.floats(),
    st.sampled_from(
        [Hostile, Hostile(), EndlessSequence(), Shrinking(["a", "b"]), object(), type, print, ..., iter([1]), set()]
    ),
    st.just(random_token(5)),
    st.lists(any_text, max_size=3),
)

LOOKUP = _core.Lookup.read('{"a": [{"b": 1}]}')
assert LOOKUP is not None

REDACTOR = Redactor()
ENCODING = _core.Encoding("o200k_base")
FLUSHER = _core.Flusher(ENCODING, {"history": "auto", "tool_results": "auto"}, REDACTOR)


def flush(*args: Any, **kwargs: Any) -> Any:
    """With anything as messages, and in them."""
    told = {"role": "user", "tool_calls": args, "tool_call_id": None, **kwargs}
    made = [{"role": role, "content": one} for one in args for role in ("user", "assistant", "tool")]
    for messages in ([*args], [told], made, made * 20):
        try:
            FLUSHER.flush(messages, None, {"history": 3}, 300, 0, stride=0, cached=0)
        except (ConfigError, BudgetError):
            _core.count_messages(messages, [*args], ENCODING)


CALLABLES: dict[str, Any] = {
    "build_info": _core.build_info,
    "_panic": _core._panic,
    "Redactor": _core.Redactor,
    "Finding": Finding,
    "Rule": _core.Rule,
    "Stream": _core.Stream,
    "Redaction": _core.Redaction,
    "redact": REDACTOR.redact,
    "scan": REDACTOR.scan,
    "redact_many": REDACTOR.redact_many,
    "redact_json": REDACTOR.redact_json,
    "stream": REDACTOR.stream,
    "feed": lambda *args, **kwargs: REDACTOR.stream().feed(*args, **kwargs),
    "Vault": ctxproto.Vault,
    "restore": ctxproto.Vault().restore,
    "BatchProgress": _core.BatchProgress,
    "FileReport": _core.FileReport,
    "run_batch": _core.run_batch,
    "rules_test": _core.rules_test,
    "_rule_example": _core._rule_example,
    "run_filter": _core.run_filter,
    "read_text": _core.read_text,
    "Encoding": _core.Encoding,
    "Counter": lambda *args, **kwargs: ENCODING.counter().feed(*args, **kwargs),
    "count": ENCODING.count,
    "count_many": ENCODING.count_many,
    "encode": ENCODING.encode,
    "decode": ENCODING.decode,
    "limit": ENCODING.limit,
    "limit_by": _core.limit_by,
    "count_messages": _core.count_messages,
    "Flusher": _core.Flusher,
    "Flusher.flush": flush,
    "Trimming": _core.Trimming,
    "trim": _core.Trimming("auto", 100, ENCODING).trim,
    "Lookup": _core.Lookup.read,
    "Lookup.find": LOOKUP.find,
    "judge": _core.judge,
    "judged_length": _core.judged_length,
    "Records": lambda *args, **kwargs: _core.Records(None, *args, **kwargs),
    "Records.insert": _core.Records(None, 0.0).insert,
    "Records.search": lambda *args, **kwargs: _core.Records(None, 0.0).search(b"", True, *args, **kwargs),
    "memory_words": _core.memory_words,
    "query_words": _core.query_words,
    # Alone, the first would hold back all calls to stores.
    "before_fork": lambda *args: [call(*args) for call in (_core.before_fork, _core.after_fork)],
    "after_fork": _core.after_fork,
    "TrimStream": lambda *args, **kwargs: _core.Trimming("lines", 100, ENCODING).stream().feed(*args, **kwargs),
}


def test_no_callable_was_forgotten() -> None:
    methods = {name for name in public(_core.Redactor) if callable(getattr(_core.Redactor, name))}
    top = {name for name in vars(_core) if callable(getattr(_core, name)) and not name.startswith("__")}
    assert methods | top <= set(CALLABLES)


@pytest.mark.parametrize("name", CALLABLES)
@given(
    args=st.lists(anything, max_size=3), kwargs=st.dictionaries(st.sampled_from(["format", "text", "key"]), anything)
)
def test_nonsense_is_an_ordinary_error(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Whatever comes in: a result or an Exception, never a panic, never a crash."""
    with contextlib.suppress(Exception):  # but no BaseException, which PanicException is
        try:
            CALLABLES[name](*args, **kwargs)
        except (ctxproto.InternalError, SystemError) as bug:
            if name != "_panic":
                raise BaseException(f"{name} has a bug") from bug


def test_classes_that_only_come_as_results() -> None:
    for made in (_core.Redaction, _core.Stream, _core.Rule):
        with pytest.raises(TypeError, match=r"(?i)no constructor|cannot create"):
            made()


def test_names_are_loaded_when_they_are_asked_for() -> None:
    code = """
import sys, ctxproto
assert "ctxproto.protocol" not in sys.modules and "ctxproto.memory.store" not in sys.modules
assert set(ctxproto.__all__) <= set(dir(ctxproto))
from ctxproto import *
assert ContextProtocol is ctxproto.ContextProtocol and MemoryStore is ctxproto.MemoryStore
assert not hasattr(ctxproto, "nothing_of_the_kind")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
