"""Files that are complete or not there, and what is no file."""

import errno
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import threading

import pytest

import nearkin
from nearkin.storage.files import Ended, end_tidily, whole_file
from tests.cases import each
from tests.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, devices and signals")


def write(path, content=b"new"):
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_pipe_gets_all_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    came = []
    # A daemon: where nobody writes, it would wait for ever.
    reader = threading.Thread(target=lambda: came.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with whole_file(pipe) as unfinished:
        assert unfinished.parent.name.startswith("nearkin-")
        assert unfinished.read_bytes() == b""
        unfinished.write_bytes(b"x" * 200_000)
    assert not unfinished.parent.exists()
    reader.join(PATIENCE)
    assert came == [b"x" * 200_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_device_stays(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_bytes(b"")
    except OSError:  # only root may make one
        device.symlink_to("/dev/null")
    metric = nearkin.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nearkin.Pairs([(0, 1)]))
    metric.save(device)
    nearkin.NeighborIndex().fit([[0.0], [3.0]]).save(device)
    assert stat.S_ISCHR(device.stat().st_mode)
    assert list(tmp_path.iterdir()) == [device]


def test_other_things_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as end:
        end.bind("end")
        with pytest.raises(
            OSError, match=r"\] A disk or a socket, not a file to write to: 'end'"
        ) as no:
            write("end")
        assert no.value.errno == errno.EINVAL


@each("kept", [0o600, 0o444, 0o664])
def test_what_is_replaced_keeps_its_permissions(tmp_path, kept):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(kept)
    with whole_file(path) as unfinished:
        assert mode(unfinished) == 0o600  # nobody else sees it before
        unfinished.write_bytes(b"new")
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


def test_another_group_gets_no_rights(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o664)
    known = os.stat

    def of_others(name, **more):  # as if the file were of another group, which is not ours to give
        found = known(name, **more)
        changed = [*found[:5], found.st_gid + 1, *found[6:]]
        return os.stat_result(changed) if str(name).endswith("file") else found

    asked = []

    def refuse(name, *owner):
        asked.append((name.parent, name.suffix, *owner))
        raise PermissionError

    monkeypatch.setattr("nearkin.storage.files.os.stat", of_others)
    monkeypatch.setattr("nearkin.storage.files.os.chown", refuse)
    write(path)
    monkeypatch.undo()
    assert asked == [(tmp_path, ".tmp", path.stat().st_uid, path.stat().st_gid + 1)]
    assert mode(path) == 0o644


@each("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_half_files(tmp_path, name):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import signal, sys, time; from nearkin.storage.files import whole_file\n"
        # Whoever started the tests may ignore it, as nohup does, and children do likewise then.
        f"signal.signal(signal.{name}, signal.SIG_DFL)\n"
        "with whole_file(sys.argv[1]) as unfinished:\n"
        "    unfinished.write_bytes(b'half'); print(flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(getattr(signal, name))
        assert process.wait(PATIENCE) == -getattr(signal, name)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


def test_signals_of_others_are_left_to_them():
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append(1))
    try:
        with end_tidily():
            signal.raise_signal(signal.SIGTERM)
        assert came == [1]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_are_theirs_again_afterwards(monkeypatch):
    ended = []
    known = signal.raise_signal
    monkeypatch.setattr("nearkin.storage.files.signal.raise_signal", ended.append)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(Ended), end_tidily(), end_tidily():
        known(signal.SIGTERM)
    assert ended == [signal.SIGTERM]  # once
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_threads_write_files_too(tmp_path):
    writer = threading.Thread(target=write, args=[tmp_path / "file"])
    writer.start()
    writer.join()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_what_cannot_be_written_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()

    def said(path):
        with pytest.raises(OSError, match=r"older|denied") as caught:
            write(path)
        error = caught.value
        return type(error), error.errno, error.strerror, error.filename

    folder = "A folder, not a file to write to"
    assert said("folder") == (IsADirectoryError, errno.EISDIR, folder, "folder")
    missing = f"There is no folder {tmp_path / 'none'}; make it first"
    assert said("none/file") == (FileNotFoundError, errno.ENOENT, missing, "none/file")
    (tmp_path / "file").write_bytes(b"old")

    def closed(name, *_):
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr("nearkin.storage.files.os.open", closed)
    assert said("file") == (PermissionError, errno.EACCES, "Permission denied", "file")
    assert (tmp_path / "file").read_bytes() == b"old"


@each("umask", [0o022, 0o077])
def test_a_new_file_has_the_permissions_of_any(tmp_path, umask):
    before = os.umask(umask)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert mode(tmp_path / "file") == 0o666 & ~umask


def test_the_unfinished_file_is_hidden_beside_what_a_link_leads_to(tmp_path):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "file", tmp_path / "link"
    link.symlink_to(target)
    names = []
    for _ in range(2):
        with whole_file(link) as unfinished:
            assert re.fullmatch(r"\.file\.[0-9a-f]{16}\.tmp", unfinished.name)
            assert unfinished.parent == target.parent
            assert unfinished.read_bytes() == b""
            unfinished.write_bytes(b"new")
        names.append(unfinished.name)
    assert names[0] != names[1]
    assert link.readlink() == target
    assert target.read_bytes() == b"new"


def test_content_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    path, came = tmp_path / "file", []
    fsync, replace = os.fsync, os.replace

    def flushed(file):
        came.append(os.fstat(file).st_size)
        fsync(file)

    def named(*names):
        came.append("named")
        replace(*names)

    monkeypatch.setattr("nearkin.storage.files.os.fsync", flushed)
    monkeypatch.setattr("nearkin.storage.files.os.replace", named)
    write(path, b"four")
    assert came == [4, "named"]


@each("gone", [False, True])
def test_after_an_error_all_is_as_before(tmp_path, gone):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with whole_file(path) as unfinished:
            unfinished.write_bytes(b"half")
            if gone:
                unfinished.unlink()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"
