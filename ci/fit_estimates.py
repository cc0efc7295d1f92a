"""Fits the weights of an estimate: what a token of `o200k_base`, a digit, a sign and a wide character come to.

    python ci/fit_estimates.py TOKENIZER.json ... -- TEXT ...

The tokenizers are those of models, as the `tokenizers` package reads them (which has to be there); the texts should be
of all kinds that are to be counted, as many of each. Prints the weights for `_ESTIMATES` of `ctxproto/tokens.py`, and
how far from the truth a factor alone and the weights are on pieces that were not fitted.
"""

from __future__ import annotations

import random
import string
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from ctxproto import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

PIECE = 1500
PIECES = 12


def pieces(paths: list[str]) -> list[str]:
    """Some of each text."""
    rng = random.Random(5)  # noqa: S311 - a choice, no secret
    taken = []
    for path in paths:
        text = Path(path).read_text("utf-8", "replace")
        starts = rng.sample(range(max(1, len(text) - PIECE)), min(PIECES, max(1, len(text) // PIECE)))
        taken += [text[start : start + PIECE] for start in starts]
    return [piece for piece in taken if len(piece) > PIECE / 4]


def features(text: str) -> list[int]:
    """Tokens of the encoding, digits, signs (of a row of the same the first), and characters from U+3000 on."""
    signs = sum(c in string.punctuation and c != before for before, c in zip(" " + text, text, strict=False))
    digits = sum(c.isascii() and c.isdigit() for c in text)
    return [Tokenizer().count(text), digits, signs, sum(c >= "\u3000" and c != "\ufffd" for c in text)]


def fit(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights with the least square of relative errors."""
    return np.linalg.lstsq(x / y[:, None], np.ones(len(y)), rcond=None)[0].astype(np.float64)


def main() -> None:
    """Reads the arguments, prints a line a tokenizer."""
    from tokenizers import Tokenizer as Model  # type: ignore[import-not-found]

    if "--" not in sys.argv:
        sys.exit(__doc__)
    cut = sys.argv.index("--")
    texts = pieces(sys.argv[cut + 1 :])
    x = np.array([features(text) for text in texts], float)
    held = np.random.default_rng(1).random(len(texts)) < 0.4
    for path in sys.argv[1:cut]:
        model = Model.from_file(path)
        y = np.array([len(model.encode(text, add_special_tokens=False).ids) for text in texts], float)
        factor = y[~held].sum() / x[~held, 0].sum()
        for name, told in (
            (f"factor {factor:.2f}", x[held, 0] * factor),
            (f"weights {np.round(fit(x, y), 2)}", x[held] @ fit(x[~held], y[~held])),
        ):
            error = np.abs(told / y[held] - 1) * 100
            high = np.quantile(error, 0.95)
            print(f"{path}: {name}, off by {error.mean():.1f} % on average, by {high:.1f} % at the 95th percentile")


if __name__ == "__main__":
    main()
