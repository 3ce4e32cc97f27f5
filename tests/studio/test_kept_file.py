"""Files that are found under their name, whatever others do to them meanwhile."""

import errno
import os
import shutil
import sys
import warnings

import numpy as np
import pytest

from nearkin.datasets import make_xor
from nearkin.studio import journal as journal_module
from nearkin.studio.journal import Journal, JournalInUse, KeptFile, read_lines
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.studio.test_journal import full

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there, open files stay in place")


@pytest.fixture
def path(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / "answers.jsonl"


def entries_in(path):
    """What a studio that is opened later finds."""
    with Journal(path) as journal:
        return journal.entries


@pytest.fixture
def journal(path):
    """One with an answer in it."""
    found = Journal(path)
    found.append({"first": 1})
    return found


def replaced_by_a_copy(path):
    shutil.copy(path, path.with_suffix(".copy"))
    path.with_suffix(".copy").replace(path)


def replaced_by_an_older_copy(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: content.rindex(b"{", 0, -60)])


def folder_renamed_and_made_anew(path):
    path.parent.rename(path.parent.with_suffix(".old"))
    path.parent.mkdir()


HARM = {
    "deleted": lambda path: path.unlink(),
    "moved": lambda path: path.rename(path.with_suffix(".moved")),
    "emptied": lambda path: path.write_bytes(b""),
    "cut short": lambda path: os.truncate(path, 10),
    "replaced by a copy": replaced_by_a_copy,
    "replaced by an older copy": replaced_by_an_older_copy,
    "folder renamed and made anew": folder_renamed_and_made_anew,
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM.keys())
def test_what_is_acknowledged_is_in_the_file_of_that_name(path, journal, harm):
    harm(path)
    journal.append({"second": 2})
    kept = path.with_suffix(".kept")
    shutil.copy(path, kept)  # as a crash would leave it
    assert entries_in(kept) == [{"first": 1}, {"second": 2}]
    journal.append({"third": 3})
    with pytest.raises(JournalInUse):
        Journal(path)  # the file of that name is locked again
    journal.close()
    assert entries_in(path) == [{"first": 1}, {"second": 2}, {"third": 3}]


def test_it_is_noticed_within_one_answer(path, monkeypatch):
    journal = Journal(path)
    fsync = os.fsync

    def deleted_now(file):
        fsync(file)
        monkeypatch.setattr(os, "fsync", fsync)
        path.unlink()

    monkeypatch.setattr(os, "fsync", deleted_now)
    journal.append({"first": 1})
    journal.close()
    assert entries_in(path) == [{"first": 1}]


def test_a_file_that_is_taken_away_again_and_again(path, monkeypatch):
    journal = Journal(path)
    write = os.write

    def deleted_each_time(file, content):
        path.unlink(missing_ok=True)
        return write(file, content)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", deleted_each_time)
        with pytest.raises(OSError, match=r": it is taken away again and again\. What") as caught:
            journal.append({"first": 1})
    why = caught.value.__cause__
    assert (caught.value.errno, why.errno, why.filename) == (*2 * [errno.EBUSY], str(path))
    assert journal.entries == []
    journal.append({"second": 2})
    journal.close()
    assert entries_in(path) == [{"second": 2}]


def written_over(path):
    path.unlink()
    path.write_bytes(b"something else")


def edited_in_place(path):
    path.write_bytes(path.read_bytes().replace(b'"first":1', b'"first":2'))


def made_a_folder(path):
    path.unlink()
    path.mkdir()


IN_THE_WAY = {
    "another file": (written_over, errno.EEXIST, "a file of that name holds something else"),
    "an edited one": (edited_in_place, errno.EEXIST, "a file of that name holds something else"),
    "a folder": (made_a_folder, errno.EISDIR, "A folder, not a journal"),
    "no folder": (lambda path: shutil.rmtree(path.parent), errno.ENOENT, "There is no folder"),
}


