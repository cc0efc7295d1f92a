"""What is done where nobody thinks about it: the beginning of a text, its end, or half of each."""

from __future__ import annotations

import sys

from protocol import Engine, project_tokenizer, serve

MARK = "\n[...]\n"


class Ends(Engine):
    """By tokens, so that each has all of its budget.

    `bytes` cuts at four bytes a token, as agents that do not count do, and `200 characters` keeps those of
    the beginning, as agents do with older results.
    """

    def setup(self) -> None:
        self.tokenizer = project_tokenizer()
        self.way = sys.argv[1]

    def version(self) -> str:
        return f"{self.way}, cut where the budget ends"

    def trim(self, text: str, budget: int, question: str | None) -> str:
        if self.way == "200 characters":
            return text[:200]
        ways = {"head": self.head, "tail": self.tail, "head+tail": self.both, "bytes": self.bytes}
        return ways[self.way](text, budget)

    def head(self, text: str, budget: int) -> str:
        return text[: self.tokenizer.limit(text, budget)]

    def tail(self, text: str, budget: int) -> str:
        return text[self.tokenizer.limit(text, budget, tail=True) :]

    def both(self, text: str, budget: int) -> str:
        room = budget - self.tokenizer.count(MARK) - 2  # two for tokens that the seams may split
        return self.head(text, room // 2) + MARK + self.tail(text, room - room // 2)

    def bytes(self, text: str, budget: int) -> str:
        raw = text.encode()
        half = (budget * 4 - len(MARK)) // 2
        return (raw[:half] + MARK.encode() + raw[-half:]).decode("utf-8", "ignore")


if __name__ == "__main__":
    serve(Ends)
