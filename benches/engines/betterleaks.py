"""betterleaks through pybetterleaks: Go behind ctypes and JSON. Finds, does not rewrite."""

# mypy: disable-error-code="import-not-found"
# (the library is in the peers' environment alone)

from __future__ import annotations

from protocol import Engine, Span, occurrences, serve


class Betterleaks(Engine):
    def setup(self) -> None:
        import pybetterleaks

        self.module = pybetterleaks

    def version(self) -> str:
        return f"pybetterleaks {self.module.__version__}, betterleaks {self.module.betterleaks_version()}"

    def count(self, document: str) -> int:
        return len(self.module.scan_text(document, raise_on_error=True).findings)

    def spans(self, text: str, profile: str) -> list[Span]:
        found = self.module.scan_text(text, redact=False, raise_on_error=True).findings
        return sorted(
            {span for f in found for span in occurrences(text, f.secret or f.match or "", f.rule_id)}
        )


if __name__ == "__main__":
    serve(Betterleaks)
