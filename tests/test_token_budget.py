"""Messages within a budget of tokens."""

from __future__ import annotations

import copy
import itertools
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from conversations import FORMATS, Chat, asks, conversations, damaged, real_runs, result, says
from ctxproto import BudgetError, ConfigError, Redactor, TokenBudget, Tokenizer, convert, pairing_problems
from ctxproto.budget import CATEGORIES
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_token

if TYPE_CHECKING:
    import random

TOKENIZER = Tokenizer()
WHOLE = dict.fromkeys(CATEGORIES)


def total(messages: Chat) -> int:
    """Counted text by text, none of them remembered."""
    tokens = 3
    for message in messages:
        # What images take is for the tests of counting; here it is the most, as none has a size.
        content = message.get("content")
        tokens += 1600 * sum("image_url" in part for part in content) if isinstance(content, list) else 0
        texts = [message["role"], *([content] if isinstance(content, str) else [])]
        texts += [part["text"] for part in content if "text" in part] if isinstance(content, list) else []
        for call in message.get("tool_calls") or []:
            texts += [call["function"]["name"], call["function"]["arguments"]]
        tokens += 3 + sum(map(TOKENIZER.count, texts))
    return tokens


def accepted(messages: Chat) -> bool:
    """Whether every API takes it, in its own form."""
    return not any(pairing_problems(convert(messages, "openai", name), name) for name in FORMATS)


def flushed(budget: TokenBudget, *args: Any, **options: Any) -> Chat | BudgetError:
    try:
        return budget.flush(*args, **options)
    except BudgetError as error:
        return error


def groups_of(messages: Chat) -> list[list[int]]:
    """Calls with their results, other messages alone; the plain way, for messages with nothing wrong."""
    groups: list[list[int]] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def naive(messages: Chat, categories: list[str], most: int) -> list[int] | None:
    """Which messages stay when nothing is shortened: removes one group after the other, and counts again each time."""
    groups = groups_of(messages)
    rank = [min(CATEGORIES[categories[at]] for at in group) for group in groups]
    last = max((n for n, group in enumerate(groups) if messages[group[0]]["role"] != "system"), default=-1)
    may_go = [n for n in range(len(groups)) if rank[n] > 0 and n != last]
    order = sorted(may_go, key=lambda n: (-rank[n], n))
    gone: set[int] = set()
    while True:
        left = [at for n, group in enumerate(groups) if n not in gone for at in group]
        if total([messages[at] for at in left]) <= most:
            break
        if not order:
            return None
        gone.add(order.pop(0))
    begins = next((m["role"] for m in messages if m["role"] != "system"), None)
    for n, group in enumerate(groups):
        role = messages[group[0]]["role"]
        if (
            begins != "user"
            or (role == "user" and n not in gone)
            or (n not in may_go and role not in ("system", "user"))
        ):
            break
        if role != "system":
            gone.add(n)
    return [at for n, group in enumerate(groups) if n not in gone for at in group]


def category_of(messages: Chat) -> list[str]:
    """The categories of places."""
    turn = max((at for at, m in enumerate(messages) if m["role"] == "user"), default=-1)
    found = []
    for at, message in enumerate(messages):
        calls = message["role"] == "tool" or message.get("tool_calls")
        if message["role"] == "system":
            found.append("system")
        elif at == turn:
            found.append("user_messages")
        else:
            found.append("tool_results" if calls and at > turn else "history")
    return found


@settings(max_examples=200, deadline=None)
@given(conversations(), st.integers(3, 400) | st.integers(400, 6000), st.booleans(), st.randoms(use_true_random=False))
def test_as_the_naive_way(chat: Chat, most: int, given_: bool, draw: random.Random) -> None:
    categories = [draw.choice(sorted(CATEGORIES)) for _ in chat] if given_ else category_of(chat)
    kept = flushed(TokenBudget(most, strategies=WHOLE), chat, categories if given_ else None)
    expected = naive(chat, categories, most)
    if expected is None:
        assert isinstance(kept, BudgetError)
    else:
        assert kept == [chat[at] for at in expected]


