"""What one step of a task hands to the next: references to artifacts, and the fields that are asked of them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from ctxproto import _core, arguments
from ctxproto.errors import (
    ArtifactError,
    ConfigTypeError,
    InputError,
    InputTypeError,
    InternalError,
    MissingFieldError,
    SchemaVersionError,
    shown,
)
from ctxproto.tasks.stores import ArtifactStore
from ctxproto.tools import values
from ctxproto.tools.redact import Redactor, default_redactor

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

__all__ = ["ArtifactRef", "DeclaredFields", "Readable", "TaskStateEnvelope"]

Missing: TypeAlias = Literal["report", "error"]


@runtime_checkable
class Readable(Protocol):
    """What an envelope needs of an artifact store."""

    def read(self, pointer: str, /) -> Any:  # noqa: ANN401 - JSON as text or parsed, or any text
        """Returns the artifact, or None when there is none."""
        ...


@dataclass
class ArtifactRef:
    """A pointer to an artifact, with what is to be known without reading it (seed 000, section 5).

    Args:
        artifact_id: Its id in the envelope.
        artifact_type: What it is: "search_results", "extraction", "analysis", "chart".
        pointer: Where it is: what the store's `read` takes, such as an `artifact://` URI, a path, a key.
        summary: What a model may read of it.
        size_bytes: Its size.
        schema_keys: The fields it has.
        metadata: What else there is to say.
    """

    artifact_id: str
    artifact_type: str
    pointer: str
    summary: str
    size_bytes: int
    schema_keys: list[str] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)


class DeclaredFields(dict[str, Any]):
    """The fields that were found, by the names that were asked for; and what was not.

    Attributes:
        missing: The names that are in no artifact that could be read.
        problems: Artifacts that had to be read and could not be.
        sources: Where each field comes from: the artifact's id and the place in it, such as `results[0].cagr`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.missing: tuple[str, ...] = ()
        self.problems: list[ArtifactError] = []
        self.sources: dict[str, tuple[str, str]] = {}

    @property
    def complete(self) -> bool:
        """Whether all was found and nothing stood in the way."""
        return not self.missing and not self.problems


