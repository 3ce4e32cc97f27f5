import errno
import os
import random
import signal
import subprocess
import sys
import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import nearkin
from nearkin.studio import journal as journal_module
from nearkin.studio.journal import (
    InMemory,
    Journal,
    JournalError,
    JournalInUse,
    KeptFile,
    line_of,
    read_lines,
)
from tests.cases import each
from tests.waiting import PATIENCE

ENTRIES = [
    {"do": "answer", "left": 3, "right": 5, "same": True, "origin": "question"},
    {"do": "answer", "left": 1, "right": 4, "same": None, "origin": "suspect"},
    {"do": "groups", "first": [1, 2], "second": [7, 8], "same": False},
    {"do": "undo", "note": "ä → ✓"},
]
# Writes entries until it is ended, and says after each that it is safe.
WRITER = """
import sys
from nearkin.studio.journal import Journal
journal = Journal(sys.argv[1])
start = len(journal.entries)
print("open", flush=True)
for number in range(start, start + 100_000):
    journal.append({"number": number, "text": "x" * (number % 3000)})
    print(number, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.journal"


def filled(path: Path, entries=ENTRIES) -> bytes:
    path.unlink(missing_ok=True)  # of the case before
    with Journal(path, {"source": "rows.csv"}) as journal:
        for entry in entries:
            journal.append(entry)
    return path.read_bytes()


def test_an_entry_is_in_the_file_before_append_returns(path):
    with Journal(path) as journal:
        for k, entry in enumerate(ENTRIES, 1):
            journal.append(entry)
            said, _, _ = read_lines(path.read_bytes(), path)
            assert [line["entry"] for line in said if "entry" in line] == ENTRIES[:k]


def test_fsync_comes_after_every_write_and_the_folder_is_flushed(path, monkeypatch):
    flushed = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (flushed.append(os.fstat(file)), fsync(file)))
    with Journal(path) as journal:
        n = len(flushed)
        journal.append({"a": 1})
        assert len(flushed) == n + 1
    assert any(one.st_ino == path.parent.stat().st_ino for one in flushed)
    assert sum(one.st_ino == path.stat().st_ino for one in flushed) == n


def test_a_torn_last_line_is_cut_off_at_every_byte(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # a thousand of them take seconds
    whole = filled(path, ENTRIES[:2])
    ends = [k + 1 for k, byte in enumerate(whole) if byte == ord("\n")]
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        n_lines = sum(end <= length for end in ends)
        with Journal(path) as journal:
            # The header, the line of who opened it, and two entries.
            assert journal.entries == ENTRIES[: max(n_lines - 2, 0)]
            journal.append({"later": length})
        with Journal(path) as journal:
            assert journal.entries[-1] == {"later": length}


def test_every_flipped_bit_is_noticed(path):
    whole = filled(path, ENTRIES[:2])
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        with pytest.raises(JournalError, match=r"line|journal of nearkin"):
            Journal(path)
        assert path.read_bytes() == damaged


def test_damage_names_its_line(path):
    whole = filled(path)
    lines = whole.split(b"\n")
    lines[3] = lines[3].replace(b'"left":1', b'"left":2')
    path.write_bytes(b"\n".join(lines))
    said = rf"^line 4 of {path} is damaged, .* Restore it .* lines from there on .* before\.$"
    with pytest.raises(JournalError, match=said):
        Journal(path)
    path.write_bytes(whole[:-1] + b" ")
    said = rf"^line 6 of {path} is damaged in its last byte; .* Restore it .* with a newline\.$"
    with pytest.raises(JournalError, match=said):
        Journal(path)


@each("order", [[0, 1, 2, 4, 5], [0, 1, 2, 4, 3, 5], [0, 1, 2, 3, 3, 4, 5]])
def test_lines_that_are_lost_moved_or_twice_there_show(path, order):
    lines = filled(path).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[k] for k in order))
    with pytest.raises(JournalError, match=r"line [45] of"):
        Journal(path)


@each("n_zeros", [4, 40])
def test_a_last_line_of_zeros_was_never_written(path, n_zeros):
    whole = filled(path)
    path.write_bytes(whole + b"\0" * n_zeros + b'"same":true}}\n')
    with Journal(path) as journal:
        assert journal.entries == ENTRIES


def test_whoever_opens_it_may_refuse_it(path):
    whole = filled(path)

    def refuse(header, lines):
        assert header["about"] == {"source": "rows.csv"}
        assert [line["entry"] for line in lines] == ENTRIES
        raise JournalError("other data")

    with pytest.raises(JournalError, match="other data"):
        Journal(path, check=refuse)
    assert path.read_bytes() == whole


def test_a_line_may_say_more_than_its_entry(path):
    with Journal(path, header={"kind": "a"}) as journal:
        journal.append({"left": "x"}, cells={"x": "12"})
        assert journal.header["kind"] == "a"
    with Journal(path, header={"kind": "b"}) as journal:
        assert journal.header["kind"] == "a"
        assert journal.lines == [{"cells": {"x": "12"}, "entry": {"left": "x"}}]
        assert journal.entries == [{"left": "x"}]


WHOLE = {"format": journal_module.FORMAT, "version": 3, "nearkin": "9.0", "about": {}}
NOT_BEGUN = "^{path} does not begin as a journal"


@each(
    ("header", "said"),
    [
        (WHOLE | {"version": 99}, r"nearkin 9.0.*update nearkin"),
        ({"format": journal_module.FORMAT}, NOT_BEGUN),
        ({"format": journal_module.FORMAT, "version": 3}, NOT_BEGUN),
        (WHOLE | {"version": "3"}, NOT_BEGUN),
        (WHOLE | {"about": []}, NOT_BEGUN),
        ({name: WHOLE[name] for name in ("format", "version", "nearkin")}, NOT_BEGUN),
    ],
)
def test_first_lines_that_no_journal_has(path, header, said):
    path.write_bytes(line_of(header, 0)[0])
    with pytest.raises(JournalError, match=said.format(path=path)):
        Journal(path)


def test_the_first_lines_say_what_it_is_and_who_opened_it(path):
    with Journal(path, {"source": "rows.csv"}) as journal:
        assert journal.path == path
        header, opened = read_lines(path.read_bytes(), path)[0]
    times = header.pop("made"), opened.pop("opened")
    assert header == {
        "format": "nearkin journal",
        "version": 3,
        "nearkin": nearkin.__version__,
        "about": {"source": "rows.csv"},
    }
    assert opened == {"process": os.getpid(), "nearkin": nearkin.__version__}
    for said in times:
        assert abs(datetime.now(UTC) - datetime.fromisoformat(said)) < timedelta(minutes=1)


def test_entries_in_memory():
    entries = InMemory()
    for entry in ENTRIES:
        entries.append(entry)
    entries.close()
    assert entries.events == ENTRIES


@each("content", [b"a,b\n1,2\n", b"PAR1", b"{", b'{"check":"', b"\n", b"{}\n"])
def test_a_file_that_is_no_journal_is_left_as_it_is(path, content):
    path.write_bytes(content)
    if content in (b"{", b'{"check":"'):  # the beginning of one that was never finished
        Journal(path).close()
        return
    with pytest.raises(JournalError, match=r"not a journal|damaged"):
        Journal(path)
    assert path.read_bytes() == content


@each(
    ("name", "number", "said"),
    [
        ("", errno.EISDIR, "A folder, not a journal"),
        (os.devnull, errno.EINVAL, "A pipe or a device, not a journal"),
        ("none/a.journal", errno.ENOENT, "There is no folder {path.parent}; make it first"),
    ],
)
def test_what_can_be_no_file_of_entries(tmp_path, name, number, said):
    path = tmp_path / name
    with pytest.raises(OSError) as caught:  # noqa: PT011
        Journal(path)
    assert caught.value.args == (number, said.format(path=path))
    assert caught.value.filename == str(path)


@pytest.mark.skipif(sys.platform == "win32", reason="another lock there")
def test_a_disk_that_locks_nothing(path, monkeypatch):
    def refuse(file, operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    said = r"It cannot be locked \(No locks available\), .*: put it on a disk of this machine: "
    with pytest.raises(OSError, match=said) as caught:
        Journal(path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOLCK, str(path))


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_loses_nothing_and_later_answers_go_on(path, monkeypatch):
    journal = Journal(path)
    journal.append(ENTRIES[0])
    before = path.read_bytes()
    write, fsync = os.write, os.fsync

    def half(file, content):
        return write(file, bytes(content)[:20]) if len(content) > 20 else full()

    monkeypatch.setattr(os, "write", half)
    said = r"not kept.*could not be written \(No space left on device\)\. .* before is safe$"
    with pytest.raises(OSError, match=said) as caught:
        journal.append(ENTRIES[1])
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "write", write)

    def unnumbered(file):
        raise OSError("a fault without a number")

    monkeypatch.setattr(os, "fsync", unnumbered)
    with pytest.raises(OSError, match=r"not kept.*written \(a fault without a number\)"):
        journal.append(ENTRIES[1])
    assert path.read_bytes() == before
    monkeypatch.setattr(os, "fsync", fsync)
    assert journal.entries == ENTRIES[:1]
    journal.append(ENTRIES[2])
    journal.close()
    with Journal(path) as journal:
        assert journal.entries == [ENTRIES[0], ENTRIES[2]]


def test_a_journal_opens_on_a_full_disk(path, monkeypatch):
    filled(path)
    monkeypatch.setattr(os, "write", full)
    with Journal(path) as journal:
        assert journal.entries == ENTRIES


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file sizes are POSIX")
def test_a_file_that_may_not_grow(path):
    code = """
