#!/usr/bin/env python3
"""Measures two Triton kernels and torch.matmul on a suite of `tilewright bench`, by its method, into its JSON form.

    python3 bench/triton_peer.py --suite bench/suites/gpu.csv --json triton.json
    tilewright bench --merge record.json triton.json --json joined.json --html page.html

Run by hand on a machine that has a GPU, PyTorch and Triton; nothing of the project needs it. docs/bench-method.md is
the method. `triton_plain` is the plain masked kernel at 64x32x32 with 4 warps and 3 stages; `triton_grouped` goes over
its tiles in groups of rows and masks K alone, the best of TILES; `torch` is torch.matmul. Start at measure_case.
"""

import argparse
import concurrent.futures
import csv
import datetime
import functools
import json
import math
import multiprocessing
import pathlib
import statistics
import subprocess
import sys
import time

import torch
import triton
import triton.language as tl

# BM, BN, BK, warps, stages
TILES = [(128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 4),
         (128, 128, 32, 4, 4), (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 256, 32, 4, 4),
         (64, 64, 64, 4, 3), (64, 32, 32, 4, 3), (32, 128, 64, 4, 4), (16, 64, 64, 4, 4)]
PLAIN = (64, 32, 32, 4, 3)
GROUP = 8
# Offsets are of 32 bits, as Triton's own examples have them; no case may have more elements than that.
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16}
UNITS = {"f16": (2.0**-11, 2.0**-25), "bf16": (2.0**-8, 2.0**-134)}  # of docs/numerics.md
REPLAY_US, WARM_US, MOST_SETS, MOST_CALLS, LEAST_ROUNDS, MOST_ROUNDS = 1000, 300, 4096, 8192, 6, 101
PRODUCTS = 2**27  # of a verification


