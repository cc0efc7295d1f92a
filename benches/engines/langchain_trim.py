"""LangChain's `trim_messages` on the tool's message, with parts of it allowed: lines, whole, from one end.

Without `allow_partial` it drops a message that does not fit, and nothing would be left of it. Counted by the
benchmark's tokenizer, the text alone, so that it has all of the budget.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Any

from protocol import Engine, project_tokenizer, serve


class Langchain(Engine):
    def setup(self) -> None:
        from langchain_core.messages import ToolMessage, trim_messages

        self.message, self.trimmed = ToolMessage, trim_messages
        self.tokenizer = project_tokenizer()
        self.strategy: Any = sys.argv[1]

    def version(self) -> str:
        return f"langchain-core {version('langchain-core')}, trim_messages, {self.strategy}, allow_partial"

    def trim(self, text: str, budget: int, question: str | None) -> str:
        kept = self.trimmed(
            [self.message(text, tool_call_id="call")],
            max_tokens=budget,
            token_counter=lambda messages: sum(self.tokenizer.count(message.content) for message in messages),
            strategy=self.strategy,
            allow_partial=True,
        )
        return kept[0].content if kept else ""


if __name__ == "__main__":
    serve(Langchain)
