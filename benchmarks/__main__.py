"""`python -m benchmarks [NAME ...]`: tables of ratios over hand-written NumPy gradients, and of the graph's mechanics.

May import: environment and kept first, everything else after it has pinned the BLAS threads.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence

from . import environment, kept

REPEATS, QUICK_REPEATS = 5, 2
"""Processes per figure; the median of their results is shown."""


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Forward and backward of arraygrad, divided by the leanest hand-written NumPy gradient.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="beginnings of workload or figure names; none: all")
    parser.add_argument(
        "--peers", help="comma-separated: torch, jax, autograd, mygrad; default: those installed; 'none'"
    )
    parser.add_argument("--json", metavar="FILE", help="also write every number to FILE")
    parser.add_argument("--history", metavar="NAME",
                        help="also write the tables to benchmarks/history/NAME.txt, for a landed change")  # fmt: skip
    parser.add_argument("--rounds", type=int, help="rounds per workload instead of the default")
    parser.add_argument("--quick", action="store_true", help="shorter and rougher")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: time spent running only, for a machine that others use as well")  # fmt: skip
    parser.add_argument("--settled", action="store_true",
                        help="free one large array first: malloc keeps freed memory (not for bars)")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--profile", metavar="SECONDS", type=float,
                        help="run arraygrad's side of the named workload again and again, for a profiler")  # fmt: skip
    parser.add_argument("--device", metavar="NAME", help="cuda: the table of one GPU, beside PyTorch and JAX on it")
    options = parser.parse_args(arguments)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds needs at least 1")
    if options.history is not None and not kept.is_name(options.history):
        parser.error("--history needs a name of letters, digits, dots, - and _")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    if options.device is not None:
        from .device import main as measure_device  # before threads are pinned: JAX would be kept to the CPU

        peers = None if options.peers is None else options.peers.split(",")
        return measure_device(
            options.device, peers=peers, names=options.names, quick=options.quick, json_file=options.json
        )
    environment.pin_threads()
    from .libraries import PEERS, Arraygrad
    from .mechanics import FIGURES
    from .workloads import WORKLOADS

    def chosen(names):
        return [n for n in names if not options.names or any(n.startswith(wanted) for wanted in options.names)]

    workloads = [WORKLOADS[n] for n in chosen(WORKLOADS)]
    figures = [FIGURES[n] for n in chosen(FIGURES)]
    unknown = [w for w in options.names if not any(n.startswith(w) for n in (*WORKLOADS, *FIGURES))]
    if unknown:
        print(f"no workload or figure begins with {', '.join(unknown)}; --list shows the names", file=sys.stderr)
        return 2
    if options.list:
        for entry in (*workloads, *figures):
            print(f"{entry.name:22} {entry.title}")
        return 0
    if options.peers is None:
        peers = [n for n, cls in PEERS.items() if cls.installed()]
    else:
        peers = [n for n in options.peers.split(",") if n and n != "none"]
        for name in peers:
            if name not in PEERS or not PEERS[name].installed():
                print(f"peer {name!r} is {'not installed' if name in PEERS else 'unknown'}", file=sys.stderr)
                return 2
    if not Arraygrad.installed():
        print("arraygrad is not importable: install it, or set PYTHONPATH=src after building in place", file=sys.stderr)
        return 2
    if options.profile:
        return profile(workloads, options.profile)

    report = {
        "environment": environment.describe(),
        "quick": options.quick,
        "clock": options.clock,
        "settled": options.settled,
        "lines": [],
        "ratios": [],
        "figures": [],
    }
    failed = False
    if workloads:
        failed |= ratios(workloads, peers, options, report)
    if figures:
        failed |= mechanics(figures, peers, options, report)
    if options.history:
        kept.write(options.history, report)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(report, out, indent=1)
    return 1 if failed else 0


def ratios(workloads, peers: Sequence[str], options: argparse.Namespace, report: dict) -> bool:
    """Prints the table of ratios line by line. Returns whether arraygrad failed anywhere."""
    from .harness import measure
    from .libraries import LIBRARIES
    from .table import ratio_header, ratio_line

    libraries = [LIBRARIES[name]() for name in ("arraygrad", *peers)]
    print("forward + backward over hand-written NumPy; median [quartiles] of interleaved rounds; lower is better")
    print(ratio_header(peers), flush=True)
    report["lines"].append(ratio_header(peers))
    failed = False
    for workload in workloads:
        row = measure(
            workload,
            libraries,
            rounds=options.rounds,
            quick=options.quick,
            clock=options.clock,
            settled=options.settled,
        )
        line = ratio_line(row, peers)
        print(line, flush=True)
        report["lines"].append(line)
        report["ratios"].append(row.as_dict())
        failed |= "arraygrad" in row.problems
    print()
    return failed


def mechanics(figures, peers: Sequence[str], options: argparse.Namespace, report: dict) -> bool:
    """Prints the table of figures. Returns whether arraygrad failed anywhere."""
    from .harness import Spread
    from .mechanics import PROBED
    from .table import figure_header, figure_line

    columns = ["hand", *peers]
    print("graph mechanics; median [quartiles] over fresh processes")
    print(figure_header(columns), flush=True)
    report["lines"] += ["", figure_header(columns)]
    results: dict[tuple[str, str], list[dict] | str] = {}
    failed = False
    for figure in figures:
        found, problems = {}, {}
        for library in ("arraygrad", *columns):
            if library not in PROBED[figure.probe]:
                continue
            key = (figure.probe, library)
            if key not in results:
                results[key] = probe(figure.probe, library, options)
            outcome = results[key]
            if isinstance(outcome, str):
                problems[library] = outcome
            else:
                found[library] = Spread.of([result[figure.key] for result in outcome])
        line = figure_line(figure, found, problems, columns)
        print(line, flush=True)
        report["lines"].append(line)
        failed |= "arraygrad" in problems
        report["figures"].append(
            {
                "name": figure.name,
                "unit": figure.unit,
                "bar": figure.bar,
                "moonshot": figure.moonshot,
                "values": {name: vars(spread) for name, spread in found.items()},
                "problems": problems,
            }
        )
    return failed


def probe(name: str, library: str, options: argparse.Namespace) -> list[dict] | str:
    """Results of one probe from several processes, or what went wrong."""
    command = [sys.executable, "-m", "benchmarks.probe", name, library, *(["--quick"] if options.quick else [])]
    command += ["--cpu"] if options.clock == "cpu" else []
    results = []
    for _ in range(QUICK_REPEATS if options.quick else REPEATS):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            return f"exit {done.returncode}: {lines[-1] if lines else 'no message (crashed)'}"
        results.append(json.loads(done.stdout))
    return results


def profile(workloads, seconds: float) -> int:
    """Nothing but arraygrad's runs of one workload, for `perf record` or callgrind."""
    from time import perf_counter

    from .libraries import Arraygrad

    library = Arraygrad()
    for workload in workloads:
        run = workload.run_of(library, workload.data())
        end, calls = perf_counter() + seconds, 0
        while perf_counter() < end:
            run()
            calls += 1
        print(f"{workload.name}: {calls} runs, {seconds / calls * 1e6:.1f} us each")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
