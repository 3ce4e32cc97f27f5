import csv
import io
import itertools
import json
import threading
import warnings
from dataclasses import replace

import numpy as np
import pyarrow.parquet
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.base import clone

import nearkin as nk
from nearkin import GMML, ITML, LMNN, Euclidean, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.studio.journal import JournalError
from nearkin.studio.lesson import Lesson
from nearkin.studio.metric import learn_again_from, learn_first
from nearkin.studio.records import records_of
from tests.cases import each
from tests.waiting import PATIENCE

X, Y = make_xor(120, random_state=0)
LEARNERS = [
    KernelBeta(random_state=0),
    KernelBeta(n_landmarks=30, random_state=0),
    ITML(kernel="rbf", random_state=0),
    ITML(random_state=0),
    GMML(random_state=0),
]
each_learner = each("learner", LEARNERS, ids=str)


@pytest.fixture
def lesson():
    return Lesson(records_of(X))


def truth(i, j):
    return bool(Y[i] == Y[j])


def taught(n=15, records=None, **settings):
    lesson = Lesson(records_of(X) if records is None else records, **settings)
    for left, right in np.random.RandomState(0).permutation(len(X)).reshape(-1, 2)[:n].tolist():
        lesson.answer(left, right, truth(left, right))
    return lesson


def plain(value):
    """As JSON, in which NaN and arrays have no place."""
    return json.dumps(value, allow_nan=False)


def test_a_lesson(lesson):
    for _ in range(30):
        lesson.questions()
        question = lesson.state()["question"]
        lesson.answer(question["left"], question["right"], truth(*question.values()))
    state = lesson.state()
    assert state["version"] == state["n_answers"] == 30
    assert state["n_same"] + state["n_different"] == 30
    assert state["conflicts"] == state["n_unsure"] == 0
    assert state["can_undo"]
    assert not state["can_redo"]
    report = lesson.report()
    for value in (state, report, lesson.known(), lesson.about(), lesson.records.record(3)):
        plain(value)
    parts = "version learner quality outlook suspects answerers contradictions course"
    assert set(report) == {*parts.split(), "questions", "notes"}
    assert report["version"] == 30
    seen = nk.outlook(lesson.records.X, lesson.pairs)
    assert report["outlook"]["gain"] == seen.gain.value
    assert report["outlook"]["said"] == str(seen)
    assert lesson.metric.score(X, Y) > 0.95
    place = lesson.place()
    assert place["version"] == 30
    assert place["coordinates"].shape == (120, 2)
    assert place["coordinates"].dtype == np.float32


@each_learner
def test_the_metric_is_that_of_fit_with_all_pairs(learner):
    start = Pairs([(0, 1)], [(2, 3)], n_rows=len(X))
    lesson = Lesson(records_of(X), learner=learner, pairs=start)
    rng = np.random.RandomState(0)
    for _ in range(12):
        i, j = rng.choice(len(X), 2, replace=False)
        lesson.answer(i, j, truth(i, j))
        lesson.place()
    told = lesson.pairs.closure()
    if learner.get_params().get("n_landmarks"):  # found before the first answer
        by_hand = clone(learner).fit(X, pairs=start)
        by_hand.partial_fit(X, withdrawn=start, pairs=told)
    else:
        by_hand = clone(learner).fit(X, pairs=told)
    assert_allclose(lesson.metric.distance(X), by_hand.distance(X), rtol=0, atol=1e-9)
    assert lesson.metric.threshold_ == pytest.approx(by_hand.threshold_, abs=1e-9)


