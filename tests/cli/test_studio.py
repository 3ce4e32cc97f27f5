"""``nearkin studio``: from files to records, and everything that may be wrong with them."""

import os
import struct
import sys
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from nearkin.cli.files.columns import Choice
from nearkin.cli.studio import Wishes, read_records
from nearkin.datasets import make_records
from nearkin.studio import records as studio_records
from nearkin.studio.lesson import Lesson
from nearkin.studio.server import encoding, serving
from tests.cases import each
from tests.cli.conftest import write_csv
from tests.waiting import until


@pytest.fixture
def served(monkeypatch):
    """Lessons that were served, which ends at once."""
    lessons = []

    def run(self):
        lessons.append(self.lesson)
        self._end()

    monkeypatch.setattr(serving.Serving, "run", run)
    return lessons


def opened(run, *arguments):
    return run("studio", *arguments, "--no-browser", "--port", 0)


def test_numbers_are_learned_from_and_all_else_is_shown(run, files, served):
    shown = opened(run, "rows.csv", "--id", "name", "--pairs", "pairs.csv")
    assert shown.out.startswith("http://127.0.0.1:")
    assert "?token=" in shown.out
    assert "answers are kept in rows.csv.answers.jsonl" in shown.err
    (lesson,) = served
    assert lesson.records.features == ["a", "b"]
    assert list(lesson.records.columns) == ["kind"]
    assert lesson.records.ids[5] == "n5"
    assert lesson.state()["n_answers"] == 40
    assert os.path.exists("rows.csv.answers.jsonl")


def test_triplets_are_known_from_the_start(run, files, served):
    write_csv(files / "order.csv", ["anchor", "closer", "farther"], [("n0", "n5", "n9")])
    which = ("rows.csv", "--id", "name", "--exclude", "kind", "--triplets", "order.csv")
    assert "answers are kept in rows.csv.answers.jsonl" in opened(run, *which).err
    assert served[0].pairs.closer.tolist() == [[0, 5, 9]]
    shown = run("studio", *which, "--learner", "gmml", "--no-browser", "--port", 0, status=2)
    assert "GMML does not learn from triplets" in shown.err


def test_it_goes_on_where_it_ended(run, files, served, sample):
    opened(run, "rows.csv", "--exclude", "name", "--pairs", "numbered.csv")
    lesson = Lesson(served[0].records, journal="rows.csv.answers.jsonl", pairs=sample.pairs)
    pair = lesson.report()["questions"][0]
    lesson.answer(pair["left"], pair["right"], True)
    lesson.close()
    shown = opened(run, "rows.csv", "--exclude", "name", "--pairs", "numbered.csv")
    assert "resumed 1 answer from rows.csv.answers.jsonl" in shown.err
    assert "The same command goes on" in shown.err


def test_another_learner_can_be_taught(run, files, served):
    options = ["--learner", "kernel-beta", "--set", "n_landmarks=20"]
    opened(run, "rows.csv", "--id", "name", "--pairs", "pairs.csv", *options)
    metric = served[0].metric
    assert type(metric).__name__ == "KernelBeta"
    assert metric.n_landmarks == 20
    assert metric.random_state == 0


def test_labels_are_known_from_the_start(run, files, served):
    shown = opened(run, "rows.csv", "--id", "name", "--labels", "kind")
    assert "500 pairs are known from the start" in shown.err
    assert served[0].state()["n_answers"] == 500
    assert "kind" in served[0].records.columns


def test_columns_of_many_kinds(run, files, served):
    frame = pd.DataFrame(
        {
            "x": [1.0, 2, 3, 4],
            "yes": [True, False, True, False],
            "when": pd.to_datetime(["2024-01-01"] * 4),
            "text": ["a", None, "c" * 10_000, "<b>"],
            "left_out": [1, 2, 3, 4],
        }
    )
    frame.to_parquet("many.parquet")
    opened(run, "many.parquet", "--exclude", "left_out", "--show", "text")
    (lesson,) = served
    assert lesson.records.features == ["x"]  # all dates are equal, and no two texts
    assert next(iter(lesson.records.columns)) == "text"
    assert set(lesson.records.columns) == {"text", "when", "yes", "left_out"}
    texts = [field["value"] for field in lesson.records.record(2)["fields"]]
    assert "c" * 2000 in texts


