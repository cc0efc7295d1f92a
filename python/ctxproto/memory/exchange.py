"""Memories as lines of JSON, for people and for other stores.

They carry no vectors. A vector is of one model, longer than most texts, and nobody can see whether it fits its text: a
line that somebody changed would be found where it does not belong. `MemoryStore.embed` makes vectors of the texts.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.errors import ConfigError, InputError
from ctxproto.memory.fields import id_of, ticks
from ctxproto.memory.namespaces import Namespace
from ctxproto.memory.records import EPOCH

if TYPE_CHECKING:
    from ctxproto.memory.fields import Maker
    from ctxproto.memory.namespaces import Scope
    from ctxproto.memory.records import MemoryRecord

__all__ = ["line_of", "rows_of"]


def line_of(record: MemoryRecord) -> str:
    """A memory as a line of an export."""
    fields = {**asdict(record), "namespace": str(record.namespace)}
    line = json.dumps(fields, ensure_ascii=False, default=datetime.isoformat)
    # JSON takes them as they are, but to many readers they end a line.
    return line.translate(_LINE_ENDS)


_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


def rows_of(lines: object, scope: Scope, maker: Maker) -> list[dict[str, Any]]:
    """The rows that the lines of an export hold; `InputError` names the line that is none, or belongs elsewhere."""
    return [_row(at, one, scope, maker) for at, one in enumerate(arguments.several("lines", lines, "str"), 1)]


def _row(at: int, line: object, scope: Scope, maker: Maker) -> dict[str, Any]:
    try:
        row = _read(arguments.text("lines", line), scope, maker)
    except ConfigError as error:
        why = str(error)
    except Exception:  # noqa: BLE001 - the error would show the line
        why = "it is no line of an export"
    else:
        return row
    raise InputError(f"lines: line {at}: {why}")


def _read(line: str, scope: Scope, maker: Maker) -> dict[str, Any]:
    given = json.loads(line)
    times = ("created", "valid_from", "valid_to", "expires")
    moments = {name: None if given[name] is None else datetime.fromisoformat(given[name]) for name in times}
    namespace = Namespace.checked("namespace", given["namespace"])
    if not scope.holds(namespace):
        raise ConfigError("its namespace is not in those that are named")
    created = moments["created"] or EPOCH
    row = maker.row(
        namespace.key,
        **{name: given[name] for name in ("content", "kind", "purpose", "importance", "provenance", "metadata")},
        valid_from=moments["valid_from"],
        valid_to=None,
        ttl=None,
    )
    ends = {name: None if moments[name] is None else ticks(name, moments[name]) for name in ("valid_to", "expires")}
    links = {name: None if given[name] is None else id_of(given[name]) for name in ("supersedes", "superseded_by")}
    return {**row, "id": id_of(given["memory_id"]), "created": ticks("created", created), **ends, **links}