@each_learner
def test_undo_brings_everything_back(learner):
    lesson = taught(6, learner=learner)
    before, pairs, distances = lesson.place(), lesson.pairs, lesson.metric.distance(X)
    lesson.answer(0, 1, truth(0, 1))
    lesson.place()
    lesson.answer_groups([2, 3], [4, 5], False)
    moved = lesson.place()
    assert np.abs(moved["coordinates"] - before["coordinates"]).max() > 1e-6
    lesson.undo()
    lesson.place()
    state = lesson.undo()
    assert state["version"] == 10
    assert state["can_redo"]
    assert lesson.pairs == pairs
    assert_allclose(lesson.place()["coordinates"], before["coordinates"], atol=1e-5)
    assert_allclose(lesson.metric.distance(X), distances, atol=1e-9)
    lesson.redo()
    lesson.place()
    lesson.redo()
    assert_allclose(lesson.place()["coordinates"], moved["coordinates"], atol=1e-5)
    with pytest.raises(ValueError, match="nothing to do again"):
        lesson.redo()


def test_weights_of_given_pairs_hold_until_something_else_is_said():
    pairs = Pairs([(0, 1)], [(2, 3)], must_weight=[3], cannot_weight=[0.5], n_rows=len(X))
    lesson = Lesson(records_of(X), pairs=pairs)
    assert lesson.pairs == pairs
    lesson.answer(0, 1, False)
    assert lesson.pairs.cannot_weight.tolist() == [1, 0.5]
    lesson.undo()
    assert lesson.pairs == pairs


def test_bad_changes_change_nothing(tmp_path):
    lesson = Lesson(records_of(X), journal=tmp_path / "journal")
    before = (tmp_path / "journal").read_bytes()
    for change, error in [
        (lambda: lesson.answer(0, 0, True), ValueError),
        (lambda: lesson.answer(0, 500, True), ValueError),
        (lambda: lesson.answer(0, 1, "yes"), TypeError),
        (lambda: lesson.answer(0, 1, True, origin="dream"), ValueError),
        (lambda: lesson.answer_groups([0, 1], [1], True), ValueError),
        (lambda: lesson.withdraw(0, 1), ValueError),
        (lesson.undo, ValueError),
        (lesson.redo, ValueError),
    ]:
        with pytest.raises(error):
            change()
    assert lesson.state()["version"] == 0
    assert (tmp_path / "journal").read_bytes() == before


def test_groups(lesson):
    state = lesson.answer_groups(np.array([5, 6, 7]), [1], True)
    assert (state["n_pairs"], len(lesson.pairs.must_link)) == (3, 3)
    assert (state["n_same"], state["n_answers"]) == (1, 1)
    state = lesson.answer_groups(range(60), range(60, 120), False)
    assert (state["n_pairs"], len(lesson.pairs.cannot_link)) == (2000, 2000)
    assert (state["n_different"], state["n_answers"]) == (1, 2)
    lesson.place()
    state = lesson.undo()
    assert (state["n_different"], len(lesson.pairs.cannot_link)) == (0, 0)
    known = lesson.known()
    assert known["must_link"] == [1, 7, 5, 6, 6, 7]
    assert known["cannot_link"] == []


def test_a_journal_that_takes_back_pairs_that_were_not_given(tmp_path):
    path = tmp_path / "lesson.journal"
    with Lesson(records_of(X), journal=path, pairs=Pairs([(0, 1)])) as lesson:
        lesson.withdraw(0, 1)
    with pytest.raises(JournalError, match=r"entry 1 of .*Give the pairs"):
        Lesson(records_of(X), journal=path)
    with Lesson(records_of(X), journal=path, pairs=Pairs([(0, 1)])) as lesson:
        assert lesson.state()["n_answers"] == 0


SAID = [
    [(0, 1, None)],
    [(0, 1, True), (1, 2, True), (3, 4, True)],
    [(0, 1, False), (1, 2, False), (3, 4, False)],
    [(0, 1, True), (1, 2, True), (0, 2, False), (2, 3, True), (3, 0, False), (5, 6, False)],
]


@each(
    ("learner", "said"),
    [(None, said) for said in SAID] + list(zip(LEARNERS, itertools.cycle(SAID[1:]))),
    ids=str,
)
def test_whatever_is_said_something_is_shown(learner, said):
    lesson = Lesson(records_of(X[:60]), learner=learner)
    for i, j, same in said:
        lesson.answer(i, j, same)
        check_shown(lesson)
    assert np.isfinite(lesson.metric.distance(X)).all()


