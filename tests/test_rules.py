"""Rules by themselves: their examples, their tests, and files that extend files."""

from pathlib import Path

import pytest
from ctxproto import InputError, Redactor, _core
from ctxproto.errors import ConfigError

HARBOUR = """
[[rules]]
id = "harbour-token"
regex = 'hbr_[0-9a-f]{12}'
keywords = ["hbr_"]
"""


def test_examples_are_found_and_the_same_each_time() -> None:
    redactor = Redactor()
    examples = [_core._rule_example(redactor, "github-pat", seed) for seed in range(20)]
    assert examples == [_core._rule_example(redactor, "github-pat", seed) for seed in range(20)]
    assert len(set(examples)) == 20
    for example in examples:
        assert example is not None
        assert redactor.redact(b"x " + example + b" y").text == b"x [GITHUB_TOKEN:REDACTED] y"
    assert _core._rule_example(redactor, "private-key", 3) is None
    with pytest.raises(InputError, match="no rule of that id"):
        _core._rule_example(redactor, "nothing", 1)


def test_rules_are_tested(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        '[[rule]]\nid = "mine"\nname = "Mine"\nlabel = "MINE"\nshape = "mine_ alnum{32}"\n'
        # Semicolons end a bare value: what the engine cannot find, the test says.
        '[[rule]]\nid = "gone"\nname = "Gone"\nlabel = "GONE"\nshape = "[a-z0-9;]{40}"\nnear = ["gone"]\n'
    )
    failed = _core.rules_test(Redactor(profile="none", rules=[path]))
    assert [rule for rule, _ in failed] == ["gone"]
    assert "is not found" in failed[0][1]


def test_files_extend_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(HARBOUR)
    path = tmp_path / "team.toml"
    path.write_text('[extend]\npath = "base.toml"\n')
    redactor = Redactor(profile="none", rules=[path])
    assert redactor.redact("hbr_0123456789ab").text == "[HARBOUR_TOKEN:REDACTED]"
    assert redactor.rules[0].form == ["hbr_[0-9a-f]{12}"]
    (tmp_path / "base.toml").unlink()
    with pytest.raises(ConfigError, match=r"team.toml: extend.path: cannot read .*base.toml"):
        Redactor(rules=[path])
