"""Files that are complete or not there, and what is no file."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading

import pytest

import nearkin
from nearkin.endings import Ended, tidied_up
from nearkin.whole_file import whole_file

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes, devices and signals")


def write(path, content=b"new"):
    with whole_file(path) as unfinished:
        unfinished.write_bytes(content)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_pipe_gets_all_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=write, args=[pipe, b"x" * 200_000])
    writer.start()
    assert pipe.read_bytes() == b"x" * 200_000
    writer.join()
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
        with pytest.raises(OSError, match=r"A disk or a socket, not a file.*'end'"):
            write("end")


@pytest.mark.parametrize("kept", [0o600, 0o444, 0o664])
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

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("nearkin.whole_file.os.stat", of_others)
    monkeypatch.setattr("nearkin.whole_file.os.chown", refuse)
    write(path)
    monkeypatch.undo()
    assert mode(path) == 0o644


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_half_files(tmp_path, name):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = (
        "import sys, time; from nearkin.whole_file import whole_file\n"
        "with whole_file(sys.argv[1]) as unfinished:\n"
        "    unfinished.write_bytes(b'half'); print(flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(getattr(signal, name))
        assert process.wait(30) == -getattr(signal, name)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"old"


def test_signals_of_others_are_left_to_them():
    came = []
    before = signal.signal(signal.SIGTERM, lambda *_: came.append(1))
    try:
        with tidied_up():
            signal.raise_signal(signal.SIGTERM)
        assert came == [1]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_signals_are_theirs_again_afterwards(monkeypatch):
    ended = []
    known = signal.raise_signal
    monkeypatch.setattr("nearkin.endings.signal.raise_signal", ended.append)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    with pytest.raises(Ended), tidied_up(), tidied_up():
        known(signal.SIGTERM)
    assert ended == [signal.SIGTERM]  # once
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_threads_write_files_too(tmp_path):
    writer = threading.Thread(target=write, args=[tmp_path / "file"])
    writer.start()
    writer.join()
    assert (tmp_path / "file").read_bytes() == b"new"