def check_shown(lesson):
    coordinates = lesson.place()["coordinates"]
    assert np.isfinite(coordinates).all()
    report = lesson.report()
    plain(report)
    assert report["version"] == lesson.state()["version"]
    n = len(lesson.records)
    for question in report["questions"]:
        assert 0 <= question["left"] < n
        assert 0 <= question["right"] < n
    plain(lesson.state())
    plain(lesson.neighbors(0))
    return report


def test_contradictions_are_counted_and_said(lesson):
    lesson.answer(0, 1, True)
    lesson.answer(1, 2, True)
    assert lesson.answer(0, 2, False)["conflicts"] == 1
    assert "contradict" in " ".join(lesson.report()["notes"])
    assert lesson.undo()["conflicts"] == 0
    assert lesson.report()["notes"] == []
    # Pairs that are given as both are left out.
    lesson = Lesson(records_of(X), pairs=Pairs([(0, 1), (2, 3)], [(0, 1)]))
    assert lesson.pairs == Pairs([(2, 3)], n_rows=len(X))
    assert "1 of the given pairs" in lesson.about()["notes"][0]


ODD = {
    "two rows": np.array([[0.0, 1], [2, 3]]),
    "three rows": np.array([[0.0, 1], [2, 3], [2, 4]]),
    "equal rows": np.ones((6, 3)),
    "duplicates": np.repeat(np.array([[0.0, 1], [2, 3], [7, 4]]), 4, axis=0),
    "constant column": np.column_stack([np.arange(8.0), np.full(8, 3.0)]),
    "one column": np.arange(8.0)[:, None],
    "float32": make_xor(40, random_state=1)[0].astype(np.float32),
    "huge": 1e12 * make_xor(40, random_state=1)[0],
    "tiny": 1e-12 * make_xor(40, random_state=1)[0],
    "wide": np.random.RandomState(0).standard_normal((12, 200)),
}


# All with the usual learner, and with others in turn.
OTHERS = [(None, True), (LEARNERS[0], False), (LEARNERS[3], True), (LEARNERS[4], False)]
CASES = [pytest.param(rows, None, False, id=name) for name, rows in ODD.items()]
for (name, rows), (learner, standardise) in zip(ODD.items(), itertools.cycle(OTHERS)):
    CASES += [pytest.param(rows, learner, standardise, id=f"{name} {learner} {standardise}")]


@each(("rows", "learner", "standardise"), CASES)
def test_odd_data(rows, learner, standardise):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lesson = Lesson(records_of(rows), learner=learner, standardise=standardise)
        check_shown(lesson)
        for i, j, same in [(0, 1, True), (0, len(rows) - 1, False), (1, len(rows) - 1, None)]:
            if i == j:
                continue
            lesson.answer(i, j, same)
            check_shown(lesson)
        assert np.isfinite(lesson.layout()["coordinates"]).all()
        for what in ("pairs", "embedding", "groups", "model"):
            assert lesson.export(what)[1]
        assert np.isfinite(lesson.metric.transform(rows)).all()


def test_questions_are_open():
    lesson = Lesson(records_of(X[:8]))
    asked = set()
    while questions := lesson.report()["questions"]:
        for question in questions:
            pair = tuple(sorted(question.values()))
            assert pair not in asked
        question = lesson.state()["question"]
        assert question == questions[0]
        asked.add(tuple(sorted(question.values())))
        same = None if len(asked) % 3 == 0 else truth(*question.values())
        lesson.answer(question["left"], question["right"], same)
    assert lesson.state()["question"] is None


