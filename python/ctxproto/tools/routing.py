"""Each result to its call, whatever the order in which results come."""

from __future__ import annotations

import enum
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, RoutingError, shown
from ctxproto.tools.calls import ToolCallRequest
from ctxproto.tools.envelope import ToolResultEnvelope

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Delivery", "ToolCallRouter"]


class Delivery(enum.StrEnum):
    """What became of a delivered result."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    """The call has a result already; the first one stays."""
    LATE = "late"
    """The call is of a turn that is over."""
    UNKNOWN = "unknown"
    """No call has this id."""


@dataclass(slots=True)
class _Slot:
    call: ToolCallRequest
    envelope: ToolResultEnvelope | None = None


class ToolCallRouter:
    """Knows the calls a model made in one turn and takes their results in any order, from threads and tasks.

    `expect` begins a turn with the calls of an assistant message, `deliver` takes a result, `chunks` gives the tool
    messages in the order of the calls, one for each, as every API wants them. All methods may be called from any
    thread.

    Args:
        envelope: Makes the envelope of a result, with the id of its call, from the call and the raw value; by default
            trimmed to `max_tokens` by the `auto` strategy, and redacted.
        max_tokens: Tokens each result may take.

    Raises:
        ConfigError: An argument is not as it must be.

    >>> router = ToolCallRouter()
    >>> calls = router.expect([ToolCallRequest("a", "ping"), ToolCallRequest("b", "uptime")])
    >>> router.deliver("b", "up 3 days"), router.deliver("b", "up 4 days"), router.deliver("x", "?")
    (<Delivery.ACCEPTED: 'accepted'>, <Delivery.DUPLICATE: 'duplicate'>, <Delivery.UNKNOWN: 'unknown'>)
    >>> [call.id for call in router.missing]
    ['a']
    >>> router.deliver("a", "pong")
    <Delivery.ACCEPTED: 'accepted'>
    >>> [(chunk["tool_call_id"], chunk["content"]) for chunk in router.chunks()]
    [('a', 'pong'), ('b', 'up 3 days')]
    """

    def __init__(
        self,
        envelope: Callable[[ToolCallRequest, Any], ToolResultEnvelope] | None = None,
        *,
        max_tokens: int = 2000,
    ) -> None:
        most = arguments.number("max_tokens", max_tokens, 1)
        if envelope is not None and not callable(envelope):
            raise ConfigTypeError(f"envelope is a function of a call and a value, not {shown(envelope)}")
        self._make = envelope or (lambda call, raw: ToolResultEnvelope(call.id, raw, most))
        self._turns = 0
        self._lock = threading.Condition()
        self._slots: list[_Slot] = []
        self._closed = True
        self._past: set[str] = set()
        self._problems: list[tuple[str, Delivery]] = []

    def expect(self, message: object) -> list[ToolCallRequest]:
        """Begins a turn with the calls of an assistant message, or of a list with calls in it; returns them.

        A call without an id, as Gemini's are, gets one that no other turn of this router has.

        Raises:
            RoutingError: Calls of the turn before have no result yet: `chunks` ends a turn.
            InputTypeError: What is no tool call stands among them.
        """
        calls = ToolCallRequest.parse_all(message)
        with self._lock:
            if not self._closed and self._slots:
                raise RoutingError(f"the turn before is not over: {self._tell_missing() or 'chunks() was not called'}")
            self._turns += 1
            for at, call in enumerate(calls):
                call.id = call.id or f"call_{self._turns}_{at}"
            self._past.update(slot.call.id for slot in self._slots)
            self._slots = [_Slot(call) for call in calls]
            self._closed = False
        return calls

    def deliver(self, call: str | ToolCallRequest, result: object, *, is_error: bool = False) -> Delivery:
        """Takes the result of a call and says what became of it.

        Args:
            call: The call's id, or the call itself: calls of one turn that share an id can only be told apart so. By
                id, a result goes to the first of them that has none.
            result: Any value; an exception is an error result.
            is_error: The tool failed: the model is told so.

        Raises:
            ConfigError: `envelope` made none, or one for another call. The call goes on waiting.
        """
        with self._lock:
            slots = [slot for slot in self._slots if slot.call is call or slot.call.id == call]
            open_slot = next((slot for slot in slots if slot.envelope is None), None)
            if open_slot is None or self._closed:
                name = call.id if isinstance(call, ToolCallRequest) else str(call)
                answered = bool(slots) and open_slot is None
                late = bool(slots) or name in self._past
                verdict = Delivery.DUPLICATE if answered else Delivery.LATE if late else Delivery.UNKNOWN
                self._problems.append((name, verdict))
                return verdict
            open_slot.envelope = self._made(open_slot.call, result, is_error=is_error)
            self._lock.notify_all()
            return Delivery.ACCEPTED

    @property
    def missing(self) -> list[ToolCallRequest]:
        """The calls of the turn that have no result yet, in their order."""
        with self._lock:
            return [slot.call for slot in self._slots if slot.envelope is None]

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until every call has its result, for `timeout` seconds at most; whether they have."""
        with self._lock:
            return self._lock.wait_for(lambda: all(slot.envelope for slot in self._slots), timeout)

    def chunks(self, *, missing: str | None = None) -> list[dict[str, Any]]:
        """The tool messages of the turn, one for each call and in their order; the turn is over then.

        Args:
            missing: What the model reads as the (error) result of a call that has none, such as "timed out".

        Raises:
            RoutingError: A call has no result, and `missing` is not given. The turn goes on.
            BudgetError: A result cannot be made to fit. The turn goes on.
        """
        with self._lock:
            if missing is None and (told := self._tell_missing()):
                raise RoutingError(told)
            envelopes = [slot.envelope or self._made(slot.call, missing, is_error=True) for slot in self._slots]
            rendered = [envelope.to_context_chunk() for envelope in envelopes]
            # Nothing fails from here on: the turn is over, or as it was.
            for slot, envelope in zip(self._slots, envelopes, strict=True):
                slot.envelope = envelope
            self._closed = True
            return rendered

    def audit_report(self) -> dict[str, Any]:
        """What became of every call and of every result that had none; no content.

        Returns a dict of "calls" (id, name, status, and the envelope's own report) and "stray" (id and verdict of
        each result that was not accepted, oldest first).
        """
        with self._lock:
            calls = [
                {
                    "tool_call_id": slot.call.id,
                    "name": slot.call.name,
                    "status": "missing" if slot.envelope is None else "error" if slot.envelope.is_error else "done",
                    "problem": slot.call.problem,
                    "report": slot.envelope.audit_report() if slot.envelope else None,
                }
                for slot in self._slots
            ]
            stray = [{"tool_call_id": name, "delivery": verdict.value} for name, verdict in self._problems]
            return {"calls": calls, "stray": stray}

    def _made(self, call: ToolCallRequest, result: object, *, is_error: bool) -> ToolResultEnvelope:
        envelope = self._make(call, result)
        if not isinstance(envelope, ToolResultEnvelope):
            raise ConfigTypeError(f"envelope makes a ToolResultEnvelope, not {shown(envelope)}")
        if envelope.tool_call_id != call.id:
            raise ConfigError("envelope made the result of another call: its tool_call_id is not the id of the call")
        if is_error:
            envelope.is_error = True
        return envelope

    def _tell_missing(self) -> str:
        lost = [slot.call for slot in self._slots if slot.envelope is None]
        names = ", ".join(f"{call.id} ({call.name})" for call in lost[:8]) + (" ..." if len(lost) > 8 else "")
        return f"{len(lost)} of {len(self._slots)} calls have no result: {names}" if lost else ""
