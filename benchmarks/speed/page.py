"""One page of tables and pictures from the stored results of all that measures speed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import Block, Picture, Table, Text, origin, publish, stored
from benchmarks.speed import pictures

Row = dict[str, Any]

LARGE, PEERS = "results.jsonl", "peers.jsonl"
GROWTH, CORES = "growth.jsonl", "cores.jsonl"
GPU = "gpu.json"
# What a row is about; the rest of it was measured.
SETTING = (
    "axis",
    "step",
    "whose",
    "method",
    "data",
    "n",
    "d",
    "m",
    "pairs",
    "cores",
    "workers",
)
AXES = {"n": "rows", "d": "columns", "m": "landmarks", "pairs": "pairs"}
# Exponents are fitted to the last points of a curve: what does not grow counts least there.
N_FITTED = 3


@dataclass
class Shown:
    """What a section shows, and its lines of the table at the top: what, and how much."""

    blocks: list[Block]
    expect: list[list[str]] = field(default_factory=list)


@dataclass(frozen=True)
class Section:
    """A part of the page: made of one file, which a command writes."""

    title: str
    file: str
    command: str
    show: Callable[[list[Row], Path], Shown]
    words: str = ""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def number(value: Any) -> str:
    """Three digits that count, or what else there is."""
    if not is_number(value):
        return "" if value is None else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    digits = 2 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, digits):,.{max(0, digits)}f}" if digits < 6 else f"{value:.1e}"


def merged(rows: list[Row]) -> list[Row]:
    """One row for each setting: medians of what was measured, and how far apart its times are."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(key) for key in SETTING), []).append(row)
    found = []
    for group in groups.values():
        medians = {key: value for row in reversed(group) for key, value in row.items()}
        for key, value in medians.items():
            if key not in SETTING and is_number(value):
                middle = float(np.median([row[key] for row in group if is_number(row.get(key))]))
                medians[key] = int(middle) if isinstance(value, int) else middle
        times = [row["seconds"] for row in group if is_number(row.get("seconds"))]
        if len(times) > 1:
            medians |= {"rounds": len(times), "fastest": min(times), "slowest": max(times)}
        found.append(medians)
    return found


def span(row: Row) -> str:
    """From the fastest to the slowest round."""
    if "rounds" not in row:
        return "once"
    return f"{number(row['fastest'])} to {number(row['slowest'])}"


def exponent(sizes: list[float], values: list[float]) -> float:
    """Of a power of the size, fitted to the last points."""
    last = slice(-N_FITTED, None)
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log(sizes[last]), np.log(values[last]), 1)[0])


def large(rows: list[Row], folder: Path) -> Shown:
    """KernelBeta beside the bare product and Nystroem, at the largest size of all."""
    n = max(row["n"] for row in rows)
    rows = merged([row for row in rows if row["n"] == n])
    body, times, memory = [], [], []
    for data in dict.fromkeys(row["data"] for row in rows):
        mine = {row["method"]: row for row in rows if row["data"] == data}
        bare, slow = mine["bare product"]["seconds"], mine["Nystroem"]["seconds"]
        warm = mine["product, warm buffer"]["seconds"]
        for method, row in mine.items():
            seconds = row["seconds"]
            row["beyond"] = row["peak_gb"] - row["input_gb"] - row["output_gb"]
            cells = [
                n / seconds,
                seconds / warm,
                seconds / bare,
                slow / seconds,
                row["peak_gb"],
                row["beyond"],
                row["columns"],
            ]
            body.append([f"{data}: {method}", number(seconds), span(row), *map(number, cells)])
        ours = mine["KernelBeta"]
        times.append(
            f"{data} data {number(ours['seconds'])} s: {number(slow / ours['seconds'])} times as "
            f"fast as `Nystroem`, {number(ours['seconds'] / warm)} × the matrix product alone"
        )
        memory.append(
            f"{data} {number(ours['beyond'])} GB (`Nystroem` {number(mine['Nystroem']['beyond'])})"
        )
        if data == "clustered":
            pictures.rates_and_memory(mine, n, folder / "large.png")
    size = f"{n:,} rows of {rows[0].get('d', 50)} columns, {rows[0].get('m', 1000)} landmarks"
    expect = [
        [f"`KernelBeta`, {size}: fit and transform", "; ".join(times)],
        ["the same: memory beyond input and output", "; ".join(memory)],
    ]
    columns = [
        f"{n:,} rows",
        "seconds",
        "fastest to slowest",
        "rows a second",
        "time ÷ product, warm buffer",
        "time ÷ bare product",
        "times as fast as Nystroem",
        "peak GB",
        "beyond in- and output",
        "columns out",
    ]
    picture = Picture(
        "large.png",
        "Rows a second and peak memory of the bare product, KernelBeta and Nystroem.",
    )
    return Shown([picture, Table("Fit and transform", columns, body)], expect)