def test_the_next_question_skips_what_follows_meanwhile(lesson):
    assert lesson.state()["question"] is None  # before the first report
    questions = lesson.report()["questions"]
    assert len(questions) > 5
    for k, question in enumerate(questions[:-1]):
        assert lesson.state()["question"] == question
        if k % 2:
            lesson.answer(question["left"], question["right"], None)
        else:  # it follows, without having been answered itself
            named = {*lesson.pairs.points.tolist(), *(r for q in questions for r in q.values())}
            spare = min({*range(len(X))} - named)
            lesson.answer(question["left"], spare, True)
            lesson.answer(question["right"], spare, False)


def test_vectors_are_compared_by_their_directions(tmp_path):
    lengths = np.random.RandomState(3).uniform(0.1, 10, size=(len(X), 1))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    lesson = Lesson(replace(records_of(X * lengths), is_vector=True))
    of_units = Lesson(records_of(unit))
    for left in range(0, 20, 2):
        for one in (lesson, of_units):
            one.answer(left, left + 1, truth(left, left + 1))
    wanted = of_units.place()["coordinates"]
    assert_allclose(lesson.place()["coordinates"], wanted, atol=1e-4)
    assert "directions of vectors" in lesson.report()["learner"]
    assert any("cosine" in note for note in lesson.about()["notes"])
    name, content = lesson.export("model")
    (tmp_path / name).write_bytes(content)
    metric = nk.load(tmp_path / name)
    assert_allclose(metric.distance(X), of_units.metric.distance(unit), atol=1e-6)
    as_they_are = Lesson(replace(records_of(X), is_vector=True), standardise=False)
    assert "directions" not in as_they_are.report()["learner"]


def test_standardised_metrics_take_rows_as_they_are(tmp_path):
    scaled = X * [1, 1000]
    lesson = taught(12, records_of(scaled), standardise=True)
    metric = lesson.metric
    Z = lesson.records.X
    wanted = cdist(*2 * [lesson._seen.learned.view.embedding()])
    assert_allclose(metric.distance(Z), wanted, atol=1e-9)
    name, content = lesson.export("model")
    (tmp_path / name).write_bytes(content)
    loaded = nk.load(tmp_path / name)
    assert_allclose(loaded.distance(scaled), metric.distance(scaled), atol=1e-12)
    assert_allclose(loaded.chance_same(scaled, scaled[::-1]), metric.chance_same(Z, Z[::-1]))
    assert loaded.learned_from_["rows"] == len(scaled)
    assert "standardised" in lesson.report()["learner"]
    assert lesson.about()["notes"] == []
    assert "Column 'x1' reaches" in Lesson(records_of(scaled)).about()["notes"][0]


@each(
    ("learner", "dtype"),
    [*((learner, np.float64) for learner in LEARNERS), (LEARNERS[1], np.float32)],
)
def test_exported_models_give_equal_distances(tmp_path, learner, dtype):
    rows = X.astype(dtype)
    lesson = taught(8, records_of(rows), learner=learner)
    name, content = lesson.export("model")
    assert name == "model.nearkin"
    (tmp_path / name).write_bytes(content)
    loaded = nk.load(tmp_path / name)
    assert (loaded.distance(rows) == lesson.metric.distance(rows)).all()
    assert (loaded.same(rows[:9], rows[9:18]) == lesson.metric.same(rows[:9], rows[9:18])).all()


def test_exported_pairs_and_embedding():
    ids = [f"id {k}, really" for k in range(len(X))]
    lesson = taught(8, records_of(X, ids=ids))
    lesson.answer(0, 1, None)
    name, content = lesson.export("pairs")
    assert name == "pairs.csv"
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert lines[-1] == {"left": ids[0], "right": ids[1], "same": "", "weight": "1"}
    said = {"true": True, "false": False}
    must = [(ids.index(x["left"]), ids.index(x["right"])) for x in lines if said.get(x["same"])]
    assert sorted(must) == sorted(map(tuple, lesson.pairs.must_link.tolist()))
    name, content = lesson.export("embedding")
    assert name == "embedding.parquet"
    table = pyarrow.parquet.read_table(io.BytesIO(content))
    assert table.column_names[:4] == ["row", "x", "y", "z0"]
    Z = np.column_stack([table[n].to_numpy() for n in table.column_names[3:]])
    assert_allclose(cdist(Z, Z), lesson.metric.distance(X), atol=1e-9)
    with pytest.raises(ValueError, match="to export, not 'all'"):
        lesson.export("all")


