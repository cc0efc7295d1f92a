"""Findings as SARIF 2.1.0, for code scanning dashboards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxproto import __version__

if TYPE_CHECKING:
    from ctxproto import Finding, Rule
    from ctxproto.cli.run import Account, Entry

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def document(account: Account) -> dict[str, Any]:
    """One SARIF log with one run; rules are listed where they found something."""
    used = set(account.by_rule())
    rules = [rule for rule in account.redactor.rules if rule.id in used]
    index = {rule.id: number for number, rule in enumerate(rules)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "ctxproto",
                        "semanticVersion": __version__,
                        "rules": [_rule(rule) for rule in rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": account.complete,
                        "toolExecutionNotifications": [
                            _notification(entry) for entry in account.entries if entry.error is not None
                        ],
                    }
                ],
                "results": [_result(entry, found, index) for entry in account.entries for found in entry.findings],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.label,
        "shortDescription": {"text": rule.name},
        "defaultConfiguration": {"level": "warning" if rule.pii else "error"},
    }


def _result(entry: Entry, found: Finding, index: dict[str, int]) -> dict[str, Any]:
    where = f" at {found.key_path}" if found.key_path else ""
    return {
        "ruleId": found.rule,
        "ruleIndex": index[found.rule],
        "message": {"text": f"{found.label} found{where}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": entry.uri},
                    "region": {"startLine": found.line, "startColumn": found.column},
                }
            }
        ],
        "partialFingerprints": {"ctxproto/v1": found.fingerprint},
    }


def _notification(entry: Entry) -> dict[str, Any]:
    return {
        "level": "error" if entry.status == "failed" else "note",
        "message": {"text": f"{entry.status}: {entry.error}"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": entry.uri}}}],
    }
