"""Campaigns: many random trials of one promise, and the smallest case that breaks it.

    python -m benchmarks.fuzz_learners 1000      # so many trials, or as many more as are missing
    python -m benchmarks.campaign                # what all campaigns have found so far, as a table

A trial is drawn as a *case*: a dictionary of JSON values that says all there is to know about it.
Trial ``i`` of seed ``s`` draws from a generator of its own, seeded with both, so a campaign that
was stopped goes on where it was. What came of the trials is kept in ``benchmarks/campaigns``, one
file for each campaign. A case that broke its promise is made smaller for as long as it breaks it in
the same way, and is tried again whenever its campaign goes on: it stays open until it holds.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import shlex
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import ROOT, Table, provenance

FOLDER = ROOT / "benchmarks" / "campaigns"
PAGE = FOLDER / "RESULTS.md"
BATCH = 50
MOST_OPEN = 20  # kinds of broken promises, after which a campaign stops
SECONDS_TO_SHRINK = 60.0

Case = dict[str, Any]


def smaller_values(value: Any) -> Iterator[Any]:
    """Simpler JSON values of the same type, the simplest first."""
    match value:
        case bool():
            if value:
                yield False
        case int():
            yield from dict.fromkeys(
                v for v in (0, 1, value // 2, value - 1) if abs(v) < abs(value)
            )
        case float():
            yield from (v for v in (0.0, 1.0, float(round(value))) if abs(v) < abs(value))
        case list():
            half = len(value) // 2
            if half > 1:
                yield from (value[:half], value[half:])
            yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
            for i, part in enumerate(value):
                yield from ([*value[:i], v, *value[i + 1 :]] for v in smaller_values(part))
        case dict():
            yield from ({k: v for k, v in value.items() if k != key} for key in value)
            for key, part in value.items():
                yield from ({**value, key: v} for v in smaller_values(part))


@dataclass(frozen=True)
class Campaign:
    """A promise, and how it is tried.

    ``draw`` makes a case. ``check`` tries it and says what came of it in a word or two, such as
    "fitted"; an error that it lets through is a broken promise. ``smaller`` has simpler cases, for
    the reproduction; some of these may make no sense. The module ``benchmarks.<name>`` has the
    campaign as ``CAMPAIGN``, so that other processes find it.
    """

    name: str
    unit: str
    draw: Callable[[np.random.Generator], Case]
    check: Callable[[Case], str]
    smaller: Callable[[Case], Iterable[Case]] = smaller_values
    seconds: float = 30.0  # a trial that takes longer breaks the promise
    threads: int = 1  # of BLAS, OpenMP and Numba in each process

    def case(self, seed: int, number: int) -> Case:
        """The case of a trial, as it would come back from a file."""
        drawn: Case = json.loads(json.dumps(self.draw(np.random.default_rng([seed, number]))))
        return drawn

    def command(self, case: Case) -> str:
        """What to type to try a case again."""
        return f"python -m benchmarks.{self.name} --case {shlex.quote(json.dumps(case))}"


@dataclass
class Broken:
    """One way in which a promise is broken."""

    sign: str  # the error and where it came from, the same for all cases of this kind
    error: str
    case: Case
    count: int = 1
    mended: str | None = None  # the commit at which the case holds


@dataclass
class Stretch:
    """Trials in a row, on one state of the code."""

    seed: int
    start: int
    stop: int
    commit: str
    changed: bool
    seconds: float = 0.0
    longest: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)


@dataclass
class Log:
    """All that a campaign has done."""

    stretches: list[Stretch] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)

    def done(self, seed: int) -> int:
        """How many trials of a seed there were, from the first on."""
        return max((x.stop for x in self.stretches if x.seed == seed), default=0)

    def open(self) -> list[Broken]:
        return [x for x in self.broken if x.mended is None]

    def add(self, new: Stretch, broken: Iterable[Broken]) -> None:
        """Take in what a batch came to."""
        last = self.stretches[-1] if self.stretches else None
        same = ("seed", "commit", "changed")
        if (
            last
            and last.stop == new.start
            and all(getattr(last, k) == getattr(new, k) for k in same)
        ):
            last.stop = new.stop
            last.seconds += new.seconds
            last.longest = max(last.longest, new.longest)
            last.outcomes.update(new.outcomes)
        else:
            self.stretches.append(new)
        for one in broken:
            known = next((x for x in self.open() if x.sign == one.sign), None)
            if known is None:
                self.broken.append(one)
            else:
                known.count += one.count

    def write(self, path: Path) -> None:
        rows = [{"stretch": vars(x)} for x in self.stretches]
        rows += [{"broken": vars(x)} for x in self.broken]
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    @classmethod
    def read(cls, path: Path) -> Log:
        log = cls()
        for row in map(json.loads, path.read_text().splitlines() if path.exists() else ()):
            if "stretch" in row:
                outcomes = Counter(row["stretch"].pop("outcomes"))
                log.stretches.append(Stretch(**row["stretch"], outcomes=outcomes))
            else:
                log.broken.append(Broken(**row["broken"]))
        return log


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """A time limit for Python code; code that does not return to Python ends its process."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"took longer than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(2 * seconds + 10, exit=True)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        faulthandler.cancel_dump_traceback_later()


