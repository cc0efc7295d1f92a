"""The redactor as its users see it: properties first, then single promises."""

from __future__ import annotations

import asyncio
import base64
import copy
import html
import io
import itertools
import json
import logging
import pickle
import re
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import ctxproto
import pytest
from ctxproto import Allow, Finding, InputError, InputTypeError, Redactor, RuleError, StreamError, Vault
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import (
    PUBLIC_PREFIX,
    any_text,
    github_tokens,
    hostile_json,
    json_objects,
    json_values,
    planted,
    random_token,
    tokens,
)

if TYPE_CHECKING:
    from pathlib import Path

REDACTOR = Redactor()
TOKEN = random_token(1)
SHOWN = "[GITHUB_TOKEN:REDACTED]"


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def leaks(token: str, where: str) -> bool:
    """Whether more of a token than its public prefix is there."""
    secret = token[PUBLIC_PREFIX:]
    pieces = {secret[at : at + 8] for at in range(len(secret) - 7)}
    return any(piece in where for piece in pieces)


@given(planted())
def test_no_planted_secret_in_anything(case: tuple[str, list[str]]) -> None:
    text, tokens = case
    result = REDACTOR.redact(text)
    assert result.changed
    everything = [result.text, repr(result), repr(result.findings), str(result.findings), repr(REDACTOR)]
    everything += [str(pickle.dumps(finding)) for finding in result.findings]
    everything += [str(REDACTOR.redact(encoded(text)).text), str(REDACTOR.redact_json({"x": [text]}).value)]
    for token in tokens:
        assert not any(leaks(token, one) for one in everything)