def test_columns_that_are_hardly_features_are_left_out_and_told(run, files, served):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "customer_id": rng.permutation(30),
            "nr": range(100, 130),
            "height": rng.normal(size=30),
            "weight": rng.normal(size=30),
            "label": rng.integers(3, size=30),
            "paid": rng.integers(2, size=30).astype(bool),
            "name": [f"n{k % 3}" for k in range(30)],
        }
    )
    for name, save in (("rows.parquet", frame.to_parquet), ("more.csv", frame.to_csv)):
        save(name, index=False)
        shown = opened(run, name)
        said = (
            "Learned from 'height', 'weight'; set aside 'nr' (counts rows), 'customer_id' (names "
            "rows), 'label' (looks like classes), 'paid' (yes or no), 'name' (kinds of things)."
        )
        assert f"{said} --columns and --exclude choose others, and so does the page." in shown.err
        lesson = served[-1]
        assert lesson.records.features == ["height", "weight"]
        assert lesson.records.X.shape == (30, 2)
        assert said in lesson.about()["notes"]
        assert set(lesson.records.columns) == {"customer_id", "nr", "label", "paid", "name"}
        names = {one["name"] for one in lesson.about()["colourings"]}
        assert {"label", "paid", "nr"} <= names
        assert lesson.metric.feature_names_in_.tolist() == ["height", "weight"]
        opened(run, name, "--columns", "label,paid,nr", "--journal", f"{name}.other")
        assert served[-1].records.features == ["label", "paid", "nr"]
        assert any("'label' looks like classes" in one for one in served[-1].about()["notes"])


def test_a_column_of_vectors_is_taken_rather_than_numbers(run, files, served):
    vectors = np.random.default_rng(0).normal(size=(5, 3)).tolist()
    frame = pd.DataFrame({"price": [1.0, 5, 2, 9, 3], "v": vectors, "id": range(5)})
    frame.to_parquet("v.parquet")
    shown = opened(run, "v.parquet")
    assert "Learned from 'v'; set aside 'price' (beside vectors), 'id' (names rows)." in shown.err
    assert served[-1].records.X.tolist() == vectors
    assert set(served[-1].records.columns) == {"price", "id"}
    opened(run, "v.parquet", "--exclude", "v", "--journal", "other.jsonl")
    assert served[-1].records.features == ["price"]
    frame.assign(text=list("abcde"))[["text", "v"]].to_parquet("words.parquet")
    opened(run, "words.parquet")
    assert served[-1].records.X.tolist() == vectors
    frame.assign(w=vectors).to_parquet("two.parquet")
    err = run("studio", "two.parquet", "--no-browser", status=2).err
    assert "there are 2 columns of vectors, 'v', 'w': name the one to learn from" in err


def test_a_journal_that_is_deleted_is_there_at_the_end(run, files, monkeypatch):
    def run_and_lose(self):
        self.lesson.answer(0, 1, True)
        os.remove("rows.csv.answers.jsonl")
        self._end()

    monkeypatch.setattr(serving.Serving, "run", run_and_lose)
    shown = opened(run, "rows.csv", "--id", "name")
    assert "written to it anew" in shown.err
    assert "1 answer in rows.csv.answers.jsonl" in shown.err
    assert "resumed 1 answer" in opened_again(run, monkeypatch)


def opened_again(run, monkeypatch):
    monkeypatch.setattr(serving.Serving, "run", lambda self: self._end())
    return opened(run, "rows.csv", "--id", "name").err


def test_arrays(run, files, served):
    np.savez("rows.npz", X=np.arange(20.0).reshape(10, 2), digit=np.arange(10))
    opened(run, "rows.npz")
    assert list(served[0].records.columns) == ["digit"]
    np.save("rows.npy", np.arange(20.0).reshape(10, 2))
    opened(run, "rows.npy")
    assert served[1].records.X.shape == (10, 2)