def _sign(error: BaseException) -> str:
    """The error's class, and the last line of ours that it went through."""
    if isinstance(error, TimeoutError):
        return "TimeoutError"  # wherever it happened to be
    ours = [x for x in traceback.extract_tb(error.__traceback__) if str(ROOT) in x.filename]
    inner = [x for x in ours if f"{os.sep}src{os.sep}" in x.filename] or ours
    place = f"{Path(inner[-1].filename).name}:{inner[-1].name}" if inner else "elsewhere"
    # What a check says before a colon is its promise; what follows is about the case.
    says = str(error).partition(":")[0] if isinstance(error, AssertionError) else ""
    return f"{type(error).__name__} in {place} {says}".strip()


def tried(campaign: Campaign, case: Case) -> tuple[str, Broken | None]:
    """What comes of a case."""
    try:
        with _limit(campaign.seconds):
            return campaign.check(case), None
    except Exception as error:
        words = "".join(traceback.format_exception(error, limit=-6))
        for folder in (f"{ROOT}{os.sep}", f"{sys.prefix}{os.sep}", f"{sys.base_prefix}{os.sep}"):
            words = words.replace(folder, "")
        return "broken", Broken(_sign(error), words[-3000:], case)


def shrunk(campaign: Campaign, broken: Broken, seconds: float = SECONDS_TO_SHRINK) -> Broken:
    """The smallest case found that breaks the promise in the same way."""
    end = time.monotonic() + seconds
    best, seen = broken, {json.dumps(broken.case)}
    again = True
    while again:
        again = False
        for case in campaign.smaller(best.case):
            if time.monotonic() > end:
                return best
            key = json.dumps(case)
            if key in seen:
                continue
            seen.add(key)
            _, other = tried(campaign, case)
            if other is not None and other.sign == broken.sign:
                best, again = other, True
                break
    return best


def short(campaign: Campaign, n_trials: int, seed: int = 0) -> Counter[str]:
    """Some trials in this process; the first broken promise is an error with its reproduction."""
    outcomes: Counter[str] = Counter()
    for number in range(n_trials):
        outcome, broken = tried(campaign, campaign.case(seed, number))
        if broken is not None:
            least = shrunk(campaign, broken, 10.0)
            raise AssertionError(f"{campaign.command(least.case)}\n{least.error}")
        outcomes[outcome] += 1
    return outcomes


# --- many trials, in processes ---------------------------------------------------------------


def _named(name: str) -> Campaign:
    campaign: Campaign = import_module(f"benchmarks.{name}").CAMPAIGN
    return campaign


def _batch(name: str, seed: int, start: int, stop: int) -> tuple[Stretch, list[Broken]]:
    """Trials in a row. The first of each kind of broken promises is made smaller."""
    campaign = _named(name)
    stretch = Stretch(seed, start, stop, "", False)
    kinds: dict[str, Broken] = {}
    begun = time.perf_counter()
    for number in range(start, stop):
        before = time.perf_counter()
        outcome, broken = tried(campaign, campaign.case(seed, number))
        stretch.longest = max(stretch.longest, time.perf_counter() - before)
        stretch.outcomes[outcome] += 1
        if broken is not None and broken.sign in kinds:
            kinds[broken.sign].count += 1
        elif broken is not None:
            kinds[broken.sign] = shrunk(campaign, broken)
    stretch.seconds = time.perf_counter() - begun
    return stretch, list(kinds.values())


def _still_broken(name: str, case: Case) -> bool:
    return tried(_named(name), case)[1] is not None