@settings(max_examples=200, deadline=None)
@given(
    conversations(),
    st.randoms(use_true_random=False),
    st.integers(20, 600) | st.integers(600, 6000),
    st.sampled_from([0, 0, 50]),
    st.integers(0, 9),
)
def test_fits_pairs_and_leaves_the_rest_alone(
    chat: Chat, draw: random.Random, most: int, stride: int, cached: int
) -> None:
    chat = damaged(chat, draw)
    for message in chat:
        if message["role"] == "tool" and draw.random() < 0.5:
            message["content"] = "a line of a log\n" * 40
    before = copy.deepcopy(chat)
    budget = TokenBudget(most, stride=stride)
    kept = flushed(budget, chat, cached=cached)
    assert chat == before
    if isinstance(kept, BudgetError):
        assert kept.needed is not None
        assert kept.needed > most
        assert str(kept.needed) in str(kept)
        return
    assert budget.report is not None
    assert total(kept) == budget.report.tokens <= most
    assert total(chat) == budget.report.tokens_before
    assert pairing_problems(kept, "openai") == []
    assert [m["role"] for m in kept if m["role"] != "system"][:1] in ([], ["user"]) or kept[0]["role"] != "user"
    # Untouched are the same objects, in their order; the others are told.
    touched = {at for change in budget.report.changes for at in change.messages}
    same = {id(message) for message in chat}
    untouched = [m for at, m in enumerate(chat) if at not in touched]
    assert [m for m in kept if any(m is one for one in untouched)] == untouched
    first = budget.report.first_changed
    assert all(a is b for a, b in zip(kept, chat[:first], strict=False))
    assert (first is None) == (not budget.report.changes)
    # The same again, and nothing more to do the second time.
    again = TokenBudget(most, stride=stride)
    assert again.flush(chat, cached=cached) == kept
    assert again.report == budget.report
    repeated = again.flush(kept)
    assert all(a is b for a, b in zip(repeated, kept, strict=True))
    # More room keeps what less room kept.
    wide = TokenBudget(most + draw.randrange(200), stride=stride)
    ids = {id(message) for message in wide.flush(chat, cached=cached)}
    assert all(id(message) in ids for message in kept if id(message) in same)


def test_real_runs_prefix_by_prefix() -> None:
    verdicts = dict.fromkeys(["fits", "changed", "error"], 0)
    for seed, run in enumerate(real_runs()):
        for most in (1000, 2000, 4000, 8000):
            budget = TokenBudget(most)
            for end in range(1 + seed % 2, len(run) + 1, 2):
                kept = flushed(budget, run[:end])
                if isinstance(kept, BudgetError):
                    # Instructions and the question alone are too long.
                    critical = [m for m, c in zip(run[:end], category_of(run[:end]), strict=True) if not CATEGORIES[c]]
                    assert total(critical) + 64 > most - 1500
                    assert int(re.findall(r"takes (\d+)", str(kept))[0]) == kept.needed
                    verdicts["error"] += 1
                    continue
                assert total(kept) <= most
                assert accepted(kept)
                assert budget.report is not None
                verdicts["changed" if budget.report.changes else "fits"] += 1
    assert all(count > 500 for count in verdicts.values()), verdicts


def test_a_group_goes_whole_and_a_long_result_is_shortened_first() -> None:
    log = "INFO all is well\n" * 400 + "ERROR disk full\n"
    chat = [says("system"), says("user", "why?"), asks("a", "b"), result("a", log), result("b", "short")]
    budget = TokenBudget(400)
    kept = budget.flush(chat)
    assert [m["role"] for m in kept] == ["system", "user", "assistant", "tool", "tool"]
    assert "ERROR disk full" in kept[3]["content"]
    assert kept[3]["content"].startswith("[trimmed")
    assert [kept[n] is chat[n] for n in range(5)] == [True, True, True, False, True]
    assert budget.report is not None
    (change,) = budget.report.changes
    assert (change.action, change.reason, change.messages, change.category) == (
        "shortened", "budget", (2, 3, 4), "tool_results"
    )  # fmt: skip
    assert budget.report.first_changed == 3
    chat.append(says("user", "and now?"))
    kept = TokenBudget(60).flush(chat)
    assert [m["content"] for m in kept] == ["some words", "and now?"]


