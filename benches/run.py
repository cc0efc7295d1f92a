"""Runs every engine over every workload and writes the tables: `python benches/run.py [--help]`.

The engines take turns: each round gives every engine a short slice of time on the same haystack, so that
whatever else the machine does hits all of them. The figure is the median of all passes; the spread is that of
the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import haystacks
import quality
from harness import (
    BENCHES,
    Bar,
    EngineError,
    EngineProcess,
    EngineSpec,
    Workload,
    bars,
    cold_start,
    definitions,
)

README = BENCHES.parent / "README.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
UNITS = {"throughput": "MB/s", "latency": "us", "cold": "ms", "threads": "x"}
BETTER_LOW = ("latency", "cold")


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def summary(rounds: list[list[float]], scale: float) -> dict[str, float]:
    """Median of all passes and spread of the rounds: `scale / seconds`, or seconds times a negative scale."""
    medians = [_value(median(seconds), scale) for seconds in rounds]
    value = _value(median([second for seconds in rounds for second in seconds]), scale)
    return {"value": value, "min": min(medians), "max": max(medians)}


def _value(seconds: float, scale: float) -> float:
    return scale / seconds if scale > 0 else seconds * -scale


class Bench:
    """One run: the engine processes, the haystacks on disk, the results so far."""

    def __init__(self, options: argparse.Namespace, directory: Path) -> None:
        self.options = options
        self.directory = directory
        self.engines: dict[str, EngineProcess] = {}
        self.specs: list[EngineSpec] = []
        self.absent: dict[str, str] = {}
        self.failures: list[str] = []
        self.results: dict[str, dict[str, dict[str, Any]]] = {}
        self.quality: dict[str, dict[str, Any]] = {}

    def start(self, specs: list[EngineSpec]) -> None:
        """Starts what can be started."""
        for spec in specs:
            try:
                self.engines[spec.name] = EngineProcess(spec)
                self.specs.append(spec)
                say(f"{spec.name}: {self.engines[spec.name].version}")
            except EngineError as error:
                self.absent[spec.name] = str(error)
                say(f"{spec.name}: absent ({error})")

    def run(self, work: Workload) -> None:
        """One workload over all engines that take part."""
        try:
            haystack = haystacks.write(work.haystack, self.directory)
        except haystacks.Absent as error:
            say(f"{work.name}: skipped, {error}")
            return
        specs = [
            s
            for s in self.specs
            if work.haystack not in s.skip and (not work.engines or s.name in work.engines)
        ]
        measure = {"cold": self.cold, "threads": self.threads}.get(work.kind, self.passes)
        self.results[work.name] = measure(work, haystack, specs)
        for name, result in self.results[work.name].items():
            say(f"  {work.name:<26} {name:<22} {cell(result)} {UNITS[work.kind]}")
            expected = work.counts.get(name)
            if expected is not None and result.get("count") != expected:
                self.failures.append(
                    f"{work.name}: {name} counted {result.get('count')} findings, not {expected}"
                )

    def passes(self, work: Workload, haystack: Path, specs: list[EngineSpec]) -> dict[str, dict[str, Any]]:
        """MB/s over the haystack, or microseconds a document."""
        turns: dict[str, tuple[EngineProcess, int, int]] = {}
        for spec in specs:
            engine = self.engines[spec.name]
            engine.load(haystack, spec.bytes_limit())
            turns[spec.name] = (engine, *self.calibrate(engine, 0))
        rounds = self.rounds(turns, 0)
        results = {}
        for name, (engine, _, count) in turns.items():
            size = engine.size
            scale = size["bytes"] / 1e6 if work.kind == "throughput" else -1e6 / size["documents"]
            results[name] = {**summary(rounds[name], scale), "count": count, **size}
        return results

    def threads(self, work: Workload, haystack: Path, specs: list[EngineSpec]) -> dict[str, dict[str, Any]]:
        """How much faster two threads on two cores are than one on one, over the same messages."""
        if (os.cpu_count() or 1) < 2:
            say(f"{work.name}: skipped, one core")
            return {}
        results = {}
        for spec in specs:
            pair = {n: EngineProcess(spec, n) for n in (1, 2)}
            for engine in pair.values():
                engine.load(haystack, spec.bytes_limit(16))
            passes, count = self.calibrate(pair[1], 1)
            ratios = []
            for _ in range(self.options.rounds):
                seconds = {
                    n: median(engine.ask("measure", passes=passes, threads=n)["seconds"])
                    for n, engine in pair.items()
                }
                ratios.append(seconds[1] / seconds[2])
            size = pair[1].size
            results[spec.name] = {
                "value": median(ratios), "min": min(ratios), "max": max(ratios), "count": count, **size,
                "MB/s with two": size["bytes"] / 1e6 / seconds[2],
            }  # fmt: skip
            for engine in pair.values():
                engine.close()
        return results

    def cold(self, work: Workload, haystack: Path, specs: list[EngineSpec]) -> dict[str, dict[str, Any]]:
        """Fresh processes, taking turns; the slow ones fewer times."""
        text = next(haystack.iterdir())
        seconds: dict[str, list[list[float]]] = {spec.name: [[cold_start(spec, text)]] for spec in specs}
        for _ in range(self.options.rounds):
            for spec in specs:
                if seconds[spec.name][0][0] < 1 or len(seconds[spec.name]) < 3:
                    seconds[spec.name].append([cold_start(spec, text)])
        # The first start fills the file cache (and a rule cache, where the engine keeps one).
        return {name: summary(values[1:] or values, -1e3) for name, values in seconds.items()}

    def calibrate(self, engine: EngineProcess, threads: int) -> tuple[int, int]:
        """Warms up; returns how many passes make one slice, and the count of findings."""
        passes, spent = 1, 0.0
        while True:
            start = time.perf_counter()
            reply = engine.ask("measure", passes=passes, threads=threads)
            spent += time.perf_counter() - start
            one = median(reply["seconds"])
            if spent > self.options.slice / 2:
                return max(1, min(int(self.options.slice / one), 100_000)), reply["count"]
            passes = max(1, min(int(self.options.slice / 2 / one), 100_000))

    def rounds(
        self, turns: dict[str, tuple[EngineProcess, int, int]], threads: int
    ) -> dict[str, list[list[float]]]:
        """All engines in turn, `--rounds` times: seconds of each pass, by round."""
        seconds: dict[str, list[list[float]]] = {name: [] for name in turns}
        for number in range(self.options.rounds):
            for name, (engine, passes, count) in turns.items():
                if number >= 3 and seconds[name][0][0] > 2 * self.options.slice:
                    continue  # three long passes are enough of an engine that is slower than its turn
                reply = engine.ask("measure", passes=passes, threads=threads)
                if reply["count"] != count:
                    raise EngineError(
                        f"{name} counted {reply['count']} and {count} findings in the same text"
                    )
                seconds[name].append(reply["seconds"])
        return seconds

    def judge(self) -> None:
        """Quality, where the corpora are here."""
        for spec in self.specs:
            try:
                self.quality[spec.name] = quality.Judge(self.engines[spec.name]).all()
            except haystacks.Absent as error:
                say(f"quality: skipped, {error}")
                return
            except EngineError as error:
                self.failures.append(f"quality: {spec.name}: {error}")


def cell(result: dict[str, Any] | None) -> str:
    """`412 ±3%`: the median, and half the spread of the rounds."""
    if not result:
        return "–"
    value = number(result["value"])
    half = (result["max"] - result["min"]) / 2 / result["value"]
    return f"{value} ±{half:.0%}"


def number(value: float) -> str:
    """Three significant digits, or whole thousands with a comma."""
    return f"{value:,.0f}" if value >= 100 else f"{value:#.3g}".rstrip(".")


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """A table, the first column to the left, the others to the right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(bench: Bench, works: list[Workload], *, details: bool = True) -> str:
    """Speed and quality of all engines; without details, leaving out the rows that split another up."""
    names = [spec.name for spec in bench.specs]
    rows = [
        [
            f"{work.name}, {UNITS[work.kind]}",
            *(cell(bench.results[work.name].get(name)) for name in names),
        ]
        for work in works
        if bench.results.get(work.name)
    ]
    for title, key, write in quality.ROWS:
        if title.startswith("...") and not details:
            continue
        cells = [quality.cell(bench.quality.get(name, {}), key, write) for name in names]
        if any(c != "–" for c in cells):
            rows.append([title, *cells])
    return markdown(["work", *names], rows)