@given(tokens(), st.sampled_from(["see {} now", "é{}é", '{{"x": "{}"}}', "x={}\\n", "a\t{}\n", "({})"]))
def test_no_token_of_any_provider_stays(token: str, carrier: str) -> None:
    text = carrier.format(token)
    result = REDACTOR.redact(text)
    # Which part of a form is public differs by rule, but it is never the end.
    private = token[-max(8, len(token) // 3) :]
    assert not any(private[at : at + 8] in result.text for at in range(len(private) - 7))
    assert REDACTOR.redact(result.text).text is result.text
    stream = REDACTOR.stream()
    assert "".join(map(stream.feed, text)) + stream.finish() == result.text


@given(planted())
def test_redacting_twice_is_redacting_once(case: tuple[str, list[str]]) -> None:
    once = REDACTOR.redact(case[0]).text
    again = REDACTOR.redact(once)
    assert again.text is once
    assert not again.changed


@given(planted())
def test_deterministic_and_the_same_for_str_and_bytes(case: tuple[str, list[str]]) -> None:
    text = case[0]
    first, second, as_bytes = REDACTOR.redact(text), REDACTOR.redact(text), REDACTOR.redact(encoded(text))
    assert (first.text, first.findings) == (second.text, second.findings)
    assert encoded(first.text) == as_bytes.text
    assert len(first.findings) == len(as_bytes.findings)


@given(planted())
def test_positions_count_characters_in_str_and_bytes_in_bytes(case: tuple[str, list[str]]) -> None:
    text, tokens = case
    for finding, in_bytes in zip(REDACTOR.scan(text), REDACTOR.scan(encoded(text)), strict=True):
        assert 0 <= finding.start < finding.end <= len(text)
        assert encoded(text[: finding.start]) == encoded(text)[: in_bytes.start]
        assert encoded(text[: finding.end]) == encoded(text)[: in_bytes.end]
    found = [text[finding.start : finding.end] for finding in REDACTOR.scan(text)]
    assert all(any(token in one for one in found) for token in tokens)


@given(st.text() | st.binary())
def test_clean_text_comes_back_as_the_same_object(text: str | bytes) -> None:
    result = REDACTOR.redact(text)
    assume(not result.findings)
    assert result.text is text
    assert not result.changed
    assert REDACTOR.scan(text) == ()


@given(planted(), st.lists(st.integers(0, 400), max_size=8))
@example(("é " + TOKEN + " é", [TOKEN]), [1, 2, 5, 9])
def test_every_split_of_a_stream_equals_the_whole(case: tuple[str, list[str]], cuts: list[int]) -> None:
    text: Any
    for text in (case[0], encoded(case[0])):
        edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        stream = REDACTOR.stream()
        out = [stream.feed(text[a:b]) for a, b in itertools.pairwise(edges)]
        out.append(stream.finish())
        whole = REDACTOR.redact(text)
        assert type(text)().join(out) == whole.text
        assert [(f.rule, f.start, f.end) for f in stream.findings] == [(f.rule, f.start, f.end) for f in whole.findings]


@given(json_values)
def test_json_keeps_keys_shape_and_order(value: Any) -> None:
    before = copy.deepcopy(value)
    result = REDACTOR.redact_json(value)
    assert value == before
    assert (result.value is value) == (not result.changed)
    assert same_shape(value, result.value)
    assert "gh" + "p_" not in json.dumps(result.value) or "gh" + "p_" in json.dumps(value)


def same_shape(old: Any, new: Any) -> bool:
    if isinstance(old, dict):
        return (
            isinstance(new, dict)
            and len(old) == len(new)
            and all(a == b or SHOWN in b or "REDACTED" in b for a, b in zip(old, new, strict=True))
            and all(same_shape(a, b) for a, b in zip(old.values(), new.values(), strict=True))
        )
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(same_shape, old, new))
    return type(old) is type(new) or isinstance(new, str)


@given(st.lists(planted().map(lambda case: case[0]) | any_text | st.binary(max_size=50), max_size=8))
def test_many_is_one_by_one(texts: list[str | bytes]) -> None:
    many = REDACTOR.redact_many(texts)
    assert [one.text for one in many] == [REDACTOR.redact(text).text for text in texts]
    assert [one.findings for one in many] == [REDACTOR.redact(text).findings for text in texts]


def test_many_on_the_pool_keeps_the_order() -> None:
    texts = [f"{n} {'filler ' * (n % 50 * 20)} {TOKEN} {n}" for n in range(400)]
    many = REDACTOR.redact_many(iter(texts))
    assert [one.text for one in many] == [text.replace(TOKEN, SHOWN) for text in texts]


@given(st.text(st.characters(categories=["Cs", "Lu", "So"]), max_size=20))
def test_lone_surrogates_pass_through(text: str) -> None:
    assert REDACTOR.redact(text).text == text
    result = REDACTOR.redact(f"{text} {TOKEN} {text}")
    assert result.text == f"{text} {SHOWN} {text}"
    assert result.findings[0].start == len(text) + 1


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_invalid_utf8_passes_through(before: bytes, after: bytes) -> None:
    text = before + b" " + TOKEN.encode() + b" " + after
    assert SHOWN.encode() in REDACTOR.redact(text).text


def test_long_text_is_redacted_in_slices() -> None:
    line = f"é {TOKEN} filler\n"
    text = line * 60_000
    result = REDACTOR.redact(text)
    assert result.text == text.replace(TOKEN, SHOWN)
    assert [f.start for f in result.findings] == list(range(2, len(text), len(line)))
    assert REDACTOR.scan(text) == result.findings


def test_hundred_megabytes() -> None:
    text = "ordinary words, " * (100_000_000 // 16)
    assert REDACTOR.redact(text).text is text
    text = "größere Wörter, " * (50_000_000 // 16)
    assert REDACTOR.redact(text).text is text


class Str(str):
    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise AssertionError("the text itself is what counts")

    def __str__(self) -> str:
        raise AssertionError("the text itself is what counts")

    isascii = __len__ = __getitem__ = __iter__ = __hash__ = encode  # type: ignore[assignment]


class Bytes(bytes):
    __slots__ = ()


def test_subclasses_of_str_and_bytes() -> None:
    for text in (Str("harmless"), Bytes(b"harmless"), Str("\ud800 harmless")):
        assert REDACTOR.redact(text).text is text
    assert type(REDACTOR.redact(Str(TOKEN)).text) is str
    assert REDACTOR.redact(Bytes(TOKEN.encode())).text == SHOWN.encode()


@pytest.mark.parametrize("wrap", [bytearray, memoryview, lambda data: memoryview(b"x" + data)[1:]])
def test_buffers_give_bytes(wrap: Any) -> None:
    result = REDACTOR.redact(wrap(TOKEN.encode()))
    assert result.text == SHOWN.encode()
    clean = REDACTOR.redact(wrap(b"harmless"))
    assert clean.text == b"harmless"
    assert type(clean.text) is bytes


def test_a_buffer_that_changes_afterwards_does_not_change_the_result() -> None:
    buffer = bytearray(b"harmless")
    result = REDACTOR.redact(buffer)
    stream = REDACTOR.stream()
    out = stream.feed(buffer)
    buffer[:] = TOKEN.encode()
    assert result.text == b"harmless"
    assert out + stream.finish() == b"harmless"


@pytest.mark.parametrize("wrong", [None, 1, 1.5, object(), ["x"], {}, memoryview(b"abcd").cast("I")])
def test_wrong_types_are_named(wrong: Any) -> None:
    with pytest.raises(InputTypeError, match=rf"redact\(\) takes str or bytes, not {type(wrong).__name__}"):
        REDACTOR.redact(wrong)
    with pytest.raises(TypeError):
        REDACTOR.scan(wrong)
    with pytest.raises(TypeError):
        REDACTOR.stream().feed(wrong)


def test_one_text_is_not_many() -> None:
    for wrong in ("text", b"text", 5):
        with pytest.raises(InputTypeError, match="a list of texts"):
            REDACTOR.redact_many(wrong)  # type: ignore[arg-type]


def test_unknown_format() -> None:
    with pytest.raises(ctxproto.ConfigError, match="auto, text, json, jsonl"):
        REDACTOR.redact("x", format="yaml")  # type: ignore[call-overload]


def test_finding_is_a_value() -> None:
    (finding,) = REDACTOR.scan(TOKEN)
    same = Finding(
        finding.rule, finding.label, 0, 40, finding.line, finding.column, finding.key_path, finding.fingerprint
    )
    assert finding == same
    assert hash(finding) == hash(same)
    assert finding != Finding("other", finding.label, 0, 40)
    assert finding != "finding"
    assert pickle.loads(pickle.dumps(finding)) == finding
    assert eval(repr(finding), {"Finding": Finding}) == finding
    with pytest.raises(AttributeError):
        finding.start = 3  # type: ignore[misc]


def test_redactor_is_immutable_and_stays_here() -> None:
    with pytest.raises(AttributeError):
        REDACTOR.anything = 1  # type: ignore[attr-defined]
    assert copy.copy(REDACTOR) is copy.deepcopy(REDACTOR) is REDACTOR
    with pytest.raises(TypeError, match="build one in each process"):
        pickle.dumps(REDACTOR)


class TestStream:
    def test_types_do_not_mix(self) -> None:
        stream = REDACTOR.stream()
        stream.feed("text")
        with pytest.raises(InputTypeError, match=r"feed\(\) takes str as before, not bytes"):
            stream.feed(b"text")

    def test_ends_once(self) -> None:
        stream = REDACTOR.stream()
        assert stream.finish() == ""
        for again in (stream.finish, lambda: stream.feed("more")):
            with pytest.raises(StreamError, match="finished"):
                again()

    def test_bytes_split_inside_characters(self) -> None:
        text = f"größe 🙂 {TOKEN} 日本".encode()
        stream = REDACTOR.stream()
        out = b"".join(stream.feed(text[at : at + 1]) for at in range(len(text)))
        assert out + stream.finish() == text.replace(TOKEN.encode(), SHOWN.encode())

    def test_huge_piece(self) -> None:
        stream = REDACTOR.stream()
        text = f"filler {TOKEN} é\n" * 100_000
        assert stream.feed(text) + stream.finish() == text.replace(TOKEN, SHOWN)
        assert len(stream.findings) == 100_000

    def test_iterators(self) -> None:
        pieces = [f"a {TOKEN[:9]}", TOKEN[9:], " b\n"]
        assert "".join(REDACTOR.redact_iter(pieces)) == f"a {SHOWN} b\n"
        assert "".join(REDACTOR.redact_iter(io.StringIO("".join(pieces)))) == f"a {SHOWN} b\n"
        assert list(REDACTOR.redact_iter([b""])) == []

    def test_async_iterators(self) -> None:
        async def pieces() -> Any:
            for piece in (TOKEN[:9].encode(), TOKEN[9:].encode()):
                await asyncio.sleep(0)
                yield piece

        async def joined() -> bytes:
            return b"".join([piece async for piece in REDACTOR.redact_aiter(pieces())])

        assert asyncio.run(joined()) == SHOWN.encode()


class TestFiles:
    TEXT = f"first {TOKEN}\r\nsecond \ud800 {'é' * 70_000} {TOKEN}\n"

    def test_text_reader(self) -> None:
        clean = self.TEXT.replace(TOKEN, SHOWN)
        source = io.StringIO(self.TEXT, newline="")
        with REDACTOR.reader(source) as file:
            assert file.readline() == f"first {SHOWN}\r\n"
            assert file.read() == clean.split("\n", 1)[1]
            assert file.read() == ""
        assert not source.closed

    def test_binary_reader(self) -> None:
        data = encoded(self.TEXT)
        with REDACTOR.reader(io.BytesIO(data)) as file:
            assert file.read(9) == b"first [GI"
            assert file.read() == data.replace(TOKEN.encode(), SHOWN.encode())[9:]

    @pytest.mark.parametrize("size", [1, 7, 40, 100_000])
    def test_writers(self, size: int) -> None:
        target: Any
        for text, target in ((self.TEXT[-500:], io.StringIO(newline="")), (encoded(self.TEXT[-500:]), io.BytesIO())):
            with REDACTOR.writer(target) as file:
                for at in range(0, len(text), size):
                    assert file.write(text[at : at + size]) == len(text[at : at + size])
                file.flush()
            file.close()
            assert target.getvalue() == REDACTOR.redact(text).text
            assert len(file.stream.findings) == 1
            with pytest.raises(ValueError, match="closed"):
                file.write(text)

    def test_print_and_logging(self) -> None:
        target = io.StringIO()
        writer = REDACTOR.writer(target)
        print("token", TOKEN, file=writer)
        handler = logging.StreamHandler(writer)
        handler.emit(logging.LogRecord("x", 20, __file__, 1, "got %s", (TOKEN,), None))
        writer.close()
        assert target.getvalue() == f"token {SHOWN}\ngot {SHOWN}\n"

    def test_nothing_written(self) -> None:
        with REDACTOR.writer(io.BytesIO()) as file:
            pass
        assert file.closed


class TestVault:
    def test_puts_values_back_into_anything(self) -> None:
        vault = Vault()
        redactor = Redactor(placeholder=vault)
        value = {"a": [f"x {TOKEN}", (TOKEN, 1, None)], "é": f"é{TOKEN}é"}
        hidden = redactor.redact_json(value).value
        assert not leaks(TOKEN, repr(hidden) + repr(vault) + repr(redactor))
        assert redactor.vault is vault
        assert len(vault) == 1
        assert vault.restore(hidden) == value
        assert vault.restore(redactor.redact(f"\ud800 {TOKEN}").text) == f"\ud800 {TOKEN}"
        assert vault.restore(redactor.redact(TOKEN.encode()).text) == TOKEN.encode()

    def test_unknown_and_clean_stay_the_same_object(self) -> None:
        vault = Vault()
        for value in ("text", b"text", ["[TOKEN:V0123456789abcdef]"], {"a": 1, "b": object()}):
            assert vault.restore(value) is value

    def test_another_vault_knows_nothing(self) -> None:
        hidden = Redactor(placeholder="vault").redact(TOKEN).text
        assert Vault().restore(hidden) is hidden
        assert Redactor(placeholder="label").vault is None

    def test_wiped_at_the_end_of_the_block(self) -> None:
        with Vault() as vault:
            assert vault
            hidden = Redactor(placeholder=vault).redact(TOKEN).text
            assert vault.restore(hidden) == TOKEN
        assert len(vault) == 0
        assert vault.restore(hidden) is hidden

    def test_stays_in_this_process(self) -> None:
        for copying in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError):
                copying(Vault())

    # It begins as nothing in the JSON around it does.
    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=6, max_size=12).map(lambda s: f"v{s}v"))
    @example('va"b\\cX')
    def test_across_levels_of_json(self, value: str) -> None:
        """A model copies a placeholder from text into arguments, or out of a document into text."""
        vault = Vault()
        redactor = Redactor(known_values={"V": value}, placeholder=vault)

        def within(text: str, levels: int) -> str:
            return text if levels == 0 else json.dumps({"pw": within(text, levels - 1)})

        for levels in (0, 1, 2):
            hidden = redactor.redact(within(value, levels)).text
            found = re.search(r"\[V:V[0-9a-f]{16}\]", hidden)
            assert found
            for target in (0, 1, 2):
                restored = vault.restore(within(found[0], target))
                for _ in range(target):
                    restored = json.loads(restored)["pw"]
                assert restored == value


