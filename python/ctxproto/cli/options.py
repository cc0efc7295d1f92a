"""Options that commands share, and how they join with the settings file: the command line goes first."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ctxproto import config
from ctxproto.cli import usage
from ctxproto.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxproto import Redactor

_Function = TypeVar("_Function", bound="Callable[..., Any]")

_KEY = "CTXPROTO_KEY"

# Findings kept in detail for each file; the rest is counted. About 20 MB.
DETAILS = 100_000

_DEFAULTS: dict[str, Any] = {
    "rules": [],
    "pii": "dangerous",
    "placeholder": "label",
    "format": "auto",
    "threads": None,
    "known_env": False,
    "memory": None,
    "allow.values": [],
    "allow.patterns": [],
    "allow.rules": [],
    "allow.keys": [],
}
# Lists on the command line add to the file's; anything else replaces it.
_LISTS = tuple(key for key, value in _DEFAULTS.items() if value == [])

_CONFIG = [
    click.option(
        "--config",
        "config_path",
        metavar="FILE",
        help="Take settings from FILE instead of the nearest ctxproto.toml or pyproject.toml.",
    ),
    click.option("--no-config", is_flag=True, help="Take no settings from any file."),
]
_POLICY = [
    click.option("--rules", metavar="FILE", multiple=True, help="Add the rules in FILE (TOML; ours or gitleaks')."),
    click.option(
        "--pii",
        metavar="SET",
        help="Personal data: dangerous (default: card, SSN, IBAN), all, none, or labels like EMAIL,PHONE.",
    ),
    click.option(
        "--allow",
        "allow_values",
        metavar="VALUE",
        multiple=True,
        help="Leave this very value alone. (Shells keep a history: a settings file does not.)",
    ),
    click.option(
        "--allow-pattern",
        "allow_patterns",
        metavar="REGEX",
        multiple=True,
        help="Leave the values that match from end to end alone.",
    ),
    click.option(
        "--allow-rule",
        "allow_rules",
        metavar="RULE",
        multiple=True,
        help="Switch off a rule, by id or label.",
    ),
    click.option(
        "--allow-key", "allow_keys", metavar="NAME", multiple=True, help="Leave the values of this key alone."
    ),
    click.option(
        "--known-env/--no-known-env",
        default=None,
        help="Also look for the values of environment variables whose names say that they are secret.",
    ),
]
_WORK = [
    click.option(
        "--format",
        type=usage.OneOf(["auto", "text", "json", "jsonl"]),
        help="How the inputs are laid out.  [default: auto, by their beginning]",
    ),
    click.option("--threads", type=usage.WholeNumber(1, 1024), help="Files at a time.  [default: one for each CPU]"),
]
_PLACEHOLDER = [
    click.option(
        "--placeholder",
        type=usage.OneOf(["label", "mask", "partial", "hash"]),
        help="What stands for a value: [LABEL:REDACTED] (default), ********, the public prefix and ********, or "
        "[LABEL:3f9a12c4], keyed with CTXPROTO_KEY from the environment.",
    ),
]


def config_options(function: _Function) -> _Function:
    """`--config` and `--no-config`."""
    return _apply(_CONFIG, function)


def policy_options(function: _Function) -> _Function:
    """What is looked for, and where that is written down."""
    return _apply(_POLICY + _CONFIG, function)


def work_options(function: _Function) -> _Function:
    """How inputs are worked on."""
    return _apply(_WORK, function)


def placeholder_option(function: _Function) -> _Function:
    """`--placeholder`."""
    return _apply(_PLACEHOLDER, function)


def _apply(options: Sequence[Callable[[_Function], _Function]], function: _Function) -> _Function:
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True)
class Setting:
    """A value and where it comes from."""

    value: Any
    source: str


@dataclass(frozen=True)
class Settings:
    """All settings of a call, resolved."""

    settings: dict[str, Setting]
    file: Path | None = None

    def __getitem__(self, key: str) -> Any:
        return self.settings[key].value

    @property
    def inputs(self) -> list[str | Path]:
        """The files that the settings come from, and those that they name."""
        return [*self["rules"], *([self.file] if self.file else [])]

    @property
    def threads(self) -> int:
        """Files at a time."""
        available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        return self["threads"] or len(available)

    def redactor(self, *, key: bytes | None = None, inline: bool = False) -> Redactor:
        """Compiles the policy; `key` is that of the fingerprints, by default CTXPROTO_KEY or a random one."""
        from ctxproto import Allow, Redactor, known_values_from_env
        from ctxproto.cli import output
        from ctxproto.tools.redact import check_key

        if key is None and (given := os.environ.get(_KEY)) is not None:
            key = check_key(_KEY, _bytes(given))
        known = known_values_from_env() if self["known_env"] else {}
        redactor = Redactor(
            rules=self["rules"],
            pii=self["pii"],
            allow=Allow(
                values=[_bytes(value) for value in self["allow.values"]],
                patterns=self["allow.patterns"],
                rules=self["allow.rules"],
                keys=self["allow.keys"],
                inline=inline,
            ),
            known_values={name: _bytes(value) for name, value in known.items()},
            placeholder=self["placeholder"],
            key=key,
        )
        for sentence in redactor.warnings:
            output.warning(sentence)
        return redactor


def _bytes(value: str) -> bytes:
    # Arguments and variables hold bytes that are not UTF-8 as surrogates.
    return value.encode("utf-8", "surrogateescape")


def resolve(config_path: str | None, no_config: bool, given: dict[str, Any]) -> Settings:  # noqa: FBT001
    """Joins defaults, the settings file and what was `given` on the command line (None or empty: nothing).

    Raises:
        ConfigError: The settings file is wrong.
    """
    if config_path is not None and no_config:
        raise ConfigError("--config and --no-config exclude each other")
    path = Path(config_path) if config_path is not None else None if no_config else config.find(Path.cwd())
    file = config.load(path) if path is not None else config.Config()
    settings = {key: Setting(value, "default") for key, value in _DEFAULTS.items()}
    for key, value in file.values.items():
        settings[key] = Setting(value, str(file.path))
    for option, value in given.items():
        key = option.replace("allow_", "allow.")
        if value is None or value == ():
            continue
        before = settings[key]
        if key in _LISTS:
            source = "command line" if before.source == "default" else f"{before.source}, command line"
            settings[key] = Setting([*before.value, *value], source)
        else:
            settings[key] = Setting(_pii(value) if key == "pii" else value, "command line")
    return Settings(settings, path)


def _pii(text: str) -> str | list[str]:
    if text in {"dangerous", "all", "none"}:
        return text
    return [label.strip() for label in text.split(",") if label.strip()]
