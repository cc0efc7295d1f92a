"""Presidio's pattern recognizers called directly, without a language model. PII only; finds only."""

# mypy: disable-error-code="import-not-found"
# (the library is in the peers' environment alone)

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from protocol import Engine, Span, serve


class Presidio(Engine):
    def setup(self) -> None:
        import tldextract
        from presidio_analyzer import predefined_recognizers as known

        # The e-mail recognizer would fetch the public suffix list at first use: the packaged copy will do.
        offline = tldextract.TLDExtract(suffix_list_urls=())
        for module in (tldextract, tldextract.tldextract):
            setattr(module, "extract", offline)  # noqa: B010 - a module's function, to mypy a constant
        names = ("CreditCard", "UsSsn", "Iban", "Ip", "Email", "Phone", "Crypto")
        self.recognizers: list[Any] = [getattr(known, f"{name}Recognizer")() for name in names]

    def version(self) -> str:
        return (
            f"presidio-analyzer {version('presidio-analyzer')}, {len(self.recognizers)} pattern recognizers"
        )

    def count(self, document: str) -> int:
        return len(self.spans(document, ""))

    def spans(self, text: str, profile: str) -> list[Span]:
        found: set[Span] = set()
        for recognizer in self.recognizers:
            for result in recognizer.analyze(text, recognizer.supported_entities, None) or ():
                if result.score > 0:
                    found.add((result.start, result.end, result.entity_type))
        return sorted(found)


if __name__ == "__main__":
    serve(Presidio)