class TestPlaceholders:
    def test_hash_depends_on_the_key_alone(self) -> None:
        first, second = (Redactor(placeholder="hash", key="k" * 16) for _ in range(2))
        other = Redactor(placeholder="hash", key="other" * 4)
        assert first.redact(TOKEN).text == second.redact(TOKEN).text != other.redact(TOKEN).text
        assert first.scan(TOKEN) == second.scan(TOKEN) != other.scan(TOKEN)
        assert re.fullmatch(r"\[GITHUB_TOKEN:[0-9a-f]{8}\]", first.redact(TOKEN).text)

    def test_mask_and_partial(self) -> None:
        assert Redactor(placeholder="mask").redact(f"a {TOKEN} b").text == "a ******** b"
        assert Redactor(placeholder="partial").redact(f"a {TOKEN} b").text == f"a {TOKEN[:4]}******** b"

    @pytest.mark.parametrize("placeholder", ["label", "mask", "partial", "hash", "vault"])
    @given(case=planted())
    def test_every_style_hides_and_is_left_alone(self, placeholder: str, case: tuple[str, list[str]]) -> None:
        redactor = STYLES[placeholder]
        once = redactor.redact(case[0]).text
        assert not any(leaks(token, once) for token in case[1])
        assert redactor.redact(once).text is once