def test_metrics_are_copies_and_so_are_learners_which_get_a_seed():
    lesson = taught(5)
    first = lesson.metric
    before = first.distance(X)
    lesson.answer(0, 1, truth(0, 1))
    lesson.place()
    assert (first.distance(X) == before).all()
    first.partial_fit(X, pairs=Pairs([(5, 6)]))
    assert not (lesson.metric.distance(X) == first.distance(X)).all()
    learner = ITML()
    one, again = taught(5, learner=learner), taught(5, learner=learner)
    assert not hasattr(learner, "threshold_")
    assert learner.random_state is None
    assert (one.metric.distance(X) == again.metric.distance(X)).all()


def test_neighbors():
    lesson = taught(10)
    lesson.place()
    i, j = lesson.pairs.must_link[0].tolist()
    found = lesson.neighbors(i, n=len(X))["neighbors"]
    assert len(found) == len(X) - 1
    distances = [one["distance"] for one in found]
    assert distances == sorted(distances)
    assert_allclose(distances, np.sort(lesson.metric.distance(X)[i])[1:], atol=1e-9)
    known = {one["row"]: one["same"] for one in found}
    assert known[j] is True
    for a, b in lesson.pairs.closure().cannot_link.tolist():
        if i in (a, b):
            assert known[a + b - i] is False
    assert len(lesson.neighbors(i)["neighbors"]) == 10
    assert lesson.neighbors(i, n=0)["neighbors"] == []
    with pytest.raises(ValueError, match="no row 120"):
        lesson.neighbors(120)
    # Of what contradicts, the last word on each pair is shown.
    lesson = Lesson(records_of(X))
    for i, j, same in [(0, 1, True), (1, 2, True), (0, 2, False)]:
        lesson.answer(i, j, same)
    known = {one["row"]: one["same"] for one in lesson.neighbors(0, n=119)["neighbors"]}
    assert (known[1], known[2], known[3]) == (True, False, None)


def test_colourings():
    columns = {
        "kind": ["a", "b", None] * 40,
        "size": np.linspace(0, 1, 120).tolist(),
        "code": [f"{k}" for k in range(120)],
        "number": [1, 2, 3, 3] * 30,
        "empty": [None] * 120,
        "lists": [[1]] * 120,
        "mixed": ["a", 1] * 60,
        "flag": [True, False] * 60,
    }
    lesson = taught(6, records_of(X, columns=columns))
    listed = {one["name"]: one for one in lesson.about()["colourings"]}
    assert {"code", "empty", "lists"}.isdisjoint(listed)
    assert listed["number"]["kind"] == listed["flag"]["kind"] == "categories"
    assert "x1" not in listed  # a name that the data do not have themselves
    for one in listed.values():
        found = lesson.looks.colouring(one["key"])
        values = found.pop("values")
        plain(found)
        assert values.dtype == np.float32
        assert values.shape == (120,)
        if found["kind"] == "categories":
            assert np.nanmax(values) < len(found["categories"])
        else:
            assert found["range"] == [np.nanmin(values), np.nanmax(values)]
    kind = lesson.looks.colouring(listed["kind"]["key"])
    assert kind["categories"] == ["a", "b"]
    assert kind["values"][:2].tolist() == [0, 1]
    assert np.isnan(kind["values"][2])
    for key in ("column-2", "feature-0", "column--1", "x"):
        with pytest.raises(ValueError, match="no colouring"):
            lesson.looks.colouring(key)
    # Many kinds are put together.
    kinds = {"kind": [f"k{k % 55:02d}" for k in range(120)]}
    found = Lesson(records_of(X, columns=kinds)).looks.colouring("column-0")["categories"]
    assert (len(found), found[-1]) == (51, "(others)")


