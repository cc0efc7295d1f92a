"""ctxproto: finds and rewrites. What is timed is the whole redaction, the Python call included."""

from __future__ import annotations

from functools import cache
from typing import Any

from protocol import Engine, Span, serve

MESSAGE = 64 << 10  # up to here a message, which comes as str; above it a file, which comes as bytes


class Ctxproto(Engine):
    def setup(self) -> None:
        import ctxproto

        if ctxproto.build_info()["profile"] != "release":
            raise RuntimeError("a debug build says nothing about speed: build with the release profile")
        self.module = ctxproto
        self.redact = ctxproto.redact

    def version(self) -> str:
        info = self.module.build_info()
        return f"ctxproto {info['version']}, {info['profile']} build for {info['target']}"

    def prepare(self, text: str) -> str | bytes:
        return text if len(text) <= MESSAGE else text.encode()

    def count(self, document: str | bytes) -> int:
        return len(self.redact(document).findings)

    def run_many(self, documents: list[Any], threads: int) -> int:
        # The threads are as many as there are cores to this process: the harness sets that.
        return sum(len(redaction.findings) for redaction in self.redactor("default").redact_many(documents))

    def find(self, texts: list[str], profile: str) -> tuple[list[list[Span]], list[str] | None]:
        redactions = [self.redactor(profile).redact(text) for text in texts]
        spans = [[(f.start, f.end, f.label) for f in redaction.findings] for redaction in redactions]
        return spans, [redaction.text for redaction in redactions]

    @cache  # noqa: B019 - one engine a process
    def redactor(self, profile: str) -> Any:
        return self.module.Redactor(pii="all") if profile == "pii" else self.module.Redactor()


if __name__ == "__main__":
    serve(Ctxproto)