STYLES = {style: Redactor(placeholder=style) for style in ("label", "mask", "partial", "hash", "vault")}


class TestPolicy:
    @pytest.mark.parametrize("secret", ['pa"ss wörd/42', "it's pa\"ss wörd/\\42&"])
    def test_known_values_in_their_encoded_forms(self, secret: str) -> None:
        redactor = Redactor(known_values={"DB": secret})
        once = json.dumps(secret)[1:-1]
        forms = [json.dumps(once)[1:-1], once.replace("/", "\\/"), repr(secret)[1:-1], html.escape(secret)]
        forms += [quote(quote(secret, safe=""), safe="")]
        forms += [secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], secret.encode().hex()]
        forms += [quote(secret), quote(secret, safe=""), quote_plus(secret)]
        for form in forms:
            assert redactor.redact(f"x <{form}> y").text == "x <[DB:REDACTED]> y"
        for before in ("", "a", "ab"):
            text = base64.b64encode(f"{before}{secret} after".encode()).decode()
            assert "[DB:REDACTED]" in redactor.redact(text).text

    def test_allow(self) -> None:
        for allow in (Allow(values=[TOKEN]), Allow(patterns=["gh[a-z]_.*"]), Allow(rules=["GITHUB_TOKEN"])):
            assert not Redactor(allow=allow).redact(f"see {TOKEN} there").changed
        redactor = Redactor(allow=Allow(keys=["sample"]))
        assert not redactor.redact_json({"sample": TOKEN}).changed
        assert not redactor.redact(f"sample={TOKEN}").changed
        assert redactor.redact_json({"other": TOKEN}).changed

    def test_pii_selection(self) -> None:
        text = "mail ada.lovelace@example.org or card 4111 1111 1111 1111"
        labels = {pii: {f.label for f in Redactor(pii=pii).scan(text)} for pii in ("none", "dangerous", "all")}
        assert labels == {"none": set(), "dangerous": {"CREDIT_CARD"}, "all": {"CREDIT_CARD", "EMAIL"}}
        assert {f.label for f in Redactor(pii=["EMAIL"]).scan(text)} == {"EMAIL"}
        assert not Redactor(profile="none").redact(f"{text} {TOKEN}").changed

    def test_unknown_rule_or_broken_file(self, tmp_path: Path) -> None:
        with pytest.raises(RuleError):
            Redactor(allow=Allow(patterns=["("]))
        (tmp_path / "rules.toml").write_text("[[rule]]\nid = 5\n")
        with pytest.raises(RuleError, match=r"rules\.toml"):
            Redactor(rules=tmp_path / "rules.toml")

    def test_rules_are_described(self) -> None:
        rules = REDACTOR.rules
        assert len(rules) >= 350
        assert len({rule.id for rule in rules}) == len(rules)
        assert all(rule.name and rule.source and rule.label for rule in rules)


