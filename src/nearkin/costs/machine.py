"""The machine: what is free of its memory, and what tells it from others."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from nearkin._version import __version__
from nearkin.costs.windows import free_memory

# With whose versions the costs of a job change.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "llvmlite", "torch")


def available_memory() -> int:
    """Bytes that a new job can have, by the system and by the limit of a container."""
    found = [_meminfo(), _limit_of_container()]
    return min([one for one in found if one is not None], default=_all_memory())


def _meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    free = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(free[0]) * 1024 if free else None


def _limit_of_container() -> int | None:
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (
            (folder / name).read_text().strip() for name in ("memory.max", "memory.current")
        )
        return None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None


def _all_memory() -> int:
    if sys.platform == "win32":
        return free_memory()
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def signature() -> dict[str, str]:
    """Versions, processor and cores: where one differs, costs are to be measured again."""
    found = {"nearkin": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    threads = {
        name: os.environ[name]
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
        if name in os.environ
    }
    return {**found, "cpu": _cpu(), "cores": str(_cores()), **threads}


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