def test_secrets_are_gone_before_a_text_is_shortened() -> None:
    token = random_token(7)
    log = "\n".join(f"line {n} of a log" for n in range(400)) + f"\nERROR: token {token}\n"
    chat = [says("user"), asks("a"), result("a", log)]
    for tokenizer in (None, Tokenizer.for_model("claude-sonnet-4-5")):
        (*_, shortened) = TokenBudget(300, tokenizer=tokenizer).flush(chat)
        assert "[GITHUB_TOKEN:REDACTED]" in shortened["content"]
        assert token[8:20] not in json.dumps(shortened)
    (*_, shortened) = TokenBudget(300, redactor=None).flush(chat)
    assert token in shortened["content"]
    (*_, shortened) = TokenBudget(300, redactor=Redactor(placeholder="mask")).flush(chat)
    assert token not in shortened["content"]


def test_parts_are_shortened_where_they_stand() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    long = {"type": "text", "text": "a line of a log\n" * 300, "cache_control": {"type": "ephemeral"}}
    chat = [says("user"), asks("a"), result("a", [{"type": "text", "text": "short"}, image, long])]
    before = copy.deepcopy(chat)
    budget = TokenBudget(1800)
    (*_, shortened) = budget.flush(chat)
    assert chat == before
    assert shortened["content"][:2] == before[2]["content"][:2]
    assert shortened["content"][2].keys() == long.keys()
    assert total(budget.flush(chat)) <= 1800


def test_what_the_model_said_is_never_shortened() -> None:
    chat = [says("user", "one"), says("assistant", "words and words " * 300), says("user", "two")]
    kept = TokenBudget(400).flush(chat)
    assert kept == [chat[2]]
    with pytest.raises(BudgetError):
        TokenBudget(400).flush([*chat[:1], says("assistant", "words and words " * 300)])


def test_calls_that_wait_stay_and_dead_ones_go() -> None:
    filler = [says("user", "words " * 50), says("assistant", "words " * 50)]
    waiting = [*filler, says("user"), asks("a", "b"), result("a")]
    assert TokenBudget(60).flush(waiting)[-2:] == waiting[-2:]
    dead = [says("user"), asks("a", "b", content="I look."), result("a"), says("user")]
    budget = TokenBudget(8000)
    kept = budget.flush(dead)
    assert [call["id"] for call in kept[1]["tool_calls"]] == ["a"]
    assert budget.report is not None
    assert [change[:3] for change in budget.report.changes] == [("cut", "unanswered", (1,))]
    assert len(dead[1]["tool_calls"]) == 2, "it was changed"
    kept = budget.flush([says("user"), asks("a", content="I look."), says("user")])
    assert kept[1] == says("assistant", "I look.")
    kept = budget.flush([says("user"), asks("a"), says("user"), result("a", "late")])
    assert [m["role"] for m in kept] == ["user", "assistant", "tool", "user"]
    assert [change[:3] for change in budget.report.changes] == [("moved", "late", (3,))]


def test_what_cannot_fit_is_told_with_its_numbers() -> None:
    chat = [says("system", "rule " * 500), says("user", "ask " * 300), says("assistant"), says("user", "now " * 200)]
    with pytest.raises(BudgetError) as e:
        TokenBudget(700, reserve=100).flush(chat)
    system, user = total(chat[:1]) - 3, total(chat[3:]) - 3
    assert str(e.value) == (
        f"what must stay takes {system + user + 3} tokens at least, and 600 are allowed: system {system}, "
        f"user_messages {user}, framing and tools 3; `strategies` lets system, user_messages be shortened"
    )
    assert e.value.needed == total([chat[0], chat[3]])
    assert "rule" not in str(e.value)
    assert TokenBudget(e.value.needed + 100, reserve=100).flush(chat) == [chat[0], chat[3]]
    cut = TokenBudget(700, strategies={"user_messages": "head_tail"}).flush(chat)
    assert cut[0] is chat[0]
    assert cut[1]["content"].startswith("[trimmed")