def peers(rows: list[Row], folder: Path) -> Shown:
    """All methods at sizes that all of them can do."""
    rows = merged(rows)
    sizes = sorted({row["n"] for row in rows})
    blocks: list[Block] = []
    if not any(row["whose"] == "metric-learn" for row in rows):
        blocks.append(Text("metric-learn was not there: `NEARKIN_PEER_PYTHON` was not set."))
    pictures.rates(rows, folder / "peers.png")
    blocks.append(Picture("peers.png", "Rows a second, fit and transform, of every method."))
    race, expect = [], []
    for n in sizes:
        mine = {row["method"]: row for row in rows if row["n"] == n}
        bare = mine["bare product"]["seconds"]
        body = [
            [
                method,
                row["whose"],
                number(row["seconds"]),
                span(row),
                number(n / row["seconds"]),
                number(row["seconds"] / bare),
                number(n / row["transform"]),
                number(row["peak_gb"]),
                f"{row['auc']:.3f}",
            ]
            for method, row in sorted(mine.items(), key=lambda item: item[1]["seconds"])
        ]
        columns = [
            f"{n:,} rows",
            "of",
            "seconds",
            "fastest to slowest",
            "rows a second",
            "time ÷ bare product",
            "rows a second, transform alone",
            "peak GB",
            "pair AUC, new rows",
        ]
        first = mine["bare product"]
        title = (
            f"{n:,} rows of {first['d']} columns in 10 classes; {first['m']} landmarks or "
            f"components, {first['pairs']} pairs, or all labels; default settings"
        )
        blocks.append(Table(title, columns, body, n_words=2))
        faster = []
        for method in ("RCA", "ITML", "LMNN"):
            ours, theirs = mine.get(method), mine.get(f"metric-learn {method}")
            if ours is None or theirs is None:
                continue
            ratio = theirs["seconds"] / ours["seconds"]
            faster.append(f"`{method}` {number(ratio)}")
            race.append(
                [
                    f"{method}, {n:,} rows",
                    number(ours["seconds"]),
                    number(theirs["seconds"]),
                    number(ratio),
                    f"{ours['auc']:.3f}",
                    f"{theirs['auc']:.3f}",
                ]
            )
        if faster and n == sizes[-1]:
            what = f"times as fast as metric-learn's, {n:,} rows of {first['d']} columns"
            expect.append([what, ", ".join(faster)])
    if race:
        columns = ["", "nearkin, s", "metric-learn, s", "times as fast", "pair AUC", "theirs"]
        blocks.append(Table("The same learner of two libraries", columns, race))
    return Shown(blocks, expect)


def growth(rows: list[Row], folder: Path) -> Shown:
    """Curves in n, d, m and pairs, with their exponents."""
    curves: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    body, expect = [], []
    rows = merged(rows)
    for axis, name in AXES.items():
        for method in dict.fromkeys(row["method"] for row in rows if row.get("axis") == axis):
            mine = [row for row in rows if row.get("axis") == axis and row["method"] == method]
            mine.sort(key=lambda row: row[axis])
            sizes = [row[axis] for row in mine]
            seconds = [row["seconds"] for row in mine]
            curves.setdefault(axis, {})[method] = sizes, seconds
            power = exponent(sizes, seconds)
            others = ", ".join(
                f"{mine[0][key]:,} {words}"
                for key, words in AXES.items()
                if key != axis and not (key == "m" and method != "KernelBeta")
                if not (key == "pairs" and method == "Generative")
            )
            span = f"{sizes[0]:,} to {sizes[-1]:,}"
            cells = [span, others, number(seconds[0]), number(seconds[-1]), f"{power:.2f}"]
            body.append([f"{name}: {method}", *cells, number(mine[-1]["peak_gb"])])
            if (axis, method) == ("n", "KernelBeta"):
                what = f"`KernelBeta`: time with the number of rows, up to {sizes[-1]:,}"
                expect.append([what, f"n^{power:.2f}"])
    pictures.growth(curves, exponent, AXES, folder / "growth.png")
    columns = [
        "what grows: learner",
        "from, to",
        "the rest",
        "first, s",
        "last, s",
        "exponent",
        "peak GB, last",
    ]
    alt = "Seconds by the numbers of rows, columns, landmarks and pairs, on logarithmic axes."
    title = f"Fit and transform; exponents of the last {N_FITTED} sizes"
    return Shown([Picture("growth.png", alt), Table(title, columns, body, n_words=3)], expect)