def held_to(bench: Bench, works: list[Workload]) -> str:
    """The figures of ctxproto itself beside what it is held to."""
    rows = []
    for work in works:
        result = bench.results.get(work.name, {}).get("ctxproto")
        if result and work.must is not None and work.goal is not None:
            bar = Bar(work.name, work.must, work.goal, work.kind in BETTER_LOW)
            rows.append([f"{work.name}, {UNITS[work.kind]}", cell(result), *verdict(result["value"], bar)])
    found = bench.quality.get("ctxproto", {})
    titles = {key: (title, write) for title, key, write in quality.ROWS}
    for bar in bars():
        if bar.measure in found:
            title, write = titles[bar.measure]
            rows.append([title, write(found), *verdict(found[bar.measure], bar)])
    return markdown(["work", "ctxproto", "must", "goal", "met"], rows) if rows else ""


def verdict(value: float, bar: Bar) -> list[str]:
    """The bar, the goal, and which of them is met."""
    must, goal = [value <= limit if bar.low else value >= limit for limit in (bar.must, bar.goal)]
    return [
        f"{'<=' if bar.low else '>='} {bar.must:g}",
        f"{bar.goal:g}",
        "goal" if goal else "yes" if must else "**no**",
    ]


def spreads(bench: Bench, works: list[Workload]) -> str:
    """Every figure with its lowest and highest round, its count and how much text it had."""
    rows = []
    for work in works:
        for name, r in bench.results.get(work.name, {}).items():
            span = f"{number(r['min'])} – {number(r['max'])}"
            size = f"{r['bytes'] / 1e3:,.0f}" if "bytes" in r else "–"
            rows.append(
                [
                    work.name,
                    name,
                    f"{number(r['value'])} {UNITS[work.kind]}",
                    span,
                    str(r.get("count", "–")),
                    size,
                ]
            )
    return markdown(["work", "engine", "median", "rounds", "findings", "KB"], rows)


