"""Artifact stores of any make: what they raise would quote keys and hosts, and is told without that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ctxproto.errors import ArtifactError, ConfigTypeError, CtxprotoError, shown

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["checked_store", "fetched", "stored"]


def checked_store(argument: str, store: Any) -> Any:  # noqa: ANN401 - a store of any make
    """Something that artifacts can be read from; `argument` is named in the error."""
    if issubclass(type(store), Mapping) or callable(getattr(type(store), "read", None)):
        return store
    raise ConfigTypeError(f"{argument} has a read(pointer), or is a mapping; this is {shown(store)}")


def fetched(store: Any, pointer: str) -> Any:  # noqa: ANN401 - JSON as text or parsed, or any text
    """What a store has under a pointer.

    Raises:
        ArtifactError: Nothing (`absent`), or the store failed, or would have to be awaited.
    """
    value, told, absent = None, "", False
    try:
        value = store.get(pointer) if isinstance(store, Mapping) else store.read(pointer)
    except ArtifactError as error:
        told, absent = str(error), error.absent
    except (KeyError, FileNotFoundError):
        absent = True
    except Exception as error:  # noqa: BLE001 - whatever a stranger's store raises
        told = f"its store failed ({type(error).__name__})"
    else:
        told = _awaited(value, "read")
        absent = value is None
    if told or absent:
        problem = ArtifactError(told or "its store has nothing under its pointer")
        problem.absent = absent
        raise problem
    return value


def stored(save: Callable[..., Any], key: str, value: Any) -> None:  # noqa: ANN401 - any artifact
    """Calls a store's `save`.

    Raises:
        ArtifactError: It failed, or would have to be awaited.
    """
    told = ""
    try:
        told = _awaited(save(key, value), "save")
    except CtxprotoError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a stranger's store raises
        told = f"its store failed ({type(error).__name__})"
    if told:
        raise ArtifactError(f"the artifact was not stored: {told}")


def _awaited(outcome: object, method: str) -> str:
    """What is wrong with an outcome that is still to come: nobody would wait for it."""
    if not hasattr(type(outcome), "__await__"):
        return ""
    if callable(close := getattr(outcome, "close", None)):
        close()
    return f"its store's {method}() is a coroutine, and nobody waits for it"