def cores(rows: list[Row], folder: Path) -> Shown:
    """One core against all."""
    del folder
    rows = merged(rows)
    most = max(row["cores"] for row in rows)
    body, ratios = [], []
    for method, step in dict.fromkeys((row["method"], row["step"]) for row in rows):
        mine = [row for row in rows if row["method"] == method and row["step"] == step]
        one = next(row for row in mine if row["cores"] == 1)
        full = next(row for row in mine if row["cores"] == most)
        ratio = one[step] / full[step]
        busy = full[f"{step}_work"] / full[step]
        name = "query" if method.startswith("NeighborIndex") else step
        size = f"{one['n']:,} × {one['d']}"
        body.append([f"{method}: {name}", size, *map(number, (one[step], full[step], ratio, busy))])
        ratios.append(f"`{method}` {number(ratio)}")
    columns = ["", "data", "one core, s", f"{most} cores, s", "ratio", "cores kept busy"]
    table = Table(f"One core and {most}", columns, body, n_words=2)
    return Shown([table], [[f"times as fast on {most} cores as on one", "; ".join(ratios)]])


def gpu(found: dict[str, Row], folder: Path) -> Shown:
    """Figures of an accelerator, with what its matrix product and its memory could do."""
    del folder
    found = dict(found)
    about = found.pop("about", {})
    libraries = list(found)
    names = list(dict.fromkeys(name for figures in found.values() for name in figures))
    reached, shares = [], []
    for library, figures in found.items():
        transform = figures.get("KernelBeta transform, rows/s")
        product = figures.get("ceiling: landmark product, rows/s")
        if transform is None:
            continue
        share = ""
        if product is not None:
            square = figures["ceiling: square product, TFLOP/s"]
            small = figures["ceiling: landmark product, TFLOP/s"]
            cells = [transform, product, 100 * transform / product, small, square]
            cells += [100 * small / square, figures["ceiling: copy, GB/s"]]
            shares.append([library, *map(number, cells)])
            share = f", {number(100 * transform / product)} % of the matrix product alone"
        reached.append((transform, library, share))
    expect = []
    if reached:
        transform, library, share = max(reached)
        what = f"`KernelBeta.transform` by {library} on {about.get('device', 'a GPU')}"
        expect.append([what, f"{number(transform / 1e6)} million rows a second{share}"])
    blocks: list[Block] = []
    if about:
        blocks.append(Text(", ".join(f"{name}: {value}" for name, value in about.items()) + "."))
    if shares:
        columns = [
            "",
            "transform, rows/s",
            "landmark product alone, rows/s",
            "% of it reached",
            "landmark product, TFLOP/s",
            "square product, TFLOP/s",
            "% of square",
            "copy, GB/s",
        ]
        blocks.append(Table("What is reached of what was measured as possible", columns, shares))
    body = [[name, *(number(found[lib].get(name)) for lib in libraries)] for name in names]
    blocks.append(Table("All figures", ["figure", *libraries], body))
    return Shown(blocks, expect)


def gpu_stream(found: dict[str, Row], folder: Path) -> Shown:
    """Files that a GPU maps, beside reading and writing alone."""
    del folder
    about, seconds = found["about"], found["seconds"]
    then, beside = seconds["read then write"], seconds["read beside write"]
    body = [
        [
            name,
            number(took),
            number(about["rows"] / took),
            number(then / took),
            number(beside / took),
        ]
        for name, took in seconds.items()
    ]
    columns = [
        "",
        "seconds",
        "rows a second",
        "speed ÷ reading then writing",
        "speed ÷ reading beside writing",
    ]
    title = f"{about['rows']:,} rows of 50 columns, {about['cores']} cores, {about['device']}"
    share = number(then / seconds["KernelBeta"])
    what = "`KernelBeta`, from one Parquet file to another by way of a GPU"
    return Shown(
        [Table(title, columns, body)], [[what, f"{share} of the speed of reading then writing"]]
    )


def from_benchmark(name: str) -> Callable[[list[Row], Path], Shown]:
    """The tables and the headline of a benchmark of its own, imported only if it was measured."""

    def show(rows: list[Row], folder: Path) -> Shown:
        benchmark = import_module(f"benchmarks.speed.{name}")
        return Shown(list(benchmark.tables(rows)), [benchmark.headline(rows)])

    return show