class TestJson:
    def test_paths(self) -> None:
        value = {"messages": [{"content": "ok"}, {"content": f"x {TOKEN}"}], "n": (1, TOKEN)}
        result = REDACTOR.redact_json(value)
        assert result.value == {"messages": [{"content": "ok"}, {"content": f"x {SHOWN}"}], "n": (1, SHOWN)}
        assert [f.key_path for f in result.findings] == ["messages[1].content", "n[1]"]
        assert result.value["messages"][0] is value["messages"][0]

    def test_a_key_that_is_a_secret(self) -> None:
        other = random_token(2)
        result = REDACTOR.redact_json({TOKEN: 1, other: 2, "x": {TOKEN: TOKEN}})
        assert len(result.value) == 3
        assert sorted(v for v in result.value.values() if v != {SHOWN: SHOWN}) == [1, 2]
        assert not leaks(TOKEN, repr(result.value) + repr(result.findings))
        assert not leaks(other, repr(result.value) + repr(result.findings))

    def test_keys_decide_with_their_values(self) -> None:
        value = {"password": "correct horse", "port": 5432, "ssn": "536-22-8145", "headers": {"Authorization": "x"}}
        value |= {"db": {"passwd": ["hunter22", "hunter33"]}, "card": 4111111111111111, "count": 1234}
        clean = REDACTOR.redact_json(value).value
        assert clean["password"] == "[PASSWORD:REDACTED]"
        assert clean["db"] == {"passwd": ["[PASSWORD:REDACTED]"] * 2}
        assert clean["card"] == "[CREDIT_CARD:REDACTED]"
        assert clean["ssn"] == "[SSN:REDACTED]"
        assert (clean["port"], clean["count"]) == (5432, 1234)

    @pytest.mark.parametrize("name", ["DB_PASSWORD", "api_token"])
    def test_names_beside_and_around_values(self, name: str) -> None:
        secret = "Zx81kQ" + "pLm2vv"
        values: list[Any] = [
            {"name": name, "value": secret},
            {"value": secret, "name": name},
            {"Key": name, "Value": secret},
            {"env": [{"name": "HOME", "value": "/root"}, {"name": name, "value": secret}]},
            {name: {"value": secret}},
            {"db": {name: {"S": secret}}},
        ]
        for value in values:
            assert secret not in repr(REDACTOR.redact_json(value).value)
            assert secret not in REDACTOR.redact(json.dumps(value)).text
        near = {"env": [{"name": "REGION", "value": secret}], "value": {"name": name}, "value2": secret}
        assert not REDACTOR.redact_json(near).changed

    def test_positions_do_not_count_the_key(self) -> None:
        (finding,) = REDACTOR.redact_json({"a note": f"é\né {TOKEN}"}).findings
        assert (finding.key_path, finding.start, finding.end) == ('["a note"]', 4, 44)
        assert (finding.line, finding.column) == (2, 3)
        (finding,) = REDACTOR.redact_json({"größe": f"é {TOKEN}"}).findings
        assert (finding.start, finding.line, finding.column) == (2, 1, 3)

    @given(json_values)
    @example({"password": "hunter22\\", "x": "y"})
    @example({"password": json.dumps({"password": "hunter22\\", "x": ["\\"]})})
    def test_written_json_stays_valid(self, value: Any) -> None:
        for indent in (None, 2):
            written = json.dumps(value, indent=indent)
            assert same_shape(value, json.loads(REDACTOR.redact(written).text))
            nested = json.loads(REDACTOR.redact(json.dumps({"output": written})).text)["output"]
            if nested != SHOWN:
                assert same_shape(value, json.loads(nested))

    @settings(max_examples=400, deadline=None)
    @given(hostile_json, st.integers(0, 2), st.sampled_from([None, 1]))
    def test_no_value_eats_the_document_around_it(self, value: Any, levels: int, indent: int | None) -> None:
        documents = [{"a": value, "exit_code": 1}]
        for _ in range(levels):
            documents.append({"output": json.dumps(documents[-1], indent=indent)})
        written = REDACTOR.redact(json.dumps(documents[-1], indent=indent)).text
        for document in reversed(documents):
            clean = json.loads(written)
            assert same_shape(document, clean)
            written = clean.get("output")

    def test_what_a_cut_value_hid_is_found(self) -> None:
        document = {"cmd": "<password> here", "more": f"x {TOKEN}", "rc": 1}
        for written in (json.dumps(document), json.dumps(json.dumps(document))):
            clean = REDACTOR.redact(written).text
            assert not leaks(TOKEN, clean)
            assert "GITHUB_TOKEN" in clean

    # Without lists: here the key of a list speaks for its items, in text it does not.
    @given(json_objects)
    def test_the_same_as_json_text(self, value: Any) -> None:
        document = {"value": value}
        written = json.dumps(document, ensure_ascii=False)
        assume("\\" not in written)  # an escape is one character in the value and more in the text
        text = REDACTOR.redact(written)
        assert json.loads(text.text) == REDACTOR.redact_json(document).value

    @given(json_values)
    def test_twice_is_once(self, value: Any) -> None:
        once = REDACTOR.redact_json(value).value
        assert REDACTOR.redact_json(once).value is once

    def test_too_deep_or_cyclic(self) -> None:
        deep: Any = "x"
        for _ in range(1001):
            deep = [deep]
        with pytest.raises(InputError, match="deeper than 1000 levels"):
            REDACTOR.redact_json(deep)
        assert REDACTOR.redact_json(deep[0]).value is deep[0]
        cyclic: Any = {"a": []}
        cyclic["a"].append(cyclic)
        with pytest.raises(InputError, match="refers to itself"):
            REDACTOR.redact_json(cyclic)

    def test_what_cannot_be_looked_into_is_refused(self) -> None:
        with pytest.raises(InputTypeError, match=r"redact_json\(\) at a\[0\] takes .* not set"):
            REDACTOR.redact_json({"a": [{1, 2}]})

    def test_subclasses(self) -> None:
        class Dict(dict[str, Any]):
            def items(self) -> Any:
                raise AssertionError("the contents themselves are what counts")

            __iter__ = __len__ = __getitem__ = items  # type: ignore[assignment]

        assert REDACTOR.redact_json(Dict(a=[TOKEN])).value == {"a": [SHOWN]}
        clean = Dict(a=[Str("x")], b=True, c=None, d=1.5, e=10**200)
        assert REDACTOR.redact_json(clean).value is clean

    @given(st.dictionaries(github_tokens, st.none(), min_size=1, max_size=4))
    def test_no_key_is_lost(self, value: dict[str, None]) -> None:
        assert len(REDACTOR.redact_json(value).value) == len(value)


