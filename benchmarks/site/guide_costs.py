"""What the guide says of time and memory: docs/guide/*.md."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.record import ROOT, Table
from benchmarks.site import Row, rows_of
from benchmarks.site.guide import shown
from benchmarks.speed import cluster, estimate, one_more_pair
from benchmarks.speed.page import merged, number
from benchmarks.studio.run import NAMES

_MILLION = 1_000_000


def _median(rows: list[Row], key: str) -> float:
    return float(np.median([row[key] for row in rows]))


def pairs() -> str:
    """Seconds of what is done with millions of pairs."""
    rows = rows_of("speed/pairs.jsonl")
    sizes = sorted({row["n_pairs"] for row in rows})
    body = []
    for name in dict.fromkeys(row["name"] for row in rows):
        runs = [[row for row in rows if (row["name"], row["n_pairs"]) == (name, n)] for n in sizes]
        body.append([f"`{name}`", *(f"{_median(some, 'seconds'):.2f}" for some in runs)])
    columns = ["seconds", *(f"{n // _MILLION} million pairs" for n in sizes)]
    return shown(Table("", columns, body))


def clusters() -> str:
    """Seconds and memory of groups."""
    rows = rows_of("clusters/results.jsonl")
    few = [row["seconds"] for row in rows if row.get("method") == "Clusters"]
    grown = max((row for row in rows if row.get("part") == "growth"), key=lambda row: row["n"])
    return shown(
        f"Up to 1000 rows take {np.mean(few):.0f} s on average, including the metric. "
        f"{grown['n']:,} rows with {grown['n_cannot']:,} cannot-links take "
        f"{grown['seconds']:.0f} s and {grown['memory_gb']:.1f} GB on two cores."
    )


def search() -> str:
    """A million rows, and ten neighbours."""
    rows = [row for row in rows_of("speed/neighbor_index.jsonl") if row["rows"] == _MILLION]
    body = [
        [
            row["search"],
            f"{row['build']:.1f}",
            f"{row['query_ms']:.3f}",
            f"{row['single_ms']:.2f}",
            f"{row['add']:.2f}",
            f"{row['memory']:.2f}",
            f"{row['recall']:.3f}",
        ]
        for row in rows
    ]
    columns = ["search", "build, s", "a query of a thousand, ms", "a query alone, ms"]
    columns += ["1 % more rows, s", "GB", "found of ten"]
    return shown(Table("", columns, body))


def records() -> str:
    """Growth with the number of records, in memory and on dask."""
    rows = rows_of("records/results.jsonl")
    grown = sorted((row for row in rows if "largest" in row), key=lambda row: row["n_records"])
    body = [
        [
            f"{one['n_records']:,}",
            f"in memory, groups of up to {one['largest']}",
            f"{sum(seconds for _, seconds in one['steps'].values()):.0f}",
            f"{one['memory_gb']:.1f}",
            f"{one['f1']:.3f}",
        ]
        for one in grown
    ]
    body += [
        [
            f"{one['n_on_dask']:,}",
            f"{one['workers']} workers of dask",
            f"{one['seconds']:.0f}",
            f"{one['memory_gb']:.1f}, and {one['worker_memory_gb']:.1f} for each worker",
            f"{one['f1']:.3f}",
        ]
        for one in rows
        if "n_on_dask" in one
    ]
    columns = ["records", "where", "seconds of all cores", "GB", "F1 without answers"]
    return shown(Table("", columns, body, n_words=2))


def one_more() -> str:
    """What a person waits for after one more answer."""
    rows = rows_of("speed/one_more_pair.jsonl")
    names = dict.fromkeys(row["name"] for row in rows)
    waits = {
        name: np.median(one_more_pair.milliseconds(rows, name, "answer", "learn", "view"))
        for name in names
    }
    return shown(
        f"Learning from one more answer and moving {one_more_pair.N_ROWS:,} rows to their new "
        f"places takes {min(waits.values()):.0f} to {max(waits.values()):.0f} ms, depending on the "
        f"learner ({len(waits)} learners, two cores)."
    )


def estimates() -> str:
    """How near estimates are."""
    rows = rows_of("speed/estimate.jsonl")
    near, in_factor, inside, in_memory = estimate.within(rows)
    return shown(
        f"Of {len(rows)} jobs whose times were not used to build the estimate, on a busy machine, "
        f"time was predicted within "
        f"25 % for {near}, within a factor of 2 for {in_factor}, and in the stated interval for "
        f"{inside}; memory within 10 % for {in_memory}. An estimate took "
        f"{_median(rows, 'calibration'):.0f} s."
    )


def growth() -> str:
    """Seconds from few rows to many."""
    rows = [row for row in merged(rows_of("speed/growth.jsonl")) if row.get("axis") == "n"]
    body = []
    for method in dict.fromkeys(row["method"] for row in rows):
        mine = sorted((row for row in rows if row["method"] == method), key=lambda row: row["n"])
        first, last = mine[0], mine[-1]
        body.append(
            [
                f"`{method}`, {first['d']} columns",
                f"{number(first['seconds'])} s for {first['n']:,}",
                f"{number(last['seconds'])} s for {last['n']:,}",
                f"{number(last['peak_gb'])}",
            ]
        )
    columns = ["fit and transform", "few rows", "many rows", "GB at most"]
    return shown(Table("", columns, body), "On two cores; `KernelBeta` has 1000 landmarks.")


def streaming() -> str:
    """From file to file."""
    rows = [row for row in rows_of("speed/streaming.jsonl") if row["method"] == "KernelBeta"]
    body = []
    for n in sorted({row["n"] for row in rows}):
        mine = [row for row in rows if row["n"] == n]
        keys = ("read_seconds", "fit_seconds", "transform_seconds", "peak_gb")
        body.append(
            [f"{n:,}", f"{mine[0]['input_gb']:.2f}", *(f"{_median(mine, key):.2f}" for key in keys)]
        )
    columns = ["rows of 50 columns", "file, GB", "read once, s", "fit, s", "transform and write, s"]
    return shown(
        "`KernelBeta` with 1000 landmarks, from one Parquet file to another:",
        Table("", [*columns, "memory, GB"], body),
    )


def gpu() -> str:
    """Rows a second on a device, and through it."""
    found = json.loads((ROOT / "benchmarks/speed/gpu.json").read_text())
    stream = json.loads((ROOT / "benchmarks/speed/gpu_stream.json").read_text())
    speed = found["torch"]["KernelBeta transform, rows/s"] / 1e6
    queries = found["torch"]["NeighborIndex, exact: queries/s"]
    blend = found["torch"]["MetricLearner transform, rows/s"] / 1e6
    sums = found["torch"]["kernel sums d=50 m=1000, rows/s"] / 1e6
    about, seconds = stream["about"], stream["seconds"]["KernelBeta"]
    return shown(
        f"On an {found['about']['device']}, `KernelBeta.transform` with 1000 landmarks maps "
        f"{speed:.0f} million rows of 50 columns a second, a `MetricLearner` of three parts "
        f"{blend:.0f} million, sums of as many kernel values in 64 columns are {sums:.0f} million "
        f"a second, and `NeighborIndex` answers {queries:,.0f} exact queries a second. Mapping "
        f"{about['rows']:,} rows from one Parquet file to another takes {seconds:.1f} s; reading "
        f"and writing alone take {stream['seconds']['read then write']:.1f} s."
    )


def dask() -> str:
    """One worker and two."""
    rows = rows_of("speed/dask.jsonl")
    body = [
        [method, f"{one:.1f}", f"{two:.1f}", f"{one / two:.2f}"]
        for method, (one, two) in cluster.compared(rows).items()
    ]
    columns = ["fit and transform", "one worker, s", "two workers, s", "ratio"]
    return shown(f"{rows[0]['n']:,} rows of 50 columns:", Table("", columns, body))


def studio() -> str:
    """From an answer to what is seen of it, and from the command to the first picture."""
    rows = rows_of("studio/results.jsonl")
    body = []
    for part, name in NAMES.items():
        mine = [row for row in rows if row["part"] == part]
        many = next((row["many"] for row in mine if "many" in row), None)
        frames = [row["frame"] for row in mine if row.get("pace") == "rest"]
        opened = next((row for row in mine if "shown" in row), None)
        if many is not None:
            frames, opened = many["frame"], {**many, "peak_memory_gb": many["server_gb"]}
        cells = [f"{np.median(frames):.0f}", f"{np.percentile(frames, 95):.0f}"] if frames else []
        start = [f"{opened['shown']:.0f}", f"{opened['peak_memory_gb']:.1f}"] if opened else []
        if cells or start:
            body.append([name, *(cells or ["", ""]), *(start or ["", ""])])
    columns = ["rows × columns", "new picture after an answer, ms", "in 95 % of cases, ms"]
    return shown(
        Table("", [*columns, "first picture, s", "memory, GB"], body),
        "On two cores, in a browser that draws without a graphics card.",
    )


def command_line() -> str:
    """One command beside calls of the library."""
    rows = [row for row in rows_of("speed/command_line.jsonl") if row["n_components"] is None]
    library, command = (
        [row for row in rows if row["method"] == method] for method in ("library", "one command")
    )
    return shown(
        "Fitting to a million rows of 50 columns, and mapping them from one Parquet file to "
        f"another, takes {_median(command, 'seconds'):.1f} s with `nearkin fit --embedding`, "
        f"including the start of the program, and {_median(library, 'seconds'):.1f} s with "
        f"the library in a running program. Memory is {_median(command, 'peak_gb'):.1f} GB."
    )


BLOCKS = {
    "guide_pairs": pairs,
    "guide_clusters_cost": clusters,
    "guide_search_speed": search,
    "guide_records_cost": records,
    "guide_questions_one_more": one_more,
    "guide_scale_estimate": estimates,
    "guide_scale_growth": growth,
    "guide_scale_streaming": streaming,
    "guide_scale_gpu": gpu,
    "guide_scale_dask": dask,
    "guide_studio_times": studio,
    "guide_command_line": command_line,
}
