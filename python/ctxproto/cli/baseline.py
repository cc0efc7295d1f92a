"""A baseline: what was found before, so that only news is told.

It holds no value: a finding is known by its path, its rule and a keyed fingerprint. The key is a salt
drawn when the file is made and kept in it, so fingerprints are stable for one baseline and mean nothing
to any other.
"""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from ctxproto.cli import run
from ctxproto.errors import ConfigError
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from ctxproto import Finding

_SALT = 32


class Baseline:
    """What is known, and what is to be written."""

    def __init__(self, key: bytes, known: set[tuple[str, str, str]], root: Path, new: Path | None) -> None:
        """`known` holds (path, rule, fingerprint), with paths relative to `root`."""
        self.key = key
        self._known, self._root, self._new = known, root, new
        self._found: set[tuple[str, str, str]] = set()

    def sift(self, entry: run.Entry) -> int:
        """Takes what is known out of `entry` and says how much that was."""
        fresh: list[Finding] = []
        for found in entry.findings:
            known = (self._place(entry.path), found.rule, found.fingerprint)
            self._found.add(known)
            if known in self._known:
                entry.counts[found.rule] -= 1
            else:
                fresh.append(found)
        old = len(entry.findings) - len(fresh)
        entry.findings = fresh
        entry.counts = {rule: number for rule, number in entry.counts.items() if number}
        if entry.status == "found" and not entry.counts:
            entry.status = "clean"
        return old

    def save(self) -> None:
        """Writes all that was found, known or not."""
        if self._new is None:
            return
        found = [
            {"path": path, "rule": rule, "fingerprint": fingerprint} for path, rule, fingerprint in sorted(self._found)
        ]
        document = {"schema": 1, "salt": self.key.hex(), "findings": found}
        run.save(self._new, json.dumps(document, indent=2, ensure_ascii=False) + "\n")

    def _place(self, path: str) -> str:
        """A path as the baseline names it: the same from whichever directory the scan is run."""
        if path == run.STDIN:
            return path
        return Path(os.path.relpath(path, self._root)).as_posix()


def load(known: str | None, new: str | None) -> Baseline | None:
    """Prepares for `--baseline` and `--write-baseline`; a file that is written again keeps its salt.

    Raises:
        ConfigError: A file is not a baseline.
    """
    if known is None and new is None:
        return None
    target = Path(new) if new is not None else None
    if known is not None:
        key, findings = _read(Path(known))
    elif target is not None and target.exists():
        key, findings = _read(target)[0], set()
    else:
        key, findings = secrets.token_bytes(_SALT), set()
    return Baseline(key, findings, Path(str(known or new)).parent, target)


def _read(path: Path) -> tuple[bytes, set[tuple[str, str, str]]]:
    shown = shown_path(path)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the baseline {shown}: {error.strerror}") from None
    except ValueError:
        raise ConfigError(f"{shown} is not a baseline: it is not JSON") from None
    try:
        if document["schema"] != 1:
            raise ConfigError(f"{shown} is a baseline of another version of ctxproto (schema 1 is known)")
        salt = bytes.fromhex(document["salt"])
        findings = {(one["path"], one["rule"], one["fingerprint"]) for one in document["findings"]}
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{shown} is not a baseline") from None
    if len(salt) != _SALT:
        raise ConfigError(f"{shown} is not a baseline: its salt has {len(salt)} bytes, not {_SALT}")
    return salt, findings