def test_a_layout_is_that_of_the_last_metric(lesson):
    assert lesson.layout()["version"] == 0
    lesson.answer(0, 1, True)
    assert lesson.layout()["version"] == 0  # until it is placed
    lesson.place()
    assert lesson.layout()["version"] == 1
    assert (lesson.layout()["coordinates"] ** 2).sum(axis=1).mean() == pytest.approx(1)


@each("learner", [LMNN(), Euclidean(), KernelBeta, "KernelBeta"], ids=str)
def test_other_learners_are_refused(learner):
    with pytest.raises(TypeError, match=r"learns answer by answer.*such as KernelBeta"):
        Lesson(records_of(X), learner=learner)


def test_other_bad_settings():
    with pytest.raises(ValueError, match="precomputed"):
        Lesson(records_of(X), learner=KernelBeta(kernel="precomputed"))
    with pytest.raises(TypeError, match=r"pairs must be a nearkin.Pairs"):
        Lesson(records_of(X), pairs=[(0, 1)])
    with pytest.raises(ValueError, match="pairs are for 5 rows"):
        Lesson(records_of(X), pairs=Pairs([(0, 1)], n_rows=5))


def test_a_space_is_found_without_any_pair():
    start = learn_first(KernelBeta(n_landmarks=5, random_state=0), X, Pairs(n_rows=len(X)))
    assert len(start.metric.landmarks_) == 5
    assert start.metric.learned_from_["must_links"] == 0

    learner = KernelBeta(random_state=0)  # all rows are landmarks, whatever pairs name
    told = Pairs([(0, 1)], [(2, 3)], n_rows=len(X))
    after = learn_again_from(learn_first(learner, X, Pairs(n_rows=len(X))), X, told, 1)
    expected = learner.fit(X, pairs=told)
    assert_allclose(after.metric.distance(X), expected.distance(X), rtol=1e-12)
    assert after.threshold == expected.threshold_


def test_a_learner_that_makes_nothing_of_the_answers():
    lesson = Lesson(records_of(X), learner=KernelBeta(weighting="paper", random_state=0))
    lesson.answer(0, 1, False)
    report = check_shown(lesson)
    assert "Nothing can be learned from these answers" in report["notes"][-1]
    with pytest.raises(ValueError, match="no metric yet"):
        _ = lesson.metric
    lesson.answer(2, 3, True)
    check_shown(lesson)
    assert lesson.report()["notes"] == []
    assert np.isfinite(lesson.metric.distance(X)).all()


def test_a_sample_is_told_of():
    lesson = Lesson(records_of(np.tile(X, (10, 1)), most=150))
    assert lesson.about()["n_total"] == 1200
    assert lesson.about()["n_rows"] == 150
    note = "150 of 1 200 rows are shown"
    assert note in lesson.about()["notes"][0]
    assert note in lesson.report()["notes"][0]


def test_learning_goes_on_while_answers_come(lesson):
    rng = np.random.RandomState(0)
    stop, errors, versions = threading.Event(), [], {"place": [], "report": []}

    def work(name, step):
        try:
            while not stop.is_set():
                versions[name].append(step()["version"])
                lesson.neighbors(3)
                lesson.groups()
                plain(lesson.state())
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=("place", lesson.place)),
        threading.Thread(target=work, args=("report", lesson.report)),
    ]
    for thread in threads:
        thread.start()
    for _ in range(60):
        i, j = rng.choice(len(X), 2, replace=False)
        lesson.answer(i, j, truth(i, j))
        if rng.rand() < 0.2:
            lesson.undo()
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors
    for seen in versions.values():
        assert seen == sorted(seen)
    version = lesson.state()["version"]
    assert lesson.place()["version"] == lesson.report()["version"] == version
    by_hand = ITML(kernel="rbf", random_state=0).fit(X, pairs=lesson._book.known.told)
    assert_allclose(lesson.metric.distance(X), by_hand.distance(X), atol=1e-9)


