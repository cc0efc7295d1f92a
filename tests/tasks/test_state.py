"""The state of tasks: fields that are asked for, read no further than needed, and nothing silently missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import (
    ArtifactError,
    ArtifactRef,
    FileArtifactStore,
    InMemoryArtifactStore,
    InputError,
    InputTypeError,
    MissingFieldError,
    Redactor,
    SchemaVersionError,
    TaskStateEnvelope,
    Tokenizer,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import github_tokens, json_values, random_token

if TYPE_CHECKING:
    from pathlib import Path

RESULTS = {
    "query": "2026 cloud computing market size",
    "results": [
        {"title": "Gartner Forecast 2026", "market_size": "$832B", "cagr": "18.4%", "region": "Global"},
        {"title": "IDC Outlook", "market_size": "$811B", "cagr": "17.9%", "region": "EMEA"},
    ],
    "total_results": 40,
}


class Store:
    """The article's: `read` and `save`, and it counts."""

    def __init__(self, **held: Any) -> None:
        self.held, self.reads = held, list[str]()

    def read(self, key: str) -> Any:
        self.reads.append(key)
        return self.held.get(key)

    def save(self, key: str, value: Any) -> None:
        self.held[key] = value


def state(**held: Any) -> tuple[TaskStateEnvelope, Store]:
    store = Store(**held)
    envelope = TaskStateEnvelope("t1", artifact_store=store)
    for key in held:
        envelope.add_artifact("kind", key, f"summary of {key}", 1, [])
    return envelope, store


@pytest.mark.parametrize("given_as", [dict, json.dumps, lambda value: json.dumps(value).encode()])
def test_the_fields_of_the_article(given_as: Any) -> None:
    envelope, _ = state(search=given_as(RESULTS))
    assert repr(envelope.declare_fields(["market_size", "cagr"])) == "{'market_size': '$832B', 'cagr': '18.4%'}"
    found = envelope.declare_fields(["results.region", "results[1].title", "total_results", "results.*.none", "none"])
    assert found == {"results.region": ["Global", "EMEA"], "results[1].title": "IDC Outlook", "total_results": 40}
    assert found.missing == ("results.*.none", "none")
    assert not found.complete
    assert found.sources["results[1].title"] == (envelope.artifacts[0].artifact_id, "results[1].title")


def test_the_seeds_names_and_outputs() -> None:
    envelope = TaskStateEnvelope("market_research_01", parent_task_id="parent")
    artifact_id = envelope.add_artifact(
        artifact_type="search_results",
        pointer="market_research_01:search_results",
        summary="40 cloud market analyst reports",
        size_bytes=15000,
        schema_keys=["title", "url"],
    )
    assert artifact_id.startswith("market_research_01:search_results:")
    assert len(artifact_id.rpartition(":")[2]) == 8
    assert envelope.get_summaries() == (
        "Task market_research_01 produced 1 artifact(s):\n"
        "  [search_results] 40 cloud market analyst reports (14.6 KB, keys: ['title', 'url']) "
        f"[ref: {artifact_id}]"
    )
    data = json.loads(json.dumps(envelope.to_dict()))
    assert list(data) == ["task_id", "parent_task_id", "artifacts", "metadata", "version"]
    assert list(data["artifacts"][0]) == [
        *["artifact_id", "artifact_type", "pointer", "summary", "size_bytes", "schema_keys"]
    ]
    assert data["version"] == data["metadata"]["version"] == 1
    again = TaskStateEnvelope.from_dict(data)
    assert (again.artifacts, again.metadata, again.to_dict()) == (envelope.artifacts, envelope.metadata, data)
    # The store is injected as in the article.
    again._artifact_store = Store(**{"market_research_01:search_results": RESULTS})
    assert again.declare_fields(["cagr"]) == {"cagr": "18.4%"}


def test_only_what_is_needed_is_read_and_once() -> None:
    envelope, store = state(a={"x": 1}, b={"y": 2}, c={"z": 3})
    assert (envelope.declare_fields([]), store.reads) == ({}, [])
    assert (envelope.declare_fields(["y", "x"]), store.reads) == ({"y": 2, "x": 1}, ["a", "b"])
    assert list(envelope.declare_fields(["y", "x"])) == ["y", "x"]
    assert (envelope.declare_fields(["y", "z"]), store.reads) == ({"y": 2, "z": 3}, ["a", "b", "c"])
    # The first artifact that has a field wins.
    envelope, _ = state(a={"x": 1}, b={"x": 2, "y": None})
    assert envelope.declare_fields(["x", "y"]) == {"x": 1, "y": None}


