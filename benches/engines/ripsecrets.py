"""The ripsecrets program over the haystack's directory, process start included. Finds, does not rewrite."""

from __future__ import annotations

import subprocess
from pathlib import Path

from protocol import DirectoryEngine, serve


class Ripsecrets(DirectoryEngine):
    def __init__(self) -> None:
        super().__init__("ripsecrets")

    def version(self) -> str:
        return subprocess.run(
            [self.program, "--version"], capture_output=True, text=True, check=True
        ).stdout.strip()

    def scan(self, directory: str) -> list[tuple[int, str, str]]:
        done = subprocess.run(
            [self.program, "--only-matching", directory], capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):  # 1 says that something was found
            raise RuntimeError(done.stderr)
        found = (line.split(":", 2) for line in done.stdout.splitlines())
        return [(int(Path(file).stem), value, "secret") for file, _line, value in found]


if __name__ == "__main__":
    serve(Ripsecrets)