class TaskStateEnvelope:
    """Carries state from step to step: pointers and summaries, never the artifacts (seed 000, section 5).

    A step adds what it produced; the next one asks for the fields it needs. Artifacts are read when a field is asked
    for, once, in their order, and no further than to the last field; they are redacted on that way, not where they are
    kept. Fields are names or paths, as `Trimmer` has them: `user.name`, `items[0].id`, `items.*.id`.

    Args:
        task_id: The task.
        parent_task_id: The task that it is a part of.
        artifact_store: Where artifacts are read from: anything with `read(pointer)`, or a mapping.
        redactor: What fields go through; the default policy unless given.

    Raises:
        ConfigError: An argument is not as it must be.

    >>> store = {"s3://b/results.json": '{"query": "q", "results": [{"market_size": "$832B", "cagr": "18.4%"}]}'}
    >>> state = TaskStateEnvelope("market_research_01", artifact_store=store)
    >>> ref = state.add_artifact("search_results", "s3://b/results.json", "40 analyst reports", 15000, ["cagr"])
    >>> state.declare_fields(["market_size", "cagr"])
    {'market_size': '$832B', 'cagr': '18.4%'}
    >>> state.declare_fields(["region"]).missing
    ('region',)
    """

    def __init__(
        self,
        task_id: str,
        parent_task_id: str | None = None,
        *,
        artifact_store: Readable | Mapping[str, Any] | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.task_id = arguments.text("task_id", task_id)
        self.parent_task_id = None if parent_task_id is None else arguments.text("parent_task_id", parent_task_id)
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(redactor)}")
        self.artifacts: list[ArtifactRef] = []
        self.metadata: dict[str, Any] = {"created_at": datetime.now().isoformat(), "version": 1, "producer": None}
        self._artifact_store: Any = None if artifact_store is None else checked_store("artifact_store", artifact_store)
        self._redactor = redactor
        self._resolved_cache: dict[str, _Document] = {}

    def add_artifact(
        self, artifact_type: str, pointer: str, summary: str, size_bytes: int, schema_keys: Iterable[str] | None = None
    ) -> str:
        """Registers an artifact that is stored already; returns its id in the envelope."""
        kind = arguments.text("artifact_type", artifact_type)
        ref = ArtifactRef(
            artifact_id=f"{self.task_id}:{kind}:{uuid.uuid4().hex[:8]}",
            artifact_type=kind,
            pointer=arguments.text("pointer", pointer),
            summary=arguments.text("summary", summary),
            size_bytes=arguments.number("size_bytes", size_bytes, 0),
            schema_keys=[] if schema_keys is None else arguments.strings("schema_keys", schema_keys),
        )
        self.artifacts.append(ref)
        return ref.artifact_id

    def store_artifact(self, artifact_type: str, value: Any, summary: str) -> str:  # noqa: ANN401 - any artifact
        """Stores an artifact and registers it, with its size and the fields at its top; returns its id in the envelope.

        An `ArtifactStore` is given the value and gives its URI; any other store takes it by `save(key, value)`.

        Raises:
            ArtifactError: There is no store that takes it, or it failed.
            InputTypeError: The store has no form for it.
        """
        kind, told = arguments.text("artifact_type", artifact_type), arguments.text("summary", summary)
        text = values.serialize(value)
        keys = list(map(str, value)) if isinstance(value, Mapping) else []
        if isinstance(self._artifact_store, ArtifactStore):
            pointer = self._artifact_store.put(value)
        elif callable(save := getattr(self._artifact_store, "save", None)):
            pointer = f"{self.task_id}:{kind}:{uuid.uuid4().hex}"
            save(pointer, value)
        else:
            raise ArtifactError("the envelope has no store with a save(): give it one, or use add_artifact")
        return self.add_artifact(kind, pointer, told, len(text.encode("utf-8", "surrogatepass")), keys)

    def check_version(self, known: int | Iterable[int]) -> None:
        """Refuses state of a version that its reader does not know.

        Raises:
            SchemaVersionError: `metadata["version"]` is none of `known`.
        """
        one = issubclass(type(known), int) and not isinstance(known, bool)
        given = [known] if one else arguments.several("known", known, "int")
        numbers = [arguments.number(f"known[{at}]", number, 0) for at, number in enumerate(given)]
        found = self.metadata.get("version")
        if found not in numbers or isinstance(found, bool):
            version = found if isinstance(found, int) else None
            told = version if version is not None else shown(found)
            expected = ", ".join(map(str, numbers)) or "none"
            raise SchemaVersionError(f"the task's state is of version {told}, known is {expected}", version)

    def declare_fields(
        self,
        field_names: Iterable[str],
        *,
        missing: Missing = "report",
        version: int | Iterable[int] | None = None,
        unredacted: bool = False,
    ) -> DeclaredFields:
        """The fields that a step needs, and only those.

        A bare name is the key at the top of an artifact, or that of the first item which has it in a list that is the
        top or stands right under it; a path with a `*`, or one that goes through a list, gives the list of all values
        it leads to. The first artifact that has a field wins. A text that is no JSON has the one field `_raw`.

        Args:
            field_names: Names and paths.
            missing: "report" returns what was found and says in `.missing` and `.problems` what not; "error" raises.
            version: The versions of the state that the step knows; see `check_version`.
            unredacted: Leave secrets in: for code that needs the value, never for a context.

        Raises:
            ConfigError: An argument is not as it must be, or a name is no path.
            SchemaVersionError: The state is of another version.
            MissingFieldError: With `missing="error"`, a field is in no artifact.
            ArtifactError: With `missing="error"`, an artifact that had to be read could not be.
        """
        names = list(dict.fromkeys(arguments.strings("field_names", field_names)))
        arguments.one_of("missing", missing, ("report", "error"))
        if not isinstance(unredacted, bool):
            raise ConfigTypeError(f"unredacted is True or False, not {shown(unredacted)}")
        if version is not None:
            self.check_version(version)
        _NOTHING.find(names)  # what is no path is told even when there is nothing to look in
        found = DeclaredFields()
        left = names
        for ref in self.artifacts:
            if not left:
                break
            try:
                document = self._document(ref)
            except ArtifactError as error:
                if missing == "error":
                    raise
                found.problems.append(error)
                continue
            redactor = None if unredacted else self._redactor or default_redactor()
            for name, one in zip(left, document.lookup(redactor).find(left), strict=True):
                if one is not None:
                    texts, many, place = one
                    decoded = [_decoded(text) for text in texts]
                    found[name] = decoded if many else decoded[0]
                    found.sources[name] = (ref.artifact_id, place)
            left = [name for name in left if name not in found]
        found.missing = tuple(left)
        if left and missing == "error":
            places = ", ".join(f"field_names[{at}]" for at, name in enumerate(names) if name in left)
            raise MissingFieldError(f"{len(left)} of {len(names)} fields are in no artifact: {places}", found.missing)
        # In the order they were asked for, whichever artifact they came from.
        for name in names:
            if name in found:
                found[name] = found.pop(name)
        return found

    def get_summaries(self) -> str:
        """What there is, for a model: a line for each artifact, with its size, its fields and its id."""
        lines = [f"Task {self.task_id} produced {len(self.artifacts)} artifact(s):"]
        lines += [
            f"  [{ref.artifact_type}] {ref.summary} ({ref.size_bytes / 1024:.1f} KB, keys: {ref.schema_keys}) "
            f"[ref: {ref.artifact_id}]"
            for ref in self.artifacts
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The envelope as JSON has it: what it refers to, no content."""
        return {
            "task_id": self.task_id,
            "parent_task_id": self.parent_task_id,
            "artifacts": [
                {name: value for name, value in vars(ref).items() if name != "metadata" or value}
                for ref in self.artifacts
            ],
            "metadata": dict(self.metadata),
            "version": self.metadata.get("version", 1),
        }

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        version: int | Iterable[int] | None = None,
        artifact_store: Readable | Mapping[str, Any] | None = None,
        redactor: Redactor | None = None,
    ) -> Self:
        """Reads what `to_dict` wrote.

        Args:
            data: The dict.
            version: The versions that the reader knows; any unless given.
            artifact_store: As for the envelope.
            redactor: As for the envelope.

        Raises:
            InputError, InputTypeError: `data` is none; the message names the place.
            SchemaVersionError: It is of another version.
        """
        if not issubclass(type(data), Mapping):
            raise InputTypeError(f"data is a dict of an envelope, not {shown(data)}")
        parent = data.get("parent_task_id")
        envelope = cls(
            _member(data, "task_id", str, "data"),
            None if parent is None else _member(data, "parent_task_id", str, "data"),
            artifact_store=artifact_store,
            redactor=redactor,
        )
        envelope.metadata = {**_member(data, "metadata", dict, "data", {})}
        envelope.metadata["version"] = _member(data, "version", int, "data", 1)
        if version is not None:
            envelope.check_version(version)
        for at, one in enumerate(_member(data, "artifacts", list, "data", [])):
            place = f"data.artifacts[{at}]"
            if not isinstance(one, Mapping):
                raise InputTypeError(f"{place} is a dict, not {shown(one)}")
            ref = ArtifactRef(
                artifact_id=_member(one, "artifact_id", str, place),
                artifact_type=_member(one, "artifact_type", str, place),
                pointer=_member(one, "pointer", str, place),
                summary=_member(one, "summary", str, place),
                size_bytes=_member(one, "size_bytes", int, place),
                schema_keys=list(_member(one, "schema_keys", list, place, [])),
                metadata=dict(_member(one, "metadata", dict, place, {})),
            )
            envelope.artifacts.append(ref)
        return envelope

    def _document(self, ref: ArtifactRef) -> _Document:
        if (held := self._resolved_cache.get(ref.artifact_id)) is not None:
            return held
        told = ""
        if self._artifact_store is None:
            told = "the envelope has no artifact store"
        else:
            store = checked_store("artifact_store", self._artifact_store)
            try:
                value = store.get(ref.pointer) if isinstance(store, Mapping) else store.read(ref.pointer)
            except ArtifactError as error:
                told = str(error)
            except Exception as error:  # noqa: BLE001 - whatever a stranger's store raises
                told = f"its store failed ({type(error).__name__})"
            else:
                told = "" if value is not None else "its store has nothing under its pointer"
        if told:
            problem = ArtifactError(f"artifact {self.artifacts.index(ref)} of the task cannot be read: {told}")
            problem.artifact_id = ref.artifact_id
            raise problem
        self._resolved_cache[ref.artifact_id] = document = _Document(values.serialize(value))
        return document

    def __repr__(self) -> str:
        return f"<TaskStateEnvelope: {len(self.artifacts)} artifacts>"


class _Document:
    """An artifact that was read, and what a policy leaves of it."""

    __slots__ = ("_lookups", "_text")

    def __init__(self, text: str) -> None:
        lookup = _core.Lookup.read(text)
        self._text = text if lookup else _as_json(text)
        self._lookups: dict[Redactor | None, _core.Lookup] = {None: lookup or _read(self._text)}

    def lookup(self, redactor: Redactor | None) -> _core.Lookup:
        if (held := self._lookups.get(redactor)) is None:
            assert redactor is not None  # noqa: S101 - that one is there from the beginning
            # The whole is redacted, then fields are taken: what stands around a value says what it is.
            redaction = redactor.redact(self._text)
            held = _read(redaction.text) if redaction.changed else self._lookups[None]
            self._lookups[redactor] = held
        return held


def _read(text: str) -> _core.Lookup:
    lookup = _core.Lookup.read(text)
    if lookup is None:
        raise InternalError("an artifact was JSON, and is none redacted")
    return lookup


_NOTHING = _read("{}")


def _as_json(text: str) -> str:
    """A text that is no JSON to the letter: what Python's parser takes for it (NaN), or the text itself."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = {"_raw": text}
    return values.serialize(parsed)


def _decoded(text: str) -> Any:  # noqa: ANN401 - whatever JSON can be
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        # An escape that is none, a number of thousands of digits, depths: what is written is all there is to say.
        return text


def checked_store(argument: str, store: Any) -> Any:  # noqa: ANN401 - a store of any make
    """Something that artifacts can be read from; `argument` is named in the error."""
    if issubclass(type(store), Mapping) or callable(getattr(type(store), "read", None)):
        return store
    raise ConfigTypeError(f"{argument} has a read(pointer), or is a mapping; this is {shown(store)}")


_REQUIRED: Any = object()


def _member(data: Mapping[str, Any], name: str, kind: type, place: str, default: Any = _REQUIRED) -> Any:  # noqa: ANN401 - of `kind`
    value = data.get(name, default)
    if value is _REQUIRED:
        raise InputError(f"{place} has no {name}")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise InputTypeError(f"{place}.{name} is of type {kind.__name__}, not {shown(value)}")
    return value