def test_the_account_of_the_seed() -> None:
    budget = TokenBudget(max_tokens=1000)
    assert budget.register("system", 400)
    assert budget.register("user_messages", 600)
    assert not budget.register("memory", 1, priority=2)
    assert budget.utilization == 1.001
    budget.flush([says("user")])
    assert budget.utilization == total([says("user")]) / 1000
    assert budget.register("system", 10), "what was registered for a call before counts no more"
    assert budget.utilization == 0.01
    other = budget.fresh()
    assert (other.utilization, other.max_tokens, other.report) == (0, 1000, None)
    assert budget.utilization == 0.01


def test_priorities_are_those_that_were_registered() -> None:
    chat = [says("system", "state " * 30), says("system", "notes " * 30), says("user", "x")]
    for least, stays in (("mine", 1), ("memory", 0)):
        budget = TokenBudget(50)
        budget.register("mine", 30, priority=3 if least == "mine" else 1)
        budget.register("memory", 30, priority=3 if least == "memory" else 1)
        assert budget.flush(chat, ["mine", "memory", None]) == [chat[stays], chat[2]]
    with pytest.raises(ConfigError, match=r"categories\[0\] is one of .*mine or one that is registered, not a str"):
        budget.flush(chat, ["mime", "memory", None])
    with pytest.raises(ConfigError, match="one for each message, 3, not 1"):
        budget.flush(chat, ["system"])


def test_reserve_and_tools_take_their_share() -> None:
    tools = [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
    chat = [says("user", "one"), says("assistant", "words " * 100), says("user", "two")]
    whole = TOKENIZER.count_messages(chat, tools).total
    assert TokenBudget(whole + 50, reserve=50, tools=tools).flush(chat) == chat
    assert TokenBudget(whole + 49, reserve=50, tools=tools).flush(chat) == chat[2:]
    with pytest.raises(BudgetError, match=r"reserve \(990\) and tools \(\d+\) take more than max_tokens \(1000\)"):
        TokenBudget(1000, reserve=990, tools=tools)


def test_a_cached_prefix_is_the_last_to_go() -> None:
    chat = [says("user", "old " * 60), says("assistant", "old " * 60)]
    chat += [says("user", "new " * 60), says("assistant", "new " * 60), says("user", "now")]
    assert TokenBudget(150).flush(chat, cached=0) == chat[2:]
    assert TokenBudget(150).flush(chat, cached=2) == [chat[0], chat[1], chat[4]]
    assert TokenBudget(80).flush(chat, cached=2) == [chat[4]]


def test_steps_keep_the_prefix_of_a_growing_conversation() -> None:
    chat: Chat = [says("system")]
    cuts = {}
    for stride in (0, 500):
        budget = TokenBudget(1000, stride=stride)
        begins = []
        for n in range(120):
            chat = [says("system"), *(says("user" if k % 2 == 0 else "assistant", f"{k} word " * 20) for k in range(n))]
            kept = budget.flush(chat)
            begins.append(kept[1]["content"] if len(kept) > 1 else "")
        cuts[stride] = sum(a != b for a, b in itertools.pairwise(begins))
    assert cuts[500] * 3 < cuts[0]


def test_functions_and_estimates_count_as_well() -> None:
    words = Tokenizer.from_callable(lambda text: len(text.split()))
    chat = [says("system", "one two"), says("user", "three " * 50), says("assistant"), says("user", "four")]
    budget = TokenBudget(30, tokenizer=words)
    assert budget.flush(chat) == [chat[0], chat[3]]
    assert budget.report is not None
    assert budget.report.tokens == words.count_messages([chat[0], chat[3]]).total
    claude = Tokenizer.for_model("claude-sonnet-4-5")
    log = [says("user"), asks("a"), result("a", "a line of a log\n" * 300)]
    assert claude.count_messages(TokenBudget(250, tokenizer=claude).flush(log)).total <= 250

    def broken(_: str) -> int:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        TokenBudget(30, tokenizer=Tokenizer.from_callable(broken)).flush(chat)


def test_threads_get_the_same() -> None:
    chat = [says("system")]
    for n in range(60):
        chat += [says("user", f"question {n}"), asks(f"c{n}"), result(f"c{n}", f"line {n}\n" * 40), says("assistant")]
    budget = TokenBudget(1500)
    expected = budget.flush(chat)
    with ThreadPoolExecutor(4) as pool:
        assert all(kept == expected for kept in pool.map(lambda _: budget.fresh().flush(chat), range(40)))


def test_odd_messages() -> None:
    budget = TokenBudget(100)
    assert budget.flush([]) == []
    assert budget.utilization == 0.03
    lone = [says("user", "half an emoji: \ud83d"), {"role": "assistant"}, {"role": "user", "content": None}]
    assert budget.flush(lone) == lone
    for wrong in (
        {"role": "robot"},
        {},
        {"role": "assistant", "tool_calls": "x"},
        {"role": "assistant", "tool_calls": [1]},
    ):
        with pytest.raises(ConfigError, match=r"messages\[1\]"):
            budget.flush([says("user"), wrong])
    no_ids = [says("user"), {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}]
    no_ids += [{"role": "tool", "content": "1"}]
    assert budget.flush(no_ids) == no_ids


def test_images_take_their_share() -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    chat = [says("user", [image]), says("assistant"), says("user", "and?")]
    assert TokenBudget(1000).flush(chat) == [chat[2]]
    assert TokenBudget(1700).flush(chat) == chat
    with pytest.raises(BudgetError, match=r"takes 16\d\d tokens at least, and 1000 are allowed"):
        TokenBudget(1000).flush(chat[:1])


@pytest.mark.parametrize(
    "content",
    [
        "",
        [{"type": "text", "text": ""}],
        [{"type": "thinking", "thinking": "I call it.", "signature": "c2ln"}],
        [{"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I call it."}]}],
    ],
)
def test_dead_calls_take_their_message_with_them_when_it_says_nothing_else(content: Any) -> None:
    budget = TokenBudget(8000)
    chat = [says("user"), asks("a", content=content), says("user")]
    assert budget.flush(chat) == [chat[0], chat[2]]
    assert budget.report is not None
    assert [change[:3] for change in budget.report.changes] == [("dropped", "unanswered", (1,))]


