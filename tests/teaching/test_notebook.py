"""The studio from Python."""

import re
import sys
import threading

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import nearkin as nk
from nearkin.teaching.journal import JournalInUse


@pytest.fixture(scope="module")
def data():
    return nk.datasets.make_xor(60, random_state=0)


def answer(handle, left, right, same):
    base, token = handle.url.split("/?token=")
    reply = httpx.post(
        f"{base}/api/answers",
        json={"left": left, "right": right, "same": same},
        headers={"X-Nearkin-Token": token},
        trust_env=False,
    )
    assert reply.status_code == 200


def test_what_was_taught_comes_back(data):
    X, _ = data
    given = nk.Pairs(must_link=[(0, 1)])
    with nk.studio(X, given, port=0) as handle:
        answer(handle, 2, 3, False)
        answer(handle, 4, 5, True)
        assert handle.pairs == nk.Pairs([(0, 1), (4, 5)], [(2, 3)], n_rows=60)
        assert handle.metric.transform(X[:3]).shape[0] == 3
        assert "2 answers" in repr(handle) or "3 answers" in repr(handle)
    assert handle.wait(5)
    assert len(handle.pairs) == 3  # still, after the end
    afresh = clone(handle.metric).fit(X, pairs=handle.pairs)
    assert handle.metric.distance(X[:5], X) == pytest.approx(afresh.distance(X[:5], X), rel=1e-6)


def test_a_cell_shows_the_page(data):
    with nk.studio(data[0], port=0) as handle:
        shown = handle._repr_html_()
        assert re.search(f'<iframe src="{re.escape(handle.url)}"', shown)
        assert f'href="{handle.url}"' in shown
        assert not handle.wait(0.05)


def test_answers_are_kept_in_a_journal(data, tmp_path):
    path = tmp_path / "answers.jsonl"
    with nk.studio(data[0], journal=path, port=0) as handle:
        answer(handle, 0, 1, True)
        with pytest.raises(JournalInUse, match="open already"):
            nk.studio(data[0][:30], journal=path, port=0)
    with nk.studio(data[0], journal=path, port=0) as handle:
        assert handle.pairs == nk.Pairs([(0, 1)], n_rows=60)