def test_many_rows_are_sampled_with_all_that_pairs_name(files, monkeypatch):
    n = 5000
    X = np.random.default_rng(0).normal(size=(n, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(name=[f"n{i}" for i in range(n)])
    frame.to_parquet(files / "many.parquet", row_group_size=1000)
    named = [(0, 1, "yes"), (17, 4999, "no"), (2, 3, "yes")]
    lines = [(f"n{i}", f"n{j}", same) for i, j, same in named]
    write_csv(files / "some.csv", ["left", "right", "same"], lines)
    wishes = Wishes(Choice(id_column="name"), pairs=files / "some.csv")
    monkeypatch.setattr(studio_records, "MOST_SHOWN", 200)
    records, pairs = read_records(files / "many.parquet", wishes)
    assert 200 <= len(records) <= 206
    assert records.n_total == n
    assert (np.diff(records.numbers) > 0).all()
    assert np.diff(records.numbers).max() < 60  # evenly
    assert pytest.approx(X[records.numbers]) == records.X
    assert [records.ids[k] for k in pairs.must_link.ravel()] == ["n0", "n1", "n2", "n3"]
    assert [records.ids[k] for k in pairs.cannot_link.ravel()] == ["n17", "n4999"]


def test_a_folder_of_files(run, files, served, monkeypatch):
    folder = files / "parts"
    folder.mkdir()
    for k in range(2):
        pd.DataFrame({"a": [1.0, 2 + k], "file": ["x.png", "y.png"]}).to_parquet(
            folder / f"{k}.parquet"
        )
    Image.new("RGB", (20, 10)).save("y.png")
    shown = opened(run, "parts", "--image", "file")
    assert "answers are kept in parts.answers.jsonl" in shown.err
    assert [isinstance(served[0].records.image(row), tuple) for row in range(4)] == [
        False,
        True,
        False,
        True,
    ]
    monkeypatch.chdir(folder)
    assert f"{folder}.answers.jsonl" in opened(run, ".").err


def test_a_sample_is_said(run, files, served, monkeypatch):
    monkeypatch.setattr(studio_records, "MOST_SHOWN", 50)
    shown = opened(run, "rows.csv", "--id", "name")
    assert "50 of 120 rows are shown" in shown.err
    assert any("50 of 120" in note for note in served[0].about()["notes"])


def test_the_demonstration(run, files, served):
    shown = opened(run, "--demo")
    assert "answers are kept in nearkin-demo.answers.jsonl" in shown.err
    assert served[0].records.X.shape == (1797, 64)
    assert served[0].records.image(0)[1] == "image/png"


def test_images(run, files, served):
    Image.new("RGB", (20, 10)).save("one.png")
    names = ["one.png", "two.png", ""]
    write_csv("rows2.csv", ["a", "file"], [(i, name) for i, name in enumerate(names)])
    shown = opened(run, "rows2.csv", "--image", "file")
    assert "not found" not in shown.err
    assert isinstance(served[0].records.image(0), tuple)
    assert isinstance(served[0].records.image(1), str)
    os.remove("one.png")
    assert "'one.png' and the 1 images after it are not found" in opened(
        run, "rows2.csv", "--image", "file").err  # fmt: skip
    assert "--image nothing: no such column" in run(
        "studio", "rows2.csv", "--image", "nothing", status=2).err  # fmt: skip


BAD = {
    "text.csv": ("name_id,kind_id\nx,y\nz,w\n", "no columns of numbers or words", "name_id"),
    "ids.csv": (
        "id,uuid\n3,x\n1,y\n2,z\n",
        "no columns of numbers to learn from but 'id' (names rows): --columns id learns",
    ),
    "one.csv": ("a,b\n1,2\n", "two rows", "has 1"),
    "header.csv": ("a,b\n", "a header but no rows", ""),
    "empty.csv": ("", "is empty", ""),
    "inf.csv": ("a,b\n1,2\n3,inf\n", "line 3, column 'b'", "inf"),
}


@each("name", BAD)
def test_files_that_cannot_be_taught_from(run, tmp_path, name):
    content, *said = BAD[name]
    (tmp_path / name).write_text(content)
    err = run("studio", name, "--no-browser", status=2).err
    for part in said:
        assert part in err
    assert sorted(os.listdir(tmp_path)) == [name]  # no journal is left


@each(
    ("arguments", "said"),
    [
        ([], "name a file of rows, or --demo"),
        (["rows.csv", "--demo"], "name a file of rows, or --demo"),
        (["--demo", "--labels", "x"], "--demo has data of its own"),
        (["--demo", "--exclude", "x"], "--demo has data of its own"),
        (["none.csv"], "no such file"),
        (["rows.csv", "--id", "nam"], "did you mean 'name'"),
        (["rows.csv", "--labels", "kin"], "did you mean 'kind'"),
        (["rows.csv", "--show", "kin"], "did you mean 'kind'"),
        (["rows.csv", "--columns", "kind", "--labels", "kind"], "these are the labels"),
        (["rows.csv", "--exclude", "a,b,kind,name"], "no columns of numbers"),
        (["rows.csv", "--columns", "a,b", "--records"], "no columns of words"),
        (["rows.csv", "--pairs", "none.csv"], "no such file"),
        (["rows.csv", "--learner", "rca"], "the studio teaches itml, kernel-beta or gmml"),
        (["rows.csv", "--learner", "itm"], "no such learner"),
        (["rows.csv", "--set", "n_landmarks=20"], "name the learner"),
        (["rows.csv", "--learner", "gmml", "--set", "depth=3"], "GMML has no such parameter"),
        (["rows.csv", "--port", "99999"], "--port"),
        (["rows.csv", "--listen", "203.0.113.9"], "not an address of this machine"),
        (["rows.csv", "--journal", "no/such/folder/a.jsonl"], "--journal"),
        (["rows.csv", "--journal", "."], "--journal"),
        (["rows.csv", "--journal", "rows.csv"], "not a journal"),
    ],
)
def test_mistakes(run, files, arguments, said):
    before = (files / "rows.csv").read_bytes()
    assert said in run("studio", *arguments, "--no-browser", status=2).err
    assert (files / "rows.csv").read_bytes() == before


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_not_ours(run, files):
    os.chmod(files, 0o500)
    try:
        assert "--journal" in run("studio", "rows.csv", "--no-browser", status=2).err
    finally:
        os.chmod(files, 0o700)


def test_other_machines_are_warned_of(run, files, served):
    shown = opened(run, "rows.csv", "--id", "name", "--listen", "0.0.0.0")
    assert "warning: other machines can reach 0.0.0.0" in shown.err
    here = opened(run, "rows.csv", "--id", "name", "--listen", "127.0.0.1").err
    assert "other machines" not in here


def test_a_browser_is_opened_unless_it_is_not_wanted(run, files, served, monkeypatch):
    found = []
    monkeypatch.setattr("webbrowser.open", found.append)
    opened(run, "rows.csv", "--id", "name")
    assert found == []
    shown = run("studio", "rows.csv", "--id", "name", "--port", 0)
    [address] = until(lambda: found)
    home, token = shown.out.strip().split("?token=")
    # Everyone on the machine sees what a program is started with.
    assert address.startswith(f"{home}?code=")
    assert token not in address


@each("package", ["fastapi", "uvicorn", "websockets", "PIL"])
def test_without_its_packages_it_says_so(run, files, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    err = run("studio", "rows.csv", status=2).err
    assert "pip install 'nearkin[studio]'" in err


def write_people(n=60, **more):
    """people.csv, with codes and dates beside names, and cells that are missing."""
    table, _ = make_records(n, random_state=1)
    table = {"id": [f"p{i}" for i in range(n)], **table, **more}
    write_csv("people.csv", list(table), zip(*table.values(), strict=True))


def test_records_are_learned_from_as_they_are(run, files, served):
    write_people()
    shown = opened(run, "people.csv", "--id", "id")
    names = "'given_name', 'surname', 'street', 'town', 'postcode', 'born', 'phone'"
    assert f"Learned from {names}." in shown.err
    (lesson,) = served
    assert lesson.about()["of_words"]
    assert lesson.about()["review"]
    assert lesson.records.ids[3] == "p3"
    assert "id" not in lesson.records.compared
    # The model reads such files.
    with open("people.nearkin", "wb") as file:
        file.write(lesson.export("model")[1])
    run("transform", "people.nearkin", "people.csv", "--id", "id", "-o", "z.csv")
    assert lesson.metric.n_components_ == len(pd.read_csv("z.csv").columns) - 1
    # The same command goes on.
    pair = lesson.review()["pairs"][0]
    with Lesson(lesson.records, journal="people.csv.answers.jsonl") as again:
        again.answer(pair["left"], pair["right"], True, "review")
    assert "resumed 1 answer" in opened(run, "people.csv", "--id", "id").err


def test_records_with_numbers_are_asked_for(run, files, served):
    heights = np.random.default_rng(0).normal(size=60).tolist()
    write_people(height=heights, label=["a", "b"] * 30)
    opened(run, "people.csv", "--id", "id", "--columns", "height", "--journal", "a")
    assert not served[-1].about()["review"]
    options = ["people.csv", "--id", "id", "--exclude", "postcode,phone,street"]
    opened(run, *options, "--journal", "b")
    assert set(served[-1].records.compared) == {"given_name", "surname", "town", "born", "height"}
    assert not served[-1].about()["review"]  # they may be the same kind, not the same thing
    opened(run, *options, "--records", "--journal", "c")
    assert served[-1].about()["of_words"]
    assert "height" in served[-1].records.compared
    opened(run, *options, "--kinds", "born=name", "--journal", "d")
    assert served[-1].records.encoder.kinds_["born"] == "name"


def test_gaps_are_known_as_such(run, files, served):
    write_people(height=[None, *range(5, 300, 5)])
    opened(run, "people.csv", "--id", "id")
    assert "height" in served[-1].records.learned_from
    frame = pd.DataFrame({"a": [1.0, None, 3, 9], "b": [4.0, 2, 7, 1]})
    for name, save in (("gaps.csv", frame.to_csv), ("gaps.parquet", frame.to_parquet)):
        save(name, index=False)
        assert "Learned from 'a', 'b'." in opened(run, name).err
        assert np.isfinite(served[-1].records.X).all()
        assert served[-1].records.columns["a"][1] is None
        opened(run, name, "--missing", "drop", "--journal", f"{name}.a")
        assert served[-1].records.X.tolist() == [[1, 4], [3, 7], [9, 1]]


def test_columns_of_a_file_are_chosen_anew(run, files, served):
    write_people(height=[None, *range(5, 300, 5)], label=["a", "b"] * 30)
    opened(run, "people.csv", "--id", "id")
    (lesson,) = served
    choice = lesson.records.choice
    assert {one["name"] for one in choice.listed() if not one["learned"]} == {"id", "label"}
    for names in (["height"], ["town", "label"]):
        other = choice.records(names)
        assert other.learned_from == names
        assert other.ids == lesson.records.ids
        assert other.identity.contents(["town"]) == lesson.records.identity.contents(["town"])
    with open("people.csv", "a") as file:
        file.write("\n")
    with pytest.raises(ValueError, match=r"people\.csv has changed since"):
        choice.records(["height"])


# Folders of pictures


def claiming(width, height):
    """A PNG file of a few bytes whose header speaks of so many pixels."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)), (b"IDAT", b"")]
    chunks = (
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", crc32(kind + content))
        for kind, content in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.fixture
def pictures(run, tmp_path):
    """Twelve pictures in two folders and beside them, of which one is broken and one enormous."""
    rng = np.random.default_rng(0)
    for number in range(12):
        folder = tmp_path / "pics" / ("cats" if number % 2 else "dogs")
        folder.mkdir(parents=True, exist_ok=True)
        grey = rng.integers(0, 256, size=(20, 30, 3), dtype=np.uint8) // (1 + number % 2)
        Image.fromarray(grey).save(folder / f"{number}.{'JPG' if number > 5 else 'png'}")
    (tmp_path / "pics" / "broken.png").write_bytes(b"no picture")
    (tmp_path / "pics" / ".hidden.png").write_bytes(b"nothing to see")
    (tmp_path / "pics" / "notes.txt").write_text("nothing to see")
    (tmp_path / "pics" / "enormous.png").write_bytes(claiming(12_000, 9_000))
    return tmp_path


def test_pictures_are_shown_and_learned_from_by_their_pixels(run, pictures, served):
    shown = opened(run, "pics")
    assert "2 of 14 pictures are left out. The picture broken.png cannot be read" in shown.err
    assert "enormous.png is too large to open" in shown.err
    assert "grey pictures of 16 × 16 pixels" in shown.err
    assert (pictures / "pics.answers.jsonl").exists()
    (lesson,) = served
    records = lesson.records
    assert records.X.shape == (12, 256)
    assert (records.X.min() >= 0, records.X.max() <= 1) == (True, True)
    assert records.ids[0] == "cats/1.png"
    assert lesson.records.image(0)[1] == "image/png"
    assert records.columns["folder"][:1] == ["cats"]
    # Dark ones are far from light ones.
    assert records.X[:6].mean() < records.X[6:].mean() - 0.1


def test_vectors_take_the_place_of_pixels(run, pictures, served):
    X = np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32)
    np.save(pictures / "vectors.npy", X)
    np.save(pictures / "short.npy", X[:5])
    shown = opened(run, "pics", "--vectors", "vectors.npy", "--labels", "folder")
    assert "grey pictures" not in shown.err
    assert np.array_equal(served[0].records.X, X)
    assert served[0].state()["n_answers"] > 0  # what follows from the folders
    said = run("studio", "pics", "--vectors", "short.npy", status=2).err
    assert "(5, 5), but there are 12 pictures that can be read" in " ".join(said.split())
    assert "cannot be read as an array" in run(
        "studio", "pics", "--vectors", "pics/notes.txt", status=2).err  # fmt: skip
    assert "--vectors is for folders of pictures" in run(
        "studio", "vectors.npy", "--vectors", "vectors.npy", status=2).err  # fmt: skip


@pytest.mark.night
def test_other_commands_take_folders_of_pictures_too(run, pictures):
    which = ("pics", "-c", "pixels", "--id", "file")
    run("fit", *which, "--labels", "folder", "-o", "m.nearkin")
    found = run("neighbors", "m.nearkin", "pics", "--id", "file", "-k", 1).records
    assert {record["file"] for record in found} == {f"{'cats' if k % 2 else 'dogs'}/{k}.png"
        if k < 6 else f"{'cats' if k % 2 else 'dogs'}/{k}.JPG" for k in range(12)}  # fmt: skip


def test_a_folder_without_a_picture_that_can_be_read(run, tmp_path):
    (tmp_path / "pics").mkdir()
    (tmp_path / "pics" / "a.png").write_bytes(b"no picture")
    assert "none of its pictures can be read" in run("studio", "pics", status=2).err
    (tmp_path / "empty").mkdir()
    assert "empty" in run("studio", "empty", status=2).err


def test_the_way_through_proxies(run, pictures, served, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ann/")
    assert "again with --allow-host and the name of the hub" in " ".join(
        opened(run, "pics").err.split())  # fmt: skip
    said = opened(run, "pics", "--allow-host", "hub.example", "--allow-host", "*.b.example").err
    assert "https://hub.example/user/ann/proxy/" in said
    wrong = run("studio", "pics", "--allow-host", "http://hub.example", status=2).err
    assert "--allow-host: 'http://hub.example' is not the name of a host" in " ".join(wrong.split())


def test_without_its_page_it_says_how_to_get_it(run, pictures, served, monkeypatch):
    monkeypatch.setattr(encoding, "FOLDER", pictures / "a/b/c/d/page")
    said = " ".join(opened(run, "pics").err.split())
    assert "warning: The page of the studio has not been built." in said