SPEED = "python -m benchmarks speed"
SECTIONS = (
    Section(
        "A million rows",
        LARGE,
        SPEED,
        large,
        "The bare product is that of rows and landmarks, all of it kept in new memory. What new "
        "memory costs differs much from round to round, so compare with the product in a warm "
        "buffer too: it keeps nothing of what it computes, and is arithmetic alone.",
    ),
    Section(
        "Beside other learners",
        PEERS,
        SPEED,
        peers,
        "Sizes that all of them can do. Fixed costs count most here: the peak is mainly what a "
        "library loads. Learners do not learn the same, so the pair AUC of rows that none of them "
        "has seen stands beside the time.",
    ),
    Section(
        "Growth",
        GROWTH,
        SPEED,
        growth,
        "One number grows, the others stay. `MetricLearner` has a budget of ten seconds for "
        "what it compares, which bounds its curves.",
    ),
    Section(
        "Cores",
        CORES,
        SPEED,
        cores,
        "Libraries are told by their environment variables to keep to one core. The cores kept "
        "busy are processor time ÷ time.",
    ),
    Section(
        "Arrays on a GPU",
        GPU,
        "python -m benchmarks.speed.gpu --out benchmarks/speed/gpu.json",
        gpu,
        "The ceilings are measured in the same run, in float32 without TF32: the product of rows "
        "and landmarks and nothing else, a large square product, and a copy.",
    ),
    Section(
        "Files by way of a GPU",
        "gpu_stream.json",
        "python -m benchmarks.speed.gpu_stream --out benchmarks/speed/gpu_stream.json",
        gpu_stream,
        "From one Parquet file to another, read from memory that caches it. Reading then writing "
        "is the time of both alone, one after the other; beside each other, of the longer.",
    ),
    Section(
        "Larger than memory",
        "streaming.jsonl",
        "python -m benchmarks streaming",
        from_benchmark("streaming"),
    ),
    Section(
        "The command line",
        "command_line.jsonl",
        "python -m benchmarks command_line",
        from_benchmark("command_line"),
        "Of a command the start counts too, most of which is the import of scikit-learn, SciPy and "
        "Numba.",
    ),
    Section(
        "On a cluster",
        "dask.jsonl",
        "python -m benchmarks dask",
        from_benchmark("cluster"),
    ),
    Section(
        "A thousand workers",
        "thousand_workers.jsonl",
        "python -m benchmarks thousand_workers",
        from_benchmark("thousand_workers"),
    ),
    Section(
        "What a job will cost",
        "estimate.jsonl",
        "python -m benchmarks estimate",
        from_benchmark("estimate"),
    ),
    Section(
        "One more pair",
        "one_more_pair.jsonl",
        "python -m benchmarks one_more_pair",
        from_benchmark("one_more_pair"),
    ),
    Section(
        "Nearest neighbours",
        "neighbor_index.jsonl",
        "python -m benchmarks neighbor_index",
        from_benchmark("neighbor_index"),
    ),
)


def section_blocks(section: Section, folder: Path) -> Shown:
    """A section with its heading and where its numbers come from, or which command makes it."""
    heading = Text(f"## {section.title}")
    path = folder / section.file
    if not path.exists():
        return Shown([heading, Text(f"Not measured yet: `{section.command}` does it.")])
    words = [Text(section.words)] if section.words else []
    if path.suffix == ".json":
        shown = section.show(json.loads(path.read_text()), folder)
        footer = []
    else:
        source, rows = stored(path)
        shown = section.show(rows, folder)
        footer = [Text(origin(source))]
    return Shown([heading, *words, *shown.blocks, *footer], shown.expect)


def write(folder: Path) -> None:
    """README.md in the folder, and the pictures beside it, from the files in the folder."""
    sections = [section_blocks(section, folder) for section in SECTIONS]
    expect = [line for shown in sections for line in shown.expect]
    others = sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    blocks: list[Block] = [
        Text(
            "Times are of one machine. Ratios are between methods that took turns on it, each in a "
            f"process of its own. All numbers are medians of rounds; what takes over five seconds "
            f"is measured once. `{SPEED}` measures the first four parts again, `{SPEED} --tables` "
            "only redraws the page."
        ),
        Table("What to expect", ["", "measured"], expect, n_words=2),
        *(block for shown in sections for block in shown.blocks),
    ]
    if others:
        links = ", ".join(f"[{name}]({name})" for name in others)
        blocks += [Text("## More"), Text(f"Single methods in detail: {links}.")]
    publish(folder / "README.md", "Speed and memory", blocks, None)