def cpu() -> str:
    """The processor's name as the kernel gives it."""
    info = Path("/proc/cpuinfo")
    match = re.search(r"model name\s*: (.+)", info.read_text()) if info.exists() else None
    return match[1].strip() if match else platform.processor() or platform.machine()


def write_results(bench: Bench, works: list[Workload], started: datetime) -> None:
    """The record of this run, RESULTS.md, and the README's table."""
    machine: dict[str, Any] = {
        "cpu": cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    versions = {name: engine.version for name, engine in bench.engines.items()}
    record = {
        "started": started.isoformat(timespec="seconds"),
        "machine": machine,
        "python": platform.python_version(),
        "rounds": bench.options.rounds,
        "slice": bench.options.slice,
        "versions": versions,
        "absent": bench.absent,
        "failures": bench.failures,
        "speed": bench.results,
        "quality": bench.quality,
    }
    slug = re.sub(r"[^a-z0-9]+", "-", machine["cpu"].lower()).strip("-")
    file = BENCHES / "record" / f"{started:%Y-%m-%d}-{slug}.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")

    head = (
        f"{machine['cpu']}, {machine['cores']} cores, {started:%Y-%m-%d}; one core an engine, "
        f"median of {bench.options.rounds} rounds"
    )
    parts = [
        "# Results\n\nWritten by `benches/run.py`, not by hand. How the figures are taken, and what is\n"
        "unfair about them, is in [README.md](README.md).",
        head + ". `±` is half the spread of the rounds.",
        tables(bench, works),
        "## What ctxproto is held to",
        held_to(bench, works) or "ctxproto took no part in this run.",
        "## Engines",
        "\n".join([f"- {name}: {version}" for name, version in versions.items()]
                  + [f"- {name}: absent ({why})" for name, why in bench.absent.items()]),
        "## Every figure",
        spreads(bench, works),
    ]  # fmt: skip
    if bench.failures:
        parts += ["## Failures", "\n".join(f"- {failure}" for failure in bench.failures)]
    (BENCHES / "RESULTS.md").write_text("\n\n".join(parts) + "\n")
    say(f"wrote {file} and {BENCHES / 'RESULTS.md'}")
    if bench.failures:
        say("the table in README.md is left as it was: this run has failures")
    elif README.exists():
        text = README.read_text()
        if BEGIN in text and END in text:
            before, rest = text.split(BEGIN, 1)
            block = (
                f"{BEGIN}\n{tables(bench, works, details=False)}\n\n{head} ([how](benches/README.md)).\n{END}"
            )
            README.write_text(before + block + rest.split(END, 1)[1])
            say(f"wrote the table in {README}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the benchmark and print the table.")
    parser.add_argument(
        "--engine", action="append", default=[], metavar="NAME", help="only this engine (repeatable)"
    )
    parser.add_argument(
        "--workload", action="append", default=[], metavar="NAME", help="only workloads with this in the name"
    )
    parser.add_argument("--rounds", type=int, default=9, help="turns of each engine per workload (default 9)")
    parser.add_argument(
        "--slice", type=float, default=0.5, metavar="SECONDS", help="time of one turn (default 0.5)"
    )
    parser.add_argument("--quick", action="store_true", help="three short rounds, nothing written")
    parser.add_argument("--no-quality", action="store_true", help="speed only")
    parser.add_argument("--no-write", action="store_true", help="print the table, write no file")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.slice, options.no_write = 3, 0.1, True
    if options.engine or options.workload or options.no_quality:
        options.no_write = True  # a part of a run is no record
    return options


def main() -> int:
    options = arguments()
    specs, works = definitions()
    unknown = set(options.engine) - {spec.name for spec in specs}
    if unknown:
        say(f"no such engine: {', '.join(sorted(unknown))} (there are {', '.join(s.name for s in specs)})")
        return 2
    specs = [spec for spec in specs if not options.engine or spec.name in options.engine]
    works = [
        work for work in works if not options.workload or any(part in work.name for part in options.workload)
    ]
    started = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="ctxproto-bench-") as directory:
        bench = Bench(options, Path(directory))
        bench.start(specs)
        for work in works:
            bench.run(work)
        if not options.no_quality:
            bench.judge()
        for engine in bench.engines.values():
            engine.close()
    print(tables(bench, works))
    if held := held_to(bench, works):
        print("\n" + held)
    if not options.no_write:
        write_results(bench, works, started)
    for failure in bench.failures:
        say(f"FAILED {failure}")
    return 1 if bench.failures or not bench.specs else 0


if __name__ == "__main__":
    sys.exit(main())