def test_nothing_is_silently_missing() -> None:
    envelope, store = state(a={"x": 1}, gone=None, b={"y": 2})
    found = envelope.declare_fields(["x", "y", "z"])
    assert (found, found.missing, found.complete) == ({"x": 1, "y": 2}, ("z",), False)
    assert [str(problem) for problem in found.problems] == [
        "artifact 1 of the task cannot be read: its store has nothing under its pointer"
    ]
    assert found.problems[0].artifact_id == envelope.artifacts[1].artifact_id
    assert envelope.declare_fields(["x"], missing="error") == {"x": 1}
    with pytest.raises(ArtifactError, match="artifact 1 of the task"):
        envelope.declare_fields(["x", "y"], missing="error")
    store.held["gone"] = {}
    # What could not be read is tried again.
    assert envelope.declare_fields(["x", "y"], missing="error").complete
    with pytest.raises(MissingFieldError, match=r"1 of 2 fields are in no artifact: field_names\[1\]") as caught:
        envelope.declare_fields(["x", "z"], missing="error")
    assert caught.value.missing == ("z",)
    bare = TaskStateEnvelope("t")
    bare.add_artifact("k", "p", "s", 1)
    assert "no artifact store" in str(bare.declare_fields(["x"]).problems[0])


class Failing:
    def read(self, pointer: str) -> Any:
        raise RuntimeError(f"no such thing: {pointer}")


def test_a_store_that_fails_is_an_error_without_what_it_says() -> None:
    envelope = TaskStateEnvelope("t", artifact_store=Failing())
    envelope.add_artifact("k", "the pointer", "s", 1)
    (problem,) = envelope.declare_fields(["x"]).problems
    assert str(problem) == "artifact 0 of the task cannot be read: its store failed (RuntimeError)"
    assert problem.__cause__ is problem.__context__ is None


@pytest.mark.parametrize("make", [InMemoryArtifactStore, FileArtifactStore])
def test_what_is_stored_is_found_by_the_next_step(make: Any, tmp_path: Path) -> None:
    store = make() if make is InMemoryArtifactStore else make(tmp_path)
    first = TaskStateEnvelope("t", artifact_store=store)
    first.store_artifact("search_results", RESULTS, "reports")
    first.store_artifact("log", "no json at all", "the log")
    assert first.artifacts[0].pointer.startswith("artifact://sha256/")
    assert first.artifacts[0].schema_keys == list(RESULTS)
    assert first.artifacts[0].size_bytes == len(json.dumps(RESULTS))
    second = TaskStateEnvelope.from_dict(json.loads(json.dumps(first.to_dict())), artifact_store=store)
    assert second.declare_fields(["cagr", "_raw"], missing="error") == {"cagr": "18.4%", "_raw": "no json at all"}
    duck = TaskStateEnvelope("t", artifact_store=Store())
    duck.store_artifact("k", {"a": 1}, "s")
    assert duck.declare_fields(["a"]) == {"a": 1}
    with pytest.raises(ArtifactError, match="no store with a save"):
        TaskStateEnvelope("t", artifact_store={}).store_artifact("k", 1, "s")


def test_a_damaged_artifact_is_a_structured_error() -> None:
    store = InMemoryArtifactStore()
    envelope = TaskStateEnvelope("t", artifact_store=store)
    envelope.store_artifact("k", {"a": 1}, "s")
    (place,) = store._held
    store._held[place] = b'{"a": 2}'
    with pytest.raises(ArtifactError, match="damaged"):
        envelope.declare_fields(["a"], missing="error")
    assert envelope.declare_fields(["a"]) == {}


def test_versions_are_checked() -> None:
    envelope, _ = state(a={"x": 1})
    assert envelope.declare_fields(["x"], version=1) == envelope.declare_fields(["x"], version=[1, 2])
    envelope.metadata["version"] = 3
    for call in (
        lambda: envelope.check_version([1, 2]),
        lambda: envelope.declare_fields(["x"], version=2),
        lambda: TaskStateEnvelope.from_dict(envelope.to_dict(), version=2),
    ):
        with pytest.raises(SchemaVersionError, match="of version 3, known is") as caught:
            call()
        assert caught.value.found == 3
    envelope.metadata["version"] = "three"
    with pytest.raises(SchemaVersionError, match="a str of 5 characters"):
        envelope.check_version(3)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"task_id": 1}, "data.task_id is of type str, not an int"),
        ({"task_id": ...}, "data has no task_id"),
        ({"artifacts": {}}, "data.artifacts is of type list"),
        ({"artifacts": ["x"]}, r"data.artifacts\[0\] is a dict"),
        ({"artifacts": [{"artifact_id": "a"}]}, r"data.artifacts\[0\] has no artifact_type"),
        ({"metadata": []}, "data.metadata is of type dict"),
        ({"version": True}, "data.version is of type int"),
    ],
)
def test_what_is_no_envelope_is_told_by_its_place(change: dict[str, Any], where: str) -> None:
    data = {name: value for name, value in {**TaskStateEnvelope("t").to_dict(), **change}.items() if value is not ...}
    with pytest.raises((InputError, InputTypeError), match=where):
        TaskStateEnvelope.from_dict(data)


