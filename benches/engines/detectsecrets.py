"""detect-secrets: Python, one regex after another on every line of a file. Finds, does not rewrite.

`scan_file` and not `scan_line`: the latter is for trying out single strings and reports every quoted word.
"""

# mypy: disable-error-code="import-not-found"
# (the library is in the peers' environment alone)

from __future__ import annotations

import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from protocol import Engine, Span, occurrences, serve


class DetectSecrets(Engine):
    def setup(self) -> None:
        from detect_secrets.core.scan import scan_file
        from detect_secrets.settings import default_settings

        self.scan_file = scan_file
        self.settings = default_settings()
        self.settings.__enter__()  # for the life of the process
        self.directory = tempfile.TemporaryDirectory(prefix="ctxproto-bench-")
        self.files = 0

    def version(self) -> str:
        return f"detect-secrets {version('detect-secrets')}, default plugins"

    def prepare(self, text: str) -> str:
        file = Path(self.directory.name) / f"{self.files:06}.txt"
        self.files += 1
        file.write_text(text)
        return str(file)

    def count(self, document: Any) -> int:
        return len(list(self.scan_file(document)))

    def spans(self, text: str, profile: str) -> list[Span]:
        starts = [0]
        lines = text.splitlines(keepends=True)
        for line in lines:
            starts.append(starts[-1] + len(line))
        found = set()
        for secret in self.scan_file(self.prepare(text)):
            at = secret.line_number - 1
            for start, end, label in occurrences(lines[at], secret.secret_value or "", secret.type):
                found.add((starts[at] + start, starts[at] + end, label))
        return sorted(found)


if __name__ == "__main__":
    serve(DetectSecrets)