def test_exceptions_do_not_quote_the_text() -> None:
    calls: list[Any] = [
        lambda: Redactor(placeholder=TOKEN),
        lambda: Redactor(profile=TOKEN),  # type: ignore[arg-type]
        lambda: Redactor(pii=TOKEN),
        lambda: Redactor(known_values={TOKEN: TOKEN}),
        lambda: Redactor(known_values=TOKEN),
        lambda: Redactor(key=TOKEN[:9]),
        lambda: REDACTOR.redact_json({TOKEN: object()}),
        lambda: REDACTOR.redact_many(TOKEN),
    ]
    for call in calls:
        with pytest.raises(ctxproto.CtxprotoError) as caught:
            call()
        assert not leaks(TOKEN, "".join(traceback.format_exception(caught.value)))


@pytest.mark.parametrize("tail", ['\\"', "\\\\", '\\\\\\"', "'", "x\\n"])
def test_a_value_never_loses_half_an_escape(tail: str) -> None:
    document = '{"password": "hunter2horse' + tail + '", "n": 1}'
    result = json.loads(ctxproto.redact(document).text)
    assert list(result) == ["password", "n"]
    assert "hunter2" not in result["password"]


def test_an_unclosed_key_block_stays_in_its_string() -> None:
    block = "-----BEGIN " + "PRIVATE KEY-----\nMIIEabcdefghijklmnop"
    result = json.loads(ctxproto.redact(json.dumps({"token": block, "secret": 1, "list": ["x", "plain"]})).text)
    assert result == {"token": "[PRIVATE_KEY:REDACTED]", "secret": 1, "list": ["x", "plain"]}