def test_artifacts_are_redacted_on_their_way_and_not_where_they_are() -> None:
    token = random_token(9)
    store = InMemoryArtifactStore()
    envelope = TaskStateEnvelope("t", artifact_store=store)
    # What stands beside a value says what it is: taking the field out first would lose that.
    envelope.store_artifact("env", {"env": [{"name": "DB_PASSWORD", "value": "correct-Horse-7"}], "gh": token}, "s")
    found = envelope.declare_fields(["env[0].value", "gh"])
    assert found == {"env[0].value": "[PASSWORD:REDACTED]", "gh": "[GITHUB_TOKEN:REDACTED]"}
    real = envelope.declare_fields(["env[0].value", "gh"], unredacted=True)
    assert real == {"env[0].value": "correct-Horse-7", "gh": token}
    assert store.read(envelope.artifacts[0].pointer)["gh"] == token
    lenient = TaskStateEnvelope.from_dict(
        envelope.to_dict(), artifact_store=store, redactor=Redactor(profile="none", known_values=["correct-Horse-7"])
    )
    assert lenient.declare_fields(["gh", "env.value"])["gh"] == token
    assert "Horse" not in str(lenient.declare_fields(["env.value"]))


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=5), st.lists(github_tokens, max_size=2))
def test_no_token_comes_through_and_the_rest_does(value: dict[str, Any], tokens: list[str]) -> None:
    value = {**value, "tokens": [f"see {token} there" for token in tokens]}
    envelope, _ = state(a=value)
    found = envelope.declare_fields([f'"{key}"' for key in value if '"' not in key and key])
    assert found.missing == ()
    assert not any(token[4:] in str(found) for token in tokens)
    assert found['"tokens"'] == ["see [GITHUB_TOKEN:REDACTED] there"] * len(tokens)


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('{"n": NaN, "m": 1}', "m", 1),
        ('{"id": 1}\n{"id": 2}\n', "*.id", [1, 2]),
        ('{"caf\\u00e9": 1}', "café", 1),
        ('{"a": "\\ud800"}', "a", "\ud800"),
        ("[1, 2]", "[1]", 2),
        ('{"a.b": 1, "a": {"b": 2}}', "a.b", 1),
        ('{"n": ' + "9" * 5000 + "}", "n", "9" * 5000),
        ("", "_raw", ""),
        ("plain text", "_raw", "plain text"),
        ("plain text", "plain", ...),
        ("3", "n", ...),
    ],
)
def test_whatever_text_an_artifact_is(text: str, field: str, value: Any) -> None:
    envelope, _ = state(a=text)
    assert envelope.declare_fields([field]) == ({} if value is ... else {field: value})


def test_a_three_step_pipeline_carries_references(corpora: Path) -> None:
    """The article's 92 %: what step 3 sees of two artifacts, against both carried whole."""
    tokenizer, store = Tokenizer(), InMemoryArtifactStore()
    products = json.loads((corpora / "artifacts" / "retail-products.json").read_text())
    first = TaskStateEnvelope("step-1", artifact_store=store)
    first.store_artifact("products", products, "the shop's products")
    names = first.declare_fields(["*.name", "*.product_id"], missing="error")
    second = TaskStateEnvelope("step-2", parent_task_id="step-1", artifact_store=store)
    second.store_artifact("names", dict(names), "names and ids of the products")
    seen = [
        first.get_summaries(),
        second.get_summaries(),
        json.dumps(second.declare_fields(["*.name"], missing="error")),
    ]
    carried = json.dumps(products) + json.dumps(names)
    assert tokenizer.count("\n".join(seen)) < 0.08 * tokenizer.count(carried)
    assert names["*.name"] == [product["name"] for product in products.values()]


def test_refs_are_plain_data() -> None:
    ref = ArtifactRef("id", "kind", "pointer", "summary", 1)
    assert (ref.schema_keys, ref.metadata) == ([], {})
    envelope = TaskStateEnvelope("t")
    envelope.artifacts.append(ArtifactRef("id", "kind", "p", "s", 1, ["k"], {"rows": 3}))
    assert TaskStateEnvelope.from_dict(envelope.to_dict()).artifacts == envelope.artifacts