def _recheck(campaign: Campaign, log: Log, commit: str) -> None:
    """Close the open cases that hold now, each tried in a process of its own."""
    for old in log.open():
        with _pool(1) as pool, suppress(BrokenProcessPool):
            if not pool.submit(_still_broken, campaign.name, old.case).result():
                old.mended = commit


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def _batches(
    campaign: Campaign, seed: int, start: int, stop: int, workers: int, size: int = BATCH
) -> Iterator[tuple[Stretch, list[Broken]]]:
    """Batches in their order. A trial that takes its process with it is found by itself."""
    while start < stop:
        limits = [(i, min(i + size, stop)) for i in range(start, stop, size)]
        with _pool(workers) as pool:
            waiting = [pool.submit(_batch, campaign.name, seed, *limit) for limit in limits]
            try:
                for future in waiting:
                    batch = future.result()
                    start = batch[0].stop
                    yield batch
            except BrokenProcessPool:
                pass
            finally:
                pool.shutdown(cancel_futures=True)
        if start < stop and size > 1:
            end = min(start + size, stop)
            yield from _batches(campaign, seed, start, end, 1, 1)
            start = end
        elif start < stop:
            lost = Stretch(seed, start, start + 1, "", False, outcomes=Counter(["broken"]))
            case = campaign.case(seed, start)
            yield lost, [Broken("the process died", "see what it wrote above", case)]
            start += 1


def run(campaign: Campaign, n_trials: int, seed: int, workers: int, path: Path) -> Log:
    """Trials up to a number, with those that were done before, and the open cases once more."""
    from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(campaign.threads)
    log, source = Log.read(path), provenance()
    commit, changed = source["commit"][:9], source["changed"]
    _recheck(campaign, log, commit)
    start = log.done(seed)
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task(campaign.name, completed=start, total=n_trials)
        for stretch, broken in _batches(campaign, seed, start, n_trials, workers):
            stretch.commit, stretch.changed = commit, changed
            for one in broken:
                if one.sign not in {x.sign for x in log.open()}:
                    bar.console.print(f"{one.error}\n{campaign.command(one.case)}\n", markup=False)
            log.add(stretch, broken)
            log.write(path)
            bar.update(task, completed=stretch.stop)
            if len(log.open()) >= MOST_OPEN:
                bar.console.print(f"{MOST_OPEN} promises are broken: mend them, then go on.")
                break
    log.write(path)
    return log


def main(campaign: Campaign) -> None:
    """The command line of a campaign."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.{campaign.name}", description=sys.modules["__main__"].__doc__
    )
    parser.add_argument("trials", nargs="?", type=int, default=1000, help=f"{campaign.unit} in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--case", type=json.loads, help="try this one case, and let its error out")
    options = parser.parse_args()
    if options.case is not None:
        print(campaign.check(options.case))
        return
    path = FOLDER / f"{campaign.name}.jsonl"
    log = run(campaign, options.trials, options.seed, options.workers, path)
    for outcome, n in sorted(sum((x.outcomes for x in log.stretches), Counter()).items()):
        print(f"{n:8}  {outcome}")
    for broken in log.open():
        print(f"open ({broken.count} times): {broken.sign}\n    {campaign.command(broken.case)}")
    sys.exit(1 if log.open() else 0)


# --- what came of it -------------------------------------------------------------------------


def table() -> Table:
    """One row for each campaign and seed."""
    columns = ["command", "tries", "outcomes", "trials", "longest (s)", "broken, mended", "open"]
    rows = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        campaign, log = _named(path.stem), Log.read(path)
        for seed in sorted({x.seed for x in log.stretches}):
            stretches = [x for x in log.stretches if x.seed == seed]
            outcomes = sum((x.outcomes for x in stretches), Counter[str]())
            n_broken = outcomes.pop("broken", 0)
            first = seed == min(x.seed for x in log.stretches)
            rows.append(
                [
                    f"`python -m benchmarks.{path.stem} {log.done(seed)} --seed {seed}`",
                    campaign.unit,
                    ", ".join(f"{n} {what}" for what, n in outcomes.most_common(6)),
                    str(sum(x.stop - x.start for x in stretches)),
                    f"{max(x.longest for x in stretches):.1f}",
                    f"{n_broken} trials, {sum(x.mended is not None for x in log.broken)} kinds"
                    if first
                    else f"{n_broken} trials",
                    str(len(log.open())) if first else "",
                ]
            )
    return Table("Campaigns", columns, rows, n_words=3)


WORDS = """\
# Campaigns

Random trials of what nearkin promises, drawn from seeds. `python -m benchmarks.campaign` writes
this page from the files beside it. A trial that broke a promise counts as broken even after its
cause was mended; kinds that are mended hold now, and those that are open do not.

"""


if __name__ == "__main__":
    shown = table()
    shown.show()
    PAGE.write_text(WORDS + shown.markdown())
