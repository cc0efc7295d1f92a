"""The fixture `assert_context_clean`, for tests of agents; pytest finds it by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["assert_context_clean"]


@pytest.fixture(scope="session")
def assert_context_clean() -> Callable[..., None]:
    """A function that fails the test when a context holds secrets, and says where, without a character of them.

    It takes the messages, and patterns in the place of the default ones; see `ContextDebugKit.find_secrets`.
    """

    def check(context: Iterable[Mapping[str, Any]], patterns: Iterable[tuple[str, str]] | None = None) -> None:
        __tracebackhide__ = True
        from ctxproto.debug import ContextDebugKit, told

        leaks = ContextDebugKit.find_secrets(context, patterns)
        if leaks:
            pytest.fail(
                "\n".join(["the context holds secrets:", *(f"  {told(leak)}" for leak in leaks)]), pytrace=False
            )

    return check
