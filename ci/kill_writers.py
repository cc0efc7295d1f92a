"""Kills processes that write memories, at random moments, and looks for what was lost: `python ci/kill_writers.py`.

Each round, two processes write to one store, and say what they are about to delete and what they have done. Both are
killed (SIGKILL) while they start, open the file, write, or empty its log. Whatever was acknowledged must be there then,
whatever was deleted must not, no supersession may be half done, and the file must be whole. Now and then the store is a
new one, so that kills hit its making, too.

A kill takes the process and leaves the system: that the disk keeps what it was told to keep is not tested here.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ctxproto import MemoryStore

# Rounds after which a new store begins.
ROUNDS = 20

WRITER = """
import random, sys
from ctxproto import MemoryStore
path, name, seed = sys.argv[1:]
draw = random.Random(int(seed))
def say(*words):
    print(*words, flush=True)
say("started")
store = MemoryStore(path, wait=60)
own = []
while True:
    saved = store.save(f"u:{name}", f"of {name} " + "x" * draw.choice([1, 100, 5000, 60000]))
    say("saved", saved.memory_id)
    own.append(saved.memory_id)
    if draw.random() < 0.3:
        own.append(store.supersede(own.pop(), "u:", "better").memory_id)
        say("saved", own[-1])
    if draw.random() < 0.2:
        gone = own.pop(draw.randrange(len(own)))
        say("deleting", gone)
        store.delete(gone, "u:")
        say("deleted", gone)
    if draw.random() < 0.05:
        temporary = store.save(f"temporary:{name}", "y" * 20000).memory_id
        say("deleting", temporary)
        store.forget(f"temporary:{name}")
        say("deleted", temporary)
"""


class Account:
    """What the writers of one store said."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.saved: set[str] = set()
        self.perhaps: set[str] = set()
        self.deleted: set[str] = set()

    def hear(self, lines: list[str]) -> None:
        """Takes what one writer said before it was killed."""
        for word, *rest in map(str.split, lines):
            if word in {"saved", "deleting", "deleted"}:
                {"saved": self.saved, "deleting": self.perhaps, "deleted": self.deleted}[word].update(rest)

    def wrong(self) -> list[str]:
        """What is not as it was acknowledged."""
        if not self.path.exists():
            return ["the store is gone"] if self.saved else []
        with MemoryStore(self.path) as store:
            store.check()
            records = {record.memory_id: record for record in store.list("*", history=True)}
        found = [f"lost {one}" for one in self.saved - self.perhaps - records.keys()]
        found += [f"back {one}" for one in self.deleted & records.keys()]
        for record in records.values():
            before, after = record.supersedes, record.superseded_by
            # Either may have been deleted since.
            if before in records and records[before].superseded_by != record.memory_id:
                found.append(f"half superseded {before}")
            if after is not None and after not in records and after not in self.perhaps:
                found.append(f"half superseding {after}")
        return found


def attack(kills: int, seed: int) -> tuple[int, int]:
    """Kills so many writers; how many writes were acknowledged, and how many of them are not as they should be."""
    draw = random.Random(seed)  # noqa: S311 - to be repeated
    acknowledged = wrong = done = 0
    with tempfile.TemporaryDirectory() as folder:
        account = Account(Path(folder) / "0.db")
        while done < kills:
            if done // 2 % ROUNDS == 0:
                account = Account(Path(folder) / f"{done}.db")
            command = [sys.executable, "-c", WRITER, str(account.path)]
            writers = [
                subprocess.Popen([*command, f"{done + n}", str(draw.random())[2:]], stdout=subprocess.PIPE, text=True)
                for n in range(min(2, kills - done))
            ]
            for writer in writers:
                assert writer.stdout is not None  # noqa: S101
                # Most of the time goes into starting Python: the kills begin after that.
                first = writer.stdout.readline()
                time.sleep(draw.choice([0.0, 0.01, 0.1, 0.4]) * draw.random())
                writer.kill()
                account.hear([first, *(line for line in writer.stdout if line.endswith("\n"))])
                writer.wait()
                writer.stdout.close()
            done += len(writers)
            found = account.wrong()
            for line in found:
                print(f"after {done} kills: {line}", file=sys.stderr)
            wrong += len(found)
            if done // 2 % ROUNDS == 0 or done >= kills:
                acknowledged += len(account.saved)
                leftover = list(Path(folder).glob("*.new"))
                print(
                    f"{done} kills, {acknowledged} writes acknowledged, {wrong} wrong, {len(leftover)} beginnings left"
                )
    return acknowledged, wrong


def main() -> int:
    """Runs the attack; 1 when something was lost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    acknowledged, wrong = attack(options.kills, options.seed)
    return 1 if wrong or not acknowledged else 0


if __name__ == "__main__":
    sys.exit(main())
