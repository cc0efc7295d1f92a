"""ctxproto: redacts and trims. A question becomes a pattern: its words, as they stand."""

from __future__ import annotations

import re
import sys
from typing import Any

from protocol import Engine, serve


class Ctxproto(Engine):
    takes_questions = "not asked" not in sys.argv

    def setup(self) -> None:
        import ctxproto

        if ctxproto.build_info()["profile"] != "release":
            raise RuntimeError("a debug build says nothing about speed: build with the release profile")
        self.module = ctxproto
        self.strategy: Any = sys.argv[1]

    def version(self) -> str:
        return f"ctxproto {self.module.build_info()['version']}, strategy {self.strategy}, with redaction"

    def trim(self, text: str, budget: int, question: str | None) -> str:
        patterns = [re.escape(question)] if question else []
        return self.module.Trimmer(budget, strategy=self.strategy, patterns=patterns).trim(text).text


if __name__ == "__main__":
    serve(Ctxproto)