def test_chained_names_cost_no_more_than_others() -> None:
    assert ctxproto.redact("token=" * 20_000).changed is False


@given(json_values, github_tokens)
def test_what_was_clean_before_changes_nothing(value: Any, token: str) -> None:
    first, again = REDACTOR.redact_json(value), REDACTOR.redact_json(value)
    assert (first.value, first.findings, first.changed) == (again.value, again.findings, again.changed)
    beside = REDACTOR.redact_json([value, {"note": token}])
    assert beside.value == [first.value, {"note": "[GITHUB_TOKEN:REDACTED]"}]


def test_clean_is_what_a_value_is_under_its_key_and_a_policy() -> None:
    for _ in range(3):
        assert not REDACTOR.redact_json({"note": "hunter2xyz"}).changed
        assert REDACTOR.redact_json({"password": "hunter2xyz"}).value == {"password": "[PASSWORD:REDACTED]"}
        assert REDACTOR.redact_json([{"name": "DB_PASSWORD", "value": "hunter2xyz"}]).changed
        assert Redactor(known_values=["hunter2xyz"]).redact_json({"note": "hunter2xyz"}).changed


def test_much_that_is_new_is_looked_at_without_the_interpreter_and_much_more_in_slices() -> None:
    token = random_token(6)
    for size in (5_000, 50_000, 2_000_000):
        value = {"lines": [f"line {at} of the log" for at in range(size // 20)], "last": f"see {token}"}
        for _ in range(2):
            result = REDACTOR.redact_json(value)
            assert result.value["last"] == "see [GITHUB_TOKEN:REDACTED]"
            assert result.value["lines"] == value["lines"]
            assert [finding.key_path for finding in result.findings] == ["last"]


def test_a_key_that_comes_again_and_again_is_redacted_everywhere() -> None:
    shared = [f"key {n}" for n in range(40)]
    rows = [{**dict.fromkeys(shared, "x"), TOKEN: "y"} for _ in range(3)]
    for _ in range(2):  # the second time, most of it is known to be clean
        assert TOKEN not in json.dumps(REDACTOR.redact_json(rows).value)
        assert TOKEN not in json.dumps(REDACTOR.redact_json([{TOKEN: 1}] * 50).value)
