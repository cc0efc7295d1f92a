"""Writes the table by which the detector tells written names from random strings: rust/detect/src/bigrams.bin.

The table says how surprising each pair of neighbouring characters is in names that people write. It is counted on the
names, words, numbers and dotted paths in the source text of the Python standard library that runs this script (without
its tests), each taken once. The same interpreter version always gives the same bytes; the committed table
is from 3.11.7.

Usage: python ci/train_randomness.py [OUTPUT]
"""

import itertools
import math
import re
import sys
import sysconfig
from collections import Counter
from pathlib import Path

# Symbols: 26 small letters, 26 capitals, any digit, anything else (also what stands before the first character).
DIGIT, OTHER, SYMBOLS = 52, 53, 54
# The table has 64 rows of 64, so that an index is two symbols of six bits.
ROW = 64
# One unit is an eighth of a bit; no pair costs more than this many, so that one odd pair does not decide.
UNIT, MOST = 8, 96
# A character that repeats the one before it is filler as often as chance.
REPEATED = 16
# How many imagined pairs of the simpler model each row is smoothed with.
PRIOR = 50

RUN = re.compile(r"[A-Za-z0-9_.\-/+~]{4,64}")
# Digests and keys in the text are not names.
DIGEST = re.compile(r"[0-9a-fA-F]{24,}")
SKIPPED = {"test", "tests", "idle_test", "site-packages", "encodings", "lib2to3"}


def symbol(character: str) -> int:
    if "a" <= character <= "z":
        return ord(character) - ord("a")
    if "A" <= character <= "Z":
        return ord(character) - ord("A") + 26
    return DIGIT if "0" <= character <= "9" else OTHER


def letter(s: int) -> int:
    """The symbol without its case."""
    return s - 26 if 26 <= s < DIGIT else s


def kind(s: int) -> int:
    """0 small, 1 capital, 2 digit, 3 other."""
    return s // 26 if s < DIGIT else s - 50


def names(root: Path) -> set[str]:
    found: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        if not SKIPPED & set(path.relative_to(root).parts):
            found.update(RUN.findall(path.read_text("utf-8", "replace")))
    return {name for name in (n.strip(".-/") for n in found) if len(name) >= 4 and not DIGEST.search(name)}


def table(words: set[str]) -> bytes:
    pairs: Counter[tuple[int, int]] = Counter()
    for word in words:
        symbols = [OTHER, *map(symbol, word)]
        pairs.update(itertools.pairwise(symbols))
    letters: Counter[tuple[int, int]] = Counter()
    kinds: Counter[tuple[int, int]] = Counter()
    for (a, b), n in pairs.items():
        letters[letter(a), letter(b)] += n
        kinds[kind(a), kind(b)] += n
    overall = [sum(letters[a, b] for a in range(SYMBOLS)) for b in range(26)]
    out = bytearray(ROW * ROW)
    for a in range(SYMBOLS):
        row = sum(pairs[a, b] for b in range(SYMBOLS))
        of_kind = sum(kinds[kind(a), k] for k in range(4))
        of_letter = sum(letters[letter(a), b] for b in range(26))
        # Anything but a letter or digit costs nothing: random strings are grouped like names are.
        for b in range(OTHER):
            # Rare pairs lean on those of the same letters in either case, and on how often the case changes so.
            simple = (kinds[kind(a), kind(b)] + 1) / (of_kind + 4)
            if b < DIGIT:
                share = overall[letter(b)] / sum(overall)
                simple *= (letters[letter(a), letter(b)] + 20 * share) / (of_letter + 20)
            chance = (pairs[a, b] + PRIOR * simple) / (row + PRIOR)
            if b == DIGIT:
                chance /= 10
            cost = min(round(-math.log2(chance) * UNIT), MOST)
            out[a * ROW + b] = min(cost, REPEATED) if a == b and a < DIGIT else cost
    return bytes(out)


def main() -> None:
    default = Path(__file__).parent.parent / "rust/detect/src/bigrams.bin"
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    words = names(Path(sysconfig.get_path("stdlib")))
    output.write_bytes(table(words))
    print(f"{len(words)} names, Python {sys.version.split()[0]}: {output}", file=sys.stderr)


if __name__ == "__main__":
    main()
