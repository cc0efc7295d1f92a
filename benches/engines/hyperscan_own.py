"""Raw Hyperscan with ctxproto's own shape rules: the same data on the fastest general engine."""

from __future__ import annotations

import shapes
from hyperscan_raw import HyperscanRaw
from protocol import serve


class HyperscanOwn(HyperscanRaw):
    def rules(self) -> list[str]:
        return list(shapes.regexes())


if __name__ == "__main__":
    serve(HyperscanOwn)