@pytest.mark.parametrize(("harm", "number", "said"), IN_THE_WAY.values(), ids=IN_THE_WAY.keys())
def test_what_is_in_the_way_is_left_alone_and_nothing_is_lost(
    path, journal, harm, number, said, monkeypatch
):
    elsewhere = path.parent.parent / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr(journal_module.tempfile, "tempdir", str(elsewhere))
    harm(path)
    before = path.read_bytes() if path.is_file() else None
    for _ in range(2):
        with pytest.raises(OSError, match=rf"not kept.* {path} .*: {said}.*in memory") as caught:
            journal.append({"lost": 0})
        why = caught.value.__cause__
        assert (caught.value.errno, why.errno, why.filename) == (*2 * [number], str(path))
        [copy] = (path.parent if path.parent.exists() else elsewhere).glob("answers.?*.jsonl")
        assert str(caught.value).endswith(f"put right; until then, it is in {copy} too")
        assert read_lines(copy.read_bytes(), copy)[0][-1] == {"entry": {"first": 1}}
    assert before == (path.read_bytes() if path.is_file() else None)
    # Out of the way, all of it is written.
    if path.is_dir():
        path.rmdir()
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    journal.append({"second": 2})
    assert not copy.exists()
    journal.append({"third": 3})
    journal.close()
    assert entries_in(path) == [{"first": 1}, {"second": 2}, {"third": 3}]


def test_another_studio_that_took_the_name_is_not_disturbed(path):
    one = Journal(path)
    one.append({"first": 1})
    path.unlink()
    with Journal(path) as two:
        two.append({"other": 1})
        with pytest.raises(OSError, match=": another studio has a file of that name open") as said:
            one.append({"second": 2})
        assert (said.value.errno, said.value.__cause__.filename) == (errno.EBUSY, str(path))
    with pytest.raises(OSError, match="holds something else"):
        one.append({"second": 2})
    with pytest.warns(UserWarning, match="they are in") as caught:
        one.close()
    assert str(one.path) in str(caught[0].message)
    assert entries_in(path) == [{"other": 1}]
    assert entries_in(one.path) == [{"first": 1}]


def test_a_full_disk_while_it_is_written_anew(path, journal, monkeypatch):
    path.unlink()

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match=r"No space left.*before is in memory"):
            journal.append({"second": 2})
    journal.append({"third": 3})
    journal.close()
    assert entries_in(path) == [{"first": 1}, {"third": 3}]


def test_what_is_taken_away_before_the_end_is_there_at_the_end(path, journal):
    path.unlink()
    said = rf"^the file of 1 answers, {path}, was .* program: they were written to it anew\.$"
    with pytest.warns(UserWarning, match=said) as caught:
        journal.close()
    assert caught[0].filename == __file__
    assert entries_in(path) == [{"first": 1}]
    # Without answers there is nothing to bring back, and without harm nothing to say.
    other = path.with_name("other.jsonl")
    journal = Journal(other)
    other.unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        journal.close()
        with Journal(path) as journal:
            journal.append({"second": 2})
    assert not other.exists()


def test_where_there_is_no_folder_any_more_answers_go_among_temporary_files(
    path, journal, monkeypatch
):
    elsewhere = path.parent.parent / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr(journal_module.tempfile, "tempdir", str(elsewhere))
    shutil.rmtree(path.parent)
    with pytest.warns(
        UserWarning, match=r"since There is no folder .*, they are in (.*) now"
    ) as said:
        journal.close()
    assert str(journal.path) in str(said[0].message)
    assert journal.path.parent == elsewhere
    assert entries_in(journal.path) == [{"first": 1}]


def test_answers_that_no_disk_takes(path, journal, monkeypatch):
    shutil.rmtree(path.parent)
    monkeypatch.setattr(journal_module.tempfile, "mkstemp", full)
    with pytest.warns(UserWarning, match=r"they are not on the disk, since There is no folder"):
        journal.close()
    assert journal.path == path


def test_each_piece_looks_at_the_name_once_or_twice(path, monkeypatch):
    file = KeptFile(path)
    file.append(b"one")
    reads = []
    monkeypatch.setattr(journal_module, "_read", lambda *given: reads.append(given) or b"")
    file.append(b"two")
    file.close()
    assert reads == []  # what nobody has touched is not read again
    assert path.read_bytes() == b"onetwo"


def test_a_lesson_whose_journal_is_deleted(path):
    X, _ = make_xor(30, random_state=0)
    records = records_of(np.asarray(X))
    with Lesson(records, journal=path) as lesson:
        lesson.answer(0, 1, True)
        path.unlink()
        lesson.answer(2, 3, False)
        lesson.undo()
        assert lesson.journal == path
        known = lesson.known()
    with Lesson(records, journal=path) as lesson:
        assert lesson.known() == known