def test_objects_of_an_sdk_are_messages() -> None:
    types = pytest.importorskip("openai.types.chat", reason="openai is not installed")
    dead = asks("a", "b", content="I look.")
    message = types.ChatCompletionMessage.model_validate({**dead, "refusal": None})
    calls = {**dead, "tool_calls": message.tool_calls}
    plain = [says("user", "why?"), dead, result("a"), says("user")]
    for odd in (message, calls):
        chat = [plain[0], odd, *plain[2:]]
        assert TOKENIZER.count_messages(chat) == TOKENIZER.count_messages(plain)
        kept = TokenBudget(8000).flush(chat)
        assert [m is given for m, given in zip(kept, chat, strict=True)] == [True, False, True, True]
        assert [dict(call)["id"] for call in kept[1]["tool_calls"]] == ["a"]
        assert kept[1]["content"] == "I look."
        # Untouched ones are the same objects.
        answered = [*chat[:3], result("b"), says("user")]
        assert TokenBudget(8000).flush(answered)[1] is odd
        assert convert(chat, "openai", "anthropic") == convert(plain, "openai", "anthropic")
        assert pairing_problems(chat, "openai") == pairing_problems(plain, "openai")


def test_what_an_object_says_of_itself_stays_with_it() -> None:
    class Odd:
        def model_dump(self, **_: Any) -> Any:
            raise ValueError("its secret")

    works: tuple[Any, ...] = (TokenBudget(100).flush, TOKENIZER.count_messages)
    for wrong in (Odd(), Odd):
        for work in works:
            with pytest.raises(ConfigError, match=r"messages\[0\] is a mapping, not a (Odd|type)") as e:
                work([wrong])
            assert e.value.__cause__ is e.value.__context__ is None