def servers():
    return [one for one in threading.enumerate() if one.name == "nearkin.teaching"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_a_cell_that_is_run_again_goes_on(data, tmp_path, on_disk):
    X, y = data
    journal = tmp_path / "answers.jsonl" if on_disk else None
    before = len(servers())
    with nk.studio(X, nk.Pairs([(0, 1)]), journal=journal, port=0) as handle:
        url = handle.url
        answer(handle, 2, 3, False)
        answer(handle, 4, 5, None)
        # The rows may be made anew, and other arguments may differ.
        again = nk.studio(
            X.copy(), nk.Pairs([(0, 1)]), columns={"kind": y}, standardise=True, journal=journal,
            port=0,
        )  # fmt: skip
        assert again.pairs == nk.Pairs([(0, 1)], [(2, 3)], n_rows=60)
        assert again.url == url
        assert len(servers()) == before + 1
        answer(again, 6, 7, True)
        # Whoever has the handle of before sees it too.
        assert handle.pairs == again.pairs
        assert len(handle.pairs) == 3
        base, token = url.split("/?token=")
        reply = httpx.post(f"{base}/api/undo", headers={"X-Nearkin-Token": token}, trust_env=False)
        assert reply.json()["n_answers"] == 3
    assert len(servers()) == before
    # Once it is closed, the next one begins anew, or from the journal.
    with nk.studio(X, nk.Pairs([(0, 1)]), journal=journal, port=0) as handle:
        assert len(handle.pairs) == (2 if on_disk else 1)


def test_other_rows_are_another_studio(data):
    with nk.studio(data[0], port=0) as one, nk.studio(data[0][:50], port=0) as two:
        answer(one, 0, 1, True)
        assert len(two.pairs) == 0


def test_answers_in_memory_go_into_a_journal_that_is_named_later(data, tmp_path):
    path = tmp_path / "answers.jsonl"
    with nk.studio(data[0], port=0) as handle:
        answer(handle, 0, 1, True)
        nk.studio(data[0], journal=path, port=0)
        answer(handle, 2, 3, False)
    with nk.studio(data[0], journal=path, port=0) as handle:
        assert handle.pairs == nk.Pairs([(0, 1)], [(2, 3)], n_rows=60)


def test_a_cell_that_fails_the_second_time_loses_nothing(data):
    X, _ = data
    with nk.studio(X, nk.Pairs([(0, 1)]), port=0) as handle:
        answer(handle, 2, 3, False)
        base, token = handle.url.split("/?token=")
        httpx.post(
            f"{base}/api/withdrawals", json={"left": 0, "right": 1}, trust_env=False,
            headers={"X-Nearkin-Token": token},
        )  # fmt: skip
        with pytest.raises(ValueError, match="Give the pairs that the lesson was begun with"):
            nk.studio(X, port=0)
        nk.studio(X, nk.Pairs([(0, 1)]), port=0)
        assert handle.pairs == nk.Pairs([], [(2, 3)], n_rows=60)


def test_a_closed_studio_shows_no_page(data):
    with nk.studio(data[0], port=0) as handle:
        pass
    assert "iframe" not in handle._repr_html_()
    assert "closed" in repr(handle)


def test_frames_labels_and_columns(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(name=[f"n{i}" for i in range(60)])
    labels = np.where(np.arange(60) < 6, y, -1)
    columns = pd.DataFrame({"more": range(60)})
    with nk.studio(frame, labels=labels, ids="name", columns=columns, port=0) as handle:
        assert len(handle.pairs) == 15
        base, token = handle.url.split("/?token=")
        headers = {"X-Nearkin-Token": token}
        about = httpx.get(f"{base}/api/lesson", headers=headers, trust_env=False).json()
        assert about["features"] == ["a", "b"]
        names = {one["name"] for one in about["colourings"]}
        assert {"more", "label", "a"} <= names
        found = httpx.get(f"{base}/api/records/7", headers=headers, trust_env=False).json()
        assert found["id"] == "n7"


def test_of_many_rows_a_sample_is_shown_with_all_that_pairs_name():
    X = np.random.default_rng(0).normal(size=(200_500, 2)).astype(np.float32)
    given = nk.Pairs([(0, 200_499)], [(7, 8)])
    with nk.studio(X, given, port=0) as handle:
        base, token = handle.url.split("/?token=")
        headers = {"X-Nearkin-Token": token}
        about = httpx.get(f"{base}/api/lesson", headers=headers, trust_env=False).json()
        assert 200_000 <= about["n_rows"] <= 200_004
        assert about["n_total"] == 200_500
        assert handle.pairs == nk.Pairs([(0, 200_499)], [(7, 8)], n_rows=200_500)


def test_pairs_that_nothing_can_be_learned_from_are_kept():
    given = nk.Pairs([(0, 1)], [(2, 3)], n_rows=20)
    with nk.studio(np.ones((20, 2)), given, port=0) as handle:
        assert handle.pairs == given
        assert (handle.metric.transform(np.ones((3, 2))) == 0).all()


def test_two_at_once(data):
    with nk.studio(data[0]) as one, nk.studio(data[0][:50]) as two:
        assert one.url.split("?")[0] != two.url.split("?")[0]


def test_who_answers_is_kept(data, tmp_path):
    journal = tmp_path / "answers.jsonl"
    with nk.studio(data[0], port=0, journal=journal, by="Ann") as handle:
        answer(handle, 2, 3, False)
    assert '"by":"Ann"' in journal.read_text().replace(" ", "")


def test_errors_come_before_the_page(data):
    X, _ = data
    with pytest.raises(ValueError, match="takes two rows"):
        nk.studio(X[:1])
    with pytest.raises(ValueError, match="row 3, column"):
        nk.studio(np.where(np.arange(120).reshape(60, 2) == 7, np.nan, X))
    with pytest.raises(ValueError, match="60"):
        nk.studio(X, nk.Pairs([(0, 60)]))


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "websockets", "PIL"])
def test_without_its_packages_it_says_so(data, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'nearkin\[studio\]'"):
        nk.studio(data[0])


def test_frames_of_records_are_taught_and_reviewed():
    table, _ = nk.datasets.make_records(40, random_state=0)
    frame = pd.DataFrame(table).assign(height=np.linspace(150, 190, 40) ** 2)
    encoder = nk.TableEncoder(kinds={"born": "name"})
    for records, of_words in ((None, False), (True, True), (encoder, True)):
        with nk.studio(frame, records=records, port=0) as handle:
            assert handle._lesson.about()["of_words"] is of_words
            assert handle._lesson.about()["review"] is of_words
    assert handle.metric.table_.kinds_["born"] == "name"
