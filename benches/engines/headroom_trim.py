"""headroom: `compress` on a conversation with the tool's result in it, and the question if there is one.

It knows no budget of tokens. `compress` is what it makes by its defaults; what is longer than the budget is
cut to half of it from each end, since else nothing would count. `fitted` turns the one thing it has to
turn, the number of lines its compressor of logs leaves, until the text just fits, and is `compress` where
that leaves nothing. Its model for prose is off: it must be fetched over the network, and is for prose.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
from importlib.metadata import version

from ends import Ends
from protocol import serve

os.environ |= {"HEADROOM_TELEMETRY": "off", "HF_HUB_OFFLINE": "1"}
CALL = {"id": "call", "type": "function", "function": {"name": "run", "arguments": "{}"}}


class Headroom(Ends):
    takes_questions = True

    def setup(self) -> None:
        super().setup()
        from headroom import compress
        from headroom.transforms.log_compressor import LogCompressor, LogCompressorConfig

        self.compress, self.logs, self.config = compress, LogCompressor, LogCompressorConfig
        self.known: dict[tuple[str, int], str] = {}

    def version(self) -> str:
        return f"headroom-ai {version('headroom-ai')}, {self.way}"

    def trim(self, text: str, budget: int, question: str | None) -> str:
        question = f"What is {question}?" if question else "What went wrong, and how did it end?"
        if self.way == "fitted":
            # It looks at no question: once is enough for all of them.
            key = (text, budget)
            if key not in self.known:
                self.known[key] = self.fitted(text, budget)
            if self.known[key]:
                return self.known[key]
        made = self.compress(
            [
                {"role": "user", "content": question},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "call", "content": text},
            ],
            model="gpt-4o",
            protect_recent=0,
            kompress_model="disabled",
        )
        short: str = made.messages[-1]["content"]
        return short if self.tokenizer.count(short) <= budget else self.both(short, budget)

    def fitted(self, text: str, budget: int) -> str:
        """The most lines that fit, where it takes the text for lines."""
        if text[:1] in "{[":
            return ""
        best = ""
        low, high = 1, 1024
        while low <= high:
            most = (low + high) // 2
            limits = ("max_total_lines", "max_errors", "max_warnings", "max_stack_traces")
            config = self.config(**dict.fromkeys(limits, most))
            short = self.logs(config).compress(text).compressed
            if self.tokenizer.count(short) <= budget:
                best, low = max(best, short, key=len), most + 1
            else:
                high = most - 1
        return best


if __name__ == "__main__":
    serve(Headroom)