import resource, sys
from nearkin.studio.journal import Journal
journal = Journal(sys.argv[1])
journal.append({"first": 1})
size = journal.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 30, resource.RLIM_INFINITY))
try:
    journal.append({"second": "x" * 100})
except OSError as error:
    print(error)
assert journal.path.stat().st_size == size
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.append({"third": 3})
"""
    done = run(code, path)
    assert "not kept" in done.stdout, done.stderr
    with Journal(path) as journal:
        assert journal.entries == [{"first": 1}, {"third": 3}]


def test_a_second_opener_is_refused_here(path):
    with Journal(path):
        who = rf"{path} is open already by process {os.getpid()}, which is this one: close "
        with pytest.raises(JournalInUse, match=who) as caught:
            Journal(path)
        assert str(caught.value.__cause__) == str(path)


def test_a_second_opener_is_refused_elsewhere(path):
    with Journal(path) as journal:
        journal.append(ENTRIES[0])
        code = """
import sys
from nearkin.studio.journal import Journal, JournalInUse
try:
    Journal(sys.argv[1])
except JournalInUse as error:
    print(error)
"""
        done = run(code, path)
        assert f"open already by process {os.getpid()}: close the studio" in done.stdout
    with Journal(path) as journal:
        assert journal.entries == ENTRIES[:1]


@each("content", [b"", b"not a journal", None])
def test_whoever_has_a_file_that_does_not_say_who(path, content, monkeypatch):
    def unreadable(path):
        raise OSError("not for you")

    path.write_bytes(content or b"")
    if content is None:
        monkeypatch.setattr(Path, "read_bytes", unreadable)
    file = KeptFile(path)
    with pytest.raises(JournalInUse, match=rf"^{path} is open already: close .* of its own\.$"):
        Journal(path)
    file.close()


def test_closing_twice_and_writing_after(path):
    journal = Journal(path)
    journal.close()
    journal.close()
    with pytest.raises(ValueError, match="closed"):
        journal.append({})


def test_what_is_not_json_is_refused_before_anything_is_written(path):
    with Journal(path) as journal:
        before = path.read_bytes()
        for entry in ({"x": object()}, {"x": float("nan")}):
            with pytest.raises((TypeError, ValueError)):
                journal.append(entry)
        assert path.read_bytes() == before
        assert journal.entries == []


@pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9")
def test_kill_9_loses_nothing_that_was_acknowledged(path):
    acknowledged = 0
    rng = random.Random(0)
    for _ in range(3):
        command = [sys.executable, "-c", WRITER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "open\n"
            for _ in range(rng.randrange(1, 40)):
                acknowledged = int(process.stdout.readline()) + 1
            process.send_signal(signal.SIGKILL)
            for line in process.stdout:
                if line.endswith("\n"):
                    acknowledged = int(line) + 1
        with Journal(path) as journal:
            numbers = [entry["number"] for entry in journal.entries]
            assert numbers == list(range(len(numbers)))
            assert acknowledged <= len(numbers) <= acknowledged + 1
        acknowledged = len(numbers)


def run(code: str, path: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


NO_ENTRY = r" has an entry that no journal .* left as it is\. Restore .* copy\.$"


@each(
    ("line", "said"),
    [
        ({"entry": 3}, NO_ENTRY),
        ({"entry": None}, NO_ENTRY),
        ({"entry": []}, NO_ENTRY),
        ({"entry": "undo"}, NO_ENTRY),
        (["no", "object"], " is damaged"),
        (b"[" * 100_000, " is damaged"),  # nested very deeply
    ],
)
def test_forged_lines_are_refused(path, line, said):
    content = filled(path, [])
    check = read_lines(content, path)[2]
    if isinstance(line, bytes):
        forged = content + b'{"check":"%08x","entry":%s}\n' % (zlib.crc32(line, check), line)
    else:
        forged = content + line_of(line, check)[0]
    path.write_bytes(forged)
    with pytest.raises(JournalError, match=rf"^line 3 of {path}{said}"):
        Journal(path)
    assert path.read_bytes() == forged