@triton.jit
def plain(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns = tl.cdiv(N, BN)
    m = tl.program_id(0) // columns * BM + tl.arange(0, BM)
    n = tl.program_id(0) % columns * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a + m[:, None] * sam + k[None, :] * sak
    b_at = b + k[:, None] * sbk + n[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        x = tl.load(a_at, mask=(m[:, None] < M) & (k[None, :] < left), other=0.0)
        y = tl.load(b_at, mask=(k[:, None] < left) & (n[None, :] < N), other=0.0)
        acc = tl.dot(x, y, acc)
        a_at += BK * sak
        b_at += BK * sbk
    out = c + m[:, None] * scm + n[None, :] * scn
    tl.store(out, acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def grouped(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
            GM: tl.constexpr):
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    in_group = GM * columns
    first = tl.program_id(0) // in_group * GM
    height = min(rows - first, GM)
    m = (first + tl.program_id(0) % in_group % height) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) % in_group // height) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    # Rows and columns beyond the matrix wrap around: they are read and never stored, and loads need no mask for them.
    a_at = a + (m % M)[:, None] * sam + k[None, :] * sak
    b_at = b + k[:, None] * sbk + (n % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = K - step * BK
        x = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc)
        a_at += BK * sak
        b_at += BK * sbk
    out = c + m[:, None] * scm + n[None, :] * scn
    tl.store(out, acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


class Case:
    """A line of the suite, for one type; leading dimensions are never 0."""

    def __init__(self, row, types):
        number = lambda key, default: int(row.get(key) or default)
        self.name, self.group, self.layout, self.types = row["name"], row["group"], row["layout"], types
        self.m, self.n, self.k = int(row["m"]), int(row["n"]), int(row["k"])
        self.step, self.offset = number("step", 1), number("offset", 0)
        self.stepb = number("stepb", 0) or self.step
        self.lda = number("lda", 0) or (self.m if self.layout[0] == "t" else self.k) * self.step
        self.ldb = number("ldb", 0) or (self.k if self.layout[1] == "t" else self.n) * self.stepb
        self.ldc = number("ldc", 0) or self.n

    flops = property(lambda self: 2.0 * self.m * self.n * self.k)
    bytes = property(lambda self: 2.0 * (self.m * self.k + self.k * self.n + self.m * self.n))

    def strides(self):
        """Of A, B and C: of rows and of columns."""
        a = (self.step, self.lda) if self.layout[0] == "t" else (self.lda, self.step)
        b = (self.stepb, self.ldb) if self.layout[1] == "t" else (self.ldb, self.stepb)
        return a, b, (self.ldc, 1)

    def sizes(self):
        """Elements of the memory of A, B and C."""
        return (self.offset + (self.k if self.layout[0] == "t" else self.m) * self.lda,
                self.offset + (self.n if self.layout[1] == "t" else self.k) * self.ldb, self.offset + self.m * self.ldc)


def read_suite(path):
    with open(path, newline="") as file:
        lines = [line for line in file if line.strip() and not line.startswith("#")]
    cases = [Case(row, types) for row in csv.DictReader(lines) for types in row["types"].split() if types in TYPES]
    return [case for case in cases if max(case.sizes()) < 2**31]


def arguments_of(case):
    a, b, c = case.strides()
    return (case.m, case.n, case.k, *a, *b, *c)


def compile_tile(job):
    """In a process of its own: leaves one tile's kernels for all cases in Triton's cache."""
    tile, is_plain, cases = job
    for case in cases:
        launch(tile, is_plain, (TYPES[case.types],) * 3, case, warmup=True)


def launch(tile, is_plain, abc, case, warmup=False):
    bm, bn, bk, warps, stages = tile
    grid = (triton.cdiv(case.m, bm) * triton.cdiv(case.n, bn),)
    keys = {"BM": bm, "BN": bn, "BK": bk, "num_warps": warps, "num_stages": stages}
    kernel = plain if is_plain else grouped
    if not is_plain:
        keys["GM"] = GROUP
    if warmup:
        kernel.warmup(*abc, *arguments_of(case), grid=grid, **keys)
    else:
        kernel[grid](*abc, *arguments_of(case), **keys)


class Sets:
    """The operands of a case, so many times that they exceed twice the L2."""

    def __init__(self, case, l2_bytes):
        self.count = min(max(math.ceil(2 * l2_bytes / case.bytes), 2), MOST_SETS)
        spaced = [-(-size // 128) * 128 for size in case.sizes()]
        self.memory = [torch.empty(self.count * size, dtype=TYPES[case.types], device="cuda") for size in spaced]
        for memory, size in zip(self.memory[:2], spaced):
            memory[:size].uniform_(-1, 1)
            memory.view(self.count, size)[1:] = memory[:size]
        extents = (case.m, case.k), (case.k, case.n), (case.m, case.n)
        self.views = [tuple(torch.as_strided(memory, shape, strides, case.offset + i * size)
                            for memory, size, shape, strides in zip(self.memory, spaced, extents, case.strides()))
                      for i in range(self.count)]

    def poison(self):
        self.memory[2].fill_(float("nan"))


def fault_of(case, sets):
    """What is wrong with C of the last set, and the worst error as a fraction of the bound."""
    a, b, c = sets.views[-1]
    untouched = int(torch.isnan(c).sum())
    if untouched:
        return f"wrong: {untouched} elements of C were not written", math.inf
    edge = max(1, math.isqrt(max(1, PRODUCTS // case.k)))
    rows = torch.randperm(case.m, device="cuda")[:edge]
    cols = torch.randperm(case.n, device="cuda")[:max(1, PRODUCTS // case.k // len(rows))]
    x, y = a[rows].double(), b[:, cols].double()
    expected, magnitude, got = x @ y, x.abs() @ y.abs(), c[rows][:, cols].double()
    relative, least = UNITS[case.types]
    nu = (case.k + 2) * 2.0**-23
    bound = (nu / (1 - nu) if nu < 1 else nu) * magnitude + 1.01 * relative * expected.abs() + least
    worst = float(((got - expected).abs() / bound).max())
    return ("" if worst <= 1 else f"wrong: {worst:.3g} of the bound"), worst


def us_between(work):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


@functools.cache
def capture_stream():
    return torch.cuda.Stream()


class Replay:
    """Calls over all sets (or the first alone) as a graph that takes a millisecond or more."""

    def __init__(self, call, sets):
        self.call, self.sets = call, sets
        call(0)
        torch.cuda.synchronize()
        self.capture(sets)
        self.us_of_replay()
        us = max(self.us_of_replay(), 1)
        self.us = us / sets
        repeats = min(math.ceil(REPLAY_US / us), MOST_CALLS // sets)
        if repeats > 1:
            self.capture(repeats * sets)

    def capture(self, calls):
        self.calls, self.graph = calls, torch.cuda.CUDAGraph()
        with torch.cuda.stream(capture_stream()):  # torch.cuda.graph would collect garbage each time
            self.graph.capture_begin(capture_error_mode="thread_local")
            for i in range(calls):
                self.call(i % self.sets)
            self.graph.capture_end()

    def us_of_replay(self):
        return us_between(self.graph.replay)

    def sample(self):
        """Microseconds of one call; where calls are short, a replay before it is not timed."""
        if self.us < WARM_US:
            self.graph.replay()
        self.us = self.us_of_replay() / self.calls
        return self.us


def estimate(samples):
    """As src/measure/estimator.cpp."""
    values, n = sorted(samples), len(samples)

    def at(part):
        below = int(part * (n - 1))
        return values[below] + (values[min(below + 1, n - 1)] - values[below]) * (part * (n - 1) - below)

    k, missed = 1, 2 * 0.5**n
    while 2 * (k + 1) <= n and 1 - missed - 2 * math.comb(n, k) * 0.5**n >= 0.95:
        missed += 2 * math.comb(n, k) * 0.5**n
        k += 1
    half = n // 2
    drift = statistics.median(samples[n - half:]) / statistics.median(samples[:half]) - 1
    return {"us": at(0.5), "spread": (at(0.75) - at(0.25)) / 2 / at(0.5), "us_low": values[k - 1],
            "us_high": values[n - k], "confidence": 1 - missed, "drift": drift, "rounds": n}


def contenders_of(case):
    """By name: the ways, each a name and a function of a set's views."""
    text = lambda tile: "{}x{}x{} w{} s{}".format(*tile)
    return {
        "triton_plain": [(text(PLAIN), lambda abc: launch(PLAIN, True, abc, case))],
        "triton_grouped": [(text(tile), lambda abc, tile=tile: launch(tile, False, abc, case)) for tile in TILES],
        "torch": [("torch.matmul", lambda abc: torch.matmul(abc[0], abc[1], out=abc[2]))],
    }


def choose(case, sets, ways):
    """Verifies and times each way shortly; the best one's replay, and the start of its entry."""
    entry, best, trials = {"failed": "it has no way to do this"}, None, []
    for name, way in ways:
        trial = {"way": name}
        trials.append(trial)
        try:
            sets.poison()
            replay = Replay(lambda i: way(sets.views[i]), sets.count)
            fault, worst = fault_of(case, sets)
            trial["us"] = min(replay.sample() for _ in range(3))
        except Exception as error:  # a tile may need more shared memory than there is
            fault = str(error).splitlines()[0][:200]
        if fault:
            trial["failed"] = fault
            if best is None:
                entry = {"failed": f"{name}: {fault}"}
        elif best is None or trial["us"] < best[0]:
            best, entry = (trial["us"], replay, way), {"way": name, "worst_error": worst}
    if len(ways) > 1:
        entry["trials"] = trials
    return entry, best


def rounds_of(samplers, seconds):
    """Samples of each in turns."""
    series, start, names = {name: [] for name in samplers}, time.monotonic(), list(samplers)
    for number in range(MOST_ROUNDS):
        if number >= LEAST_ROUNDS and time.monotonic() - start >= seconds:
            break
        for i in range(len(names)):
            name = names[(i + number) % len(names)]
            series[name].append(samplers[name]())
    return series


def measure_case(case, l2_bytes, seconds):
    sets = Sets(case, l2_bytes)
    entries, bests = {}, {}
    for name, ways in contenders_of(case).items():
        entries[name], best = choose(case, sets, ways)
        if best:
            bests[name] = best
    cold = {name: best[1] for name, best in bests.items()}
    warm = {name: Replay(lambda i, way=best[2]: way(sets.views[0]), 1) for name, best in bests.items()}
    torch.cuda.synchronize()
    for name, samples in rounds_of({name: replay.sample for name, replay in cold.items()}, seconds).items():
        entry, figures = entries[name], estimate(samples)
        rates = {"gflops": case.flops / figures["us"] * 1e-3, "gbytes_per_second": case.bytes / figures["us"] * 1e-3}
        entries[name] = {**figures, **rates, "calls": cold[name].calls, **entry}
    for name, samples in rounds_of({name: replay.sample for name, replay in warm.items()}, seconds / 4).items():
        figures = estimate(samples)
        entries[name].update({"warm_us": figures["us"], "warm_spread": figures["spread"]})
    return {"name": case.name, "group": case.group, "m": case.m, "n": case.n, "k": case.k, "layout": case.layout,
            "types": case.types, "threads": 1, "contenders": entries, "lda": case.lda, "ldb": case.ldb,
            "ldc": case.ldc, "offset": case.offset, "step": case.step, "stepb": case.stepb}


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value


def commit():
    try:
        command = ["git", "describe", "--always", "--abbrev=40", "--dirty"]
        folder = pathlib.Path(__file__).resolve().parent
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", required=True, metavar="FILE.csv")
    parser.add_argument("--json", required=True, metavar="FILE")
    parser.add_argument("--case", metavar="NAMES", help="only these cases, with commas between")
    parser.add_argument("--seconds", type=float, default=1, metavar="S", help="of rounds for each case (default: 1)")
    parser.add_argument("--commit", metavar="HASH", help="of this file, where its folder is in no repository of ours")
    options = parser.parse_args()
    cases = read_suite(options.suite)
    if options.case:
        cases = [case for case in cases if case.name in options.case.split(",")]
    if not cases:
        sys.exit("no such case")
    # Kernels are compiled by processes side by side; afterwards each is found in Triton's cache.
    jobs = [(PLAIN, True, cases)] + [(tile, False, cases) for tile in TILES]
    with concurrent.futures.ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compile_tile, jobs))
    properties = torch.cuda.get_device_properties(0)
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    triton_version = {"version": "Triton " + triton.__version__}
    torch_version = {"version": f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}"}
    record = {"device": properties.name, "commit": options.commit or commit(), "target": "cuda", "date": date,
              "method": "docs/bench-method.md", "suite": options.suite.rsplit("/", 1)[-1], "plan_asked": "",
              "seconds_per_case": options.seconds, "geometric_means": [],
              "libraries": {"triton_plain": triton_version, "triton_grouped": triton_version, "torch": torch_version}}
    head = "".join(f"{json.dumps(key)}: {json.dumps(value)},\n" for key, value in record.items())
    lines = []
    for number, case in enumerate(cases):
        lines.append(json.dumps(rounded(measure_case(case, properties.L2_cache_size, options.seconds))))
        torch.cuda.empty_cache()
        with open(options.json, "w") as file:  # after each case: what was measured stays, whatever comes
            file.write("{\n" + head + '"cases": [\n' + ",\n".join(lines) + "\n]\n}\n")
        print(f"\r{number + 1} of {len(cases)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


if __name__ == "__main__":
    main()
