"""Tables on dask's workers: the same candidates and groups as in memory."""

from itertools import pairwise

import numpy as np
import pytest

from nearkin import Pairs, RecordMatcher
from nearkin.datasets import make_records
from nearkin.errors import InputError, InputTypeError
from tests.records.conftest import KINDS

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from nearkin.records import blocking, model  # noqa: E402
from nearkin.records import dask as dask_records  # noqa: E402
from nearkin.records.dask import pack_columns, unpack_columns  # noqa: E402
from tests.records.conftest import words  # noqa: E402


def matcher():
    return RecordMatcher(kinds=KINDS, random_state=0)


def people(n, seed):
    table, person = make_records(n, random_state=seed)
    return pd.DataFrame(table), person


def in_parts(frame, *cuts):
    """Partitions that end at these rows."""
    bounds = [0, *cuts, len(frame)]
    parts = [frame[a:b] for a, b in pairwise(bounds)]
    return dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0])


def assert_same_work(found, expected):
    for name in ("pairs", "overlap", "met", "views"):
        of_found, of_expected = (
            getattr(m._judged.work.candidates, name) for m in (found, expected)
        )
        assert np.array_equal(of_found, of_expected), name
    assert np.array_equal(found._judged.scores, expected._judged.scores)


@pytest.fixture(autouse=True)
def few_orders(monkeypatch):
    """Few turns of the workers, which are slow, for few records."""
    monkeypatch.setattr(blocking, "_ORDERS_OF_FEW", 6)
    monkeypatch.setattr(blocking, "_ORDERS", 6)


@pytest.fixture
def in_process():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.night
def test_groups_of_worker_processes_are_those_of_the_table_in_memory(dask_client, monkeypatch):
    monkeypatch.setattr(model, "N_TREES", 100)  # as the workers have it
    frame, _ = people(200, 0)
    local = matcher().fit(frame)
    with dask_client.as_current():
        remote = matcher().fit(in_parts(frame, 100, 199))
        assert_same_work(remote, local)
    assert np.array_equal(remote.duplicates().labels, local.duplicates().labels)
    assert str(remote.report_) == str(local.report_)


def test_answers_are_learned_from_as_in_memory(in_process):
    frame, person = people(150, 5)
    local, remote = matcher().fit(frame), matcher().fit(in_parts(frame, 50))
    asked = local.suggest(20)
    assert np.array_equal(remote.suggest(20), asked)
    same = person[asked[:, 0]] == person[asked[:, 1]]
    pairs = Pairs(asked[same], asked[~same], n_rows=150)
    assert_same_work(remote.teach(pairs), local.teach(pairs))


def test_large_tables_go_to_several_places_and_in_several_blocks(in_process, monkeypatch):
    for module, name, size in (
        (blocking, "BLOCK", 150),
        (blocking, "_FEW", 0),
        (dask_records, "BLOCK", 150),
        (dask_records, "_RECORDS", 300),
        (dask_records, "_PAIRS", 100),
        (dask_records, "_PAIRS_OF_A_TASK", 1000),
        (dask_records, "_BLOCKS_AT_A_TIME", 2),
    ):
        monkeypatch.setattr(module, name, size)
    frame, _ = people(1000, 1)
    assert_same_work(matcher().fit(in_parts(frame, 333, 666)), matcher().fit(frame))


def test_numbers_dates_copies_and_empty_partitions(in_process):
    frame, _ = people(400, 2)
    frame["born"] = pd.to_datetime(frame["born"], errors="coerce")
    frame["weight"] = np.where(np.arange(400) % 7, np.arange(400) % 90 / 7, np.nan)
    frame["id"] = np.arange(400)
    frame = pd.concat([frame, frame[100:130]], ignore_index=True)
    local, remote = RecordMatcher(random_state=0), RecordMatcher(random_state=0)
    local.fit(frame.drop(columns="id"))
    remote.fit(in_parts(frame, 0, 200, 200, 400, 430))
    assert remote.kinds_ == {**local.kinds_, "id": "ignored"}
    assert_same_work(remote, local)


def test_another_table_is_searched_by_what_was_learned_in_memory(in_process):
    frame, _ = people(300, 3)
    other, _ = people(200, 4)
    local = matcher().fit(frame)
    found = local.duplicates(in_parts(other, 50, 60))
    assert np.array_equal(found.labels, local.duplicates(other).labels)


def test_what_is_not_done_on_dask_is_refused(in_process):
    frame, _ = people(100, 0)
    on_dask = in_parts(frame, 50)
    with pytest.raises(InputTypeError, match=r"group them by the labels"):
        matcher().fit(on_dask).canonical()
    with pytest.raises(InputTypeError, match=r"table\.compute\(\)"):
        matcher().fit_link(on_dask, frame)
    with pytest.raises(InputTypeError, match="is a data frame, not Array"):
        matcher().fit(on_dask.to_dask_array())
    with pytest.raises(InputError, match="no rows"):
        matcher().fit(in_parts(frame[:0]))
    vectors = frame.assign(picture=list(np.eye(100)))
    with (
        dask.config.set({"dataframe.convert-string": False}),
        pytest.raises(InputTypeError, match="'picture' holds vectors"),
    ):
        matcher().fit(in_parts(vectors, 50))


def test_packed_texts_come_back_as_they_were():
    values = ["anna", None, "zoë", "東京", "\udc80", "b"]
    parts = [pack_columns([words("name", values[:2])]), pack_columns([words("name", values[2:])])]
    [column] = unpack_columns(parts)
    assert column.values.tolist() == values
    [column] = unpack_columns([parts[1].take(np.array([3, 0, 0]))])
    assert column.values.tolist() == ["b", "zoë", "zoë"]
