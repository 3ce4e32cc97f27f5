"""Memory as Windows tells it, which has no ``/proc`` and no ``resource``.

Nothing here is called on other systems.
"""

from __future__ import annotations

import ctypes
from ctypes import Structure, byref, c_size_t, c_uint64, c_ulong, c_void_p, sizeof
from typing import Any


class _MemoryStatus(Structure):
    """``MEMORYSTATUSEX``."""

    _fields_ = [
        ("dwLength", c_ulong),
        ("dwMemoryLoad", c_ulong),
        ("ullTotalPhys", c_uint64),
        ("ullAvailPhys", c_uint64),
        ("ullTotalPageFile", c_uint64),
        ("ullAvailPageFile", c_uint64),
        ("ullTotalVirtual", c_uint64),
        ("ullAvailVirtual", c_uint64),
        ("ullAvailExtendedVirtual", c_uint64),
    ]


class _ProcessMemory(Structure):
    """``PROCESS_MEMORY_COUNTERS``."""

    _fields_ = [
        ("cb", c_ulong),
        ("PageFaultCount", c_ulong),
        ("PeakWorkingSetSize", c_size_t),
        ("WorkingSetSize", c_size_t),
        ("QuotaPeakPagedPoolUsage", c_size_t),
        ("QuotaPagedPoolUsage", c_size_t),
        ("QuotaPeakNonPagedPoolUsage", c_size_t),
        ("QuotaNonPagedPoolUsage", c_size_t),
        ("PagefileUsage", c_size_t),
        ("PeakPagefileUsage", c_size_t),
    ]


def free_memory() -> int:
    """Bytes of memory that no process has."""
    status = _MemoryStatus(dwLength=sizeof(_MemoryStatus))
    _told(_kernel().GlobalMemoryStatusEx(byref(status)))
    return int(status.ullAvailPhys)


def peak_working_set() -> int:
    """Most bytes that this process has held."""
    kernel, memory = _kernel(), _ProcessMemory(cb=sizeof(_ProcessMemory))
    kernel.GetCurrentProcess.restype = c_void_p
    kernel.K32GetProcessMemoryInfo.argtypes = [c_void_p, c_void_p, c_ulong]
    _told(kernel.K32GetProcessMemoryInfo(kernel.GetCurrentProcess(), byref(memory), memory.cb))
    return int(memory.PeakWorkingSetSize)


def _kernel() -> Any:
    return ctypes.WinDLL("kernel32")  # type: ignore[attr-defined, unused-ignore]


def _told(answered: int) -> None:
    if not answered:
        raise OSError("Windows does not tell how much memory there is.")