def test_questions_without_a_report():
    lesson = Lesson(records_of(X))
    assert lesson.questions() == lesson.report()["questions"]
    assert lesson.state()["question"] == lesson.questions()[0]


def test_ids_that_are_there_twice_do_not_name_rows_in_exports():
    ids = ["same"] * 2 + [f"n{k}" for k in range(118)]
    lesson = Lesson(records_of(X, ids=ids))
    lesson.answer(0, 5, True)
    _, content = lesson.export("pairs")
    assert content.decode().splitlines()[1] == "0,5,true,1"
    assert any("same id" in note for note in lesson.about()["notes"])


def test_a_lesson_goes_on_from_the_entries_of_another(tmp_path):
    lesson = taught(4)
    lesson.undo()
    for journal in (None, tmp_path / "a.jsonl"):
        with Lesson(records_of(X), events=lesson.events, journal=journal) as other:
            assert other.known() == lesson.known()
            assert other.state()["can_redo"]
    # A journal that has entries of its own is what counts.
    with Lesson(records_of(X), journal=tmp_path / "a.jsonl", events=[]) as other:
        assert other.known() == lesson.known()


def test_closing_waits_for_an_answer_that_is_being_kept(tmp_path, monkeypatch):
    path = tmp_path / "answers.jsonl"
    lesson = Lesson(records_of(np.eye(4)), journal=path)
    writing, go_on = threading.Event(), threading.Event()
    append = lesson._book._journal.append

    def slowly(entry):
        writing.set()
        assert go_on.wait(PATIENCE)
        append(entry)

    monkeypatch.setattr(lesson._book._journal, "append", slowly)
    answering = threading.Thread(target=lesson.answer, args=[0, 1, True])
    closing = threading.Thread(target=lesson.close)
    answering.start()
    assert writing.wait(PATIENCE)
    closing.start()
    closing.join(0.05)
    assert closing.is_alive()
    go_on.set()
    answering.join()
    closing.join()
    with Lesson(records_of(np.eye(4)), journal=path) as again:
        assert again.state()["n_answers"] == 1
    assert [one.name for one in tmp_path.iterdir()] == ["answers.jsonl"]


def test_answerers_are_kept_in_the_journal_and_judged(tmp_path):
    journal = tmp_path / "answers.jsonl"
    rng = np.random.RandomState(0)
    with taught(5, journal=journal) as lesson:
        assert lesson.report()["answerers"] == {"listed": [], "said": ""}
        assert lesson.events[0].by is None
    with Lesson(records_of(X), journal=journal, by="Ann") as lesson:
        assert lesson.about()["by"] == "Ann"
        for left, right in rng.permutation(120).reshape(-1, 2)[20:].tolist():
            lesson.answer(left, right, truth(left, right))
            lesson.answer(left, right, truth(left, right), by="Cy")
            lesson.answer(left, right, truth(left, right) ^ (rng.rand() < 0.4), by="Bob")
        found = lesson.report()["answerers"]
    assert plain(found)
    listed = {one["name"]: one for one in found["listed"]}
    assert {name: one["n_answers"] for name, one in listed.items()} == {
        "Ann": 40, "Cy": 40, "Bob": 40, "unnamed": 5
    }  # fmt: skip
    assert listed["Bob"]["low"] > listed["Ann"]["high"]
    assert found["said"].startswith("Look at answers of Bob")
    with Lesson(records_of(X), journal=journal) as again:
        assert again.report()["answerers"] == found
        # Undone and withdrawn answers are no evidence.
        again.undo()
        left, right = again.events[5].left, again.events[5].right
        again.withdraw(left, right)
        counts = {one["name"]: one["n_answers"] for one in again.report()["answerers"]["listed"]}
    assert counts == {"Ann": 39, "Cy": 39, "Bob": 38, "unnamed": 5}
