"""The Kingfisher SDK: Rust and vectorscan, rules of its own. Finds, does not rewrite."""

# mypy: disable-error-code="import-not-found"
# (the library is in the peers' environment alone)

from __future__ import annotations

from protocol import Engine, Span, occurrences, serve


class Kingfisher(Engine):
    def setup(self) -> None:
        import kingfisher_sdk

        self.module = kingfisher_sdk
        self.rules = kingfisher_sdk.Rules()
        self.scanner = kingfisher_sdk.Scanner(self.rules, base64=False)

    def version(self) -> str:
        return f"kingfisher-secret-scanner {self.module.__version__}, {len(self.rules)} rules"

    def prepare(self, text: str) -> bytes:
        return text.encode()

    def count(self, document: bytes) -> int:
        return len(self.scanner.scan(document))

    def spans(self, text: str, profile: str) -> list[Span]:
        found = self.scanner.scan(text)
        return sorted({span for f in found for span in occurrences(text, f.secret, f.rule_id)})


if __name__ == "__main__":
    serve(Kingfisher)
