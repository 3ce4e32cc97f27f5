import io
import struct
import zlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile

from nearkin.studio.pictures import FilePictures, PixelPictures
from nearkin.studio.records import records_of, records_of_digits, sample_numbers
from tests.cases import each

each_frame = each("frame", [pd.DataFrame, pl.DataFrame, pa.table])
CELLS = {
    "height": [1.5, 2.0, 9.0],
    "name": ["anna", None, "<b>carl</b>"],
    "count": [1, 2, 3],
    "glad": [True, False, None],
}


@each_frame
def test_frames(frame):
    records = records_of(frame(CELLS), source="people.csv")
    assert records.features == ["height", "count"]
    assert records.named
    assert records.X.tolist() == [[1.5, 1], [2, 2], [9, 3]]
    assert list(records.columns) == ["name", "glad"]
    assert list(records.ids) == [0, 1, 2]
    shown = records.record(1)
    assert shown["id"] == "1"
    assert shown["fields"][0] == {"name": "name", "value": "", "cut": False}
    assert {one["name"] for one in shown["fields"]} == {"name", "glad", "height", "count"}


def test_ids_by_column_or_beside():
    assert records_of(pd.DataFrame(CELLS), ids="name").id_name == "name"
    by_number = records_of(pd.DataFrame(CELLS), ids="count")
    assert list(by_number.ids) == [1, 2, 3]
    assert by_number.features == ["height"]
    assert records_of(np.eye(3), ids=["a", "b", "c"]).record(2)["id"] == "c"
    with pytest.raises(ValueError, match="ids='age': the data has no such column"):
        records_of(pd.DataFrame(CELLS), ids="age")


def test_arrays_keep_their_type():
    assert records_of(np.eye(3, dtype=np.float32)).X.dtype == np.float32
    assert records_of([[1, 2], [3, 4]]).X.dtype == np.float64
    frame = pl.DataFrame({"a": [1.0, 2], "b": [1.0, 3]}, schema={"a": pl.Float32, "b": pl.Float32})
    assert records_of(frame).X.dtype == np.float32
    array = records_of(np.eye(3))
    assert (array.named, array.notes) == (False, ())
    with pytest.raises(ValueError, match="learn_from is for frames"):
        records_of(np.eye(3), learn_from=["a"])


@each(
    ("X", "error", "words"),
    [
        ([[1.0, 2.0]], ValueError, "a pair takes two rows, but the data has 1"),
        (np.empty((0, 3)), ValueError, "has 0"),
        (np.empty((3, 0)), ValueError, "no numeric columns"),
        (pd.DataFrame({"a_id": ["x", "y"]}), ValueError, "no columns to learn from.*'a_id'"),
        ([1.0, 2.0], ValueError, r"shape \(2,\)"),
        ([["a"], ["b"]], TypeError, "not of numbers"),
        ([[1.0, 2], [3, np.nan]], ValueError, "row 1, column 'x1' of the data is nan"),
        ([[np.inf, 2], [3, 4]], ValueError, "row 0, column 'x0' of the data is inf"),
        ([[1e200, 2], [3, 4]], ValueError, "column .x0. of the data has numbers as large"),
    ],
)
def test_bad_data(X, error, words):
    with pytest.raises(error, match=words):
        records_of(X)


def test_rows_and_lengths_are_checked():
    for name, short in (("name", {"columns": {"name": ["a", "b"]}}), ("ids", {"ids": [1, 2]})):
        with pytest.raises(ValueError, match=f"X has 3 rows, but {name} has 2"):
            records_of(np.eye(3), **short)
    records = records_of(np.eye(3))
    for row in (-1, 3):
        with pytest.raises(ValueError, match=f"no row {row}: rows are numbered from 0 to 2"):
            records.record(row)
        with pytest.raises(ValueError, match="no row"):
            records.image(row)


def test_long_texts_are_cut_and_shown_whole_where_that_is_asked_for():
    records = records_of(np.eye(3), columns={"text": ["x" * 1_000_000, "short", None]})
    first, second = (records.record(row)["fields"][0] for row in (0, 1))
    assert (first["cut"], first["value"], second["cut"]) == (True, "x" * 2000, False)
    texts = ["a " * 15_000 + "end", "b " * 15_000, None]
    records = records_of(np.eye(3), columns={"text": texts})
    (field,) = records.record(0, beside=1, whole=True)["fields"]
    assert field["value"] == texts[0]
    assert not field["cut"]
    assert "".join(text for text, _ in field["parts"]) == texts[0]
    # In the rest nobody has looked for differences, and it says so.
    assert field["marked"] == 20_000
    assert field["parts"][-1] == (texts[0][20_000:], False)


def test_fields_have_one_order_for_all_records():
    X = np.random.RandomState(0).standard_normal((100, 30))
    X[4, 17] = 50
    array = records_of(X)
    names = [f"x{j}" for j in range(30)]
    assert [field["name"] for field in array.record(4, beside=2)["fields"]] == names
    assert [field["name"] for field in array.record(9)["fields"]] == names
    with pytest.raises(ValueError, match="there is no row"):
        array.record(4, beside=len(X))
    frame = pd.DataFrame({"height": X[:, 0], "note": ["a", "b"] * 50, "age": X[:, 1]})
    fields = records_of(frame).record(3)["fields"]
    assert [field["name"] for field in fields] == ["note", "height", "age"]


def test_vectors_are_hidden_beside_anything_that_can_be_read():
    X = np.eye(4)
    texts = {"text": list("abcd")}
    frame = pd.DataFrame({**texts, "embedding": X.tolist()})
    for records in (records_of(X, columns=texts), records_of(frame)):
        assert [field["name"] for field in records.record(0)["fields"]] == ["text"]


def test_numbers_say_where_they_stand_among_all():
    frame = pd.DataFrame(
        {
            "height": 37 * np.arange(100) % 100,
            "user_id": np.arange(100),
            "few": np.arange(100) % 3,
            "width": [1.0] * 50 + [2.0] * 46 + [3.0, 4.0, 5.0, 6.0],
        }
    )
    records = records_of(frame, columns={"year": [None, *range(1901, 2000)]})
    ranks = {field["name"]: field.get("rank") for field in records.record(25)["fields"]}
    assert ranks == {
        "year": pytest.approx(24.5 / 99, abs=1e-4), "user_id": None, "height": 0.255,
        "few": None, "width": 0.25,
    }  # fmt: skip
    first = {field["name"]: field for field in records.record(0)["fields"]}
    assert "rank" not in first["year"]  # which is empty


def test_fingerprints_tell_data_apart():
    X = np.arange(6.0).reshape(3, 2)
    one = records_of(X).fingerprint
    assert records_of(X.copy(), columns={"a": [1, 2, 3]}).fingerprint == one
    others = [
        records_of(X + 1e-9),
        records_of(X.astype(np.float32)),
        records_of(X, ids=["a", "b", "c"]),
        records_of(pd.DataFrame(X, columns=["a", "b"])),
        records_of(X.reshape(2, 3)),
    ]
    assert len({one, *(records.fingerprint for records in others)}) == 6


@given(st.integers(2, 3000), st.integers(2, 500), st.integers(0, 3))
def test_samples_are_even_and_increasing(n_rows, most, seed):
    numbers = sample_numbers(n_rows, most, seed)
    assert len(numbers) == min(n_rows, most)
    assert numbers[0] >= 0
    assert numbers[-1] < n_rows
    assert (np.diff(numbers) > 0).all()
    assert np.diff(numbers).max(initial=1) < 2 * max(n_rows / most + 1, 1)
    assert (numbers == sample_numbers(n_rows, most, seed)).all()


def test_of_many_rows_a_sample_is_shown():
    X = np.arange(2000.0).reshape(1000, 2)
    records = records_of(X, columns={"double": list(range(0, 2000, 2))}, most=100)
    assert len(records) == 100
    assert records.n_total == 1000
    assert (records.X[:, 0] == 2 * records.numbers).all()
    assert list(records.ids) == records.numbers.tolist()
    assert list(records.columns["double"]) == (2 * records.numbers).tolist()
    named = records_of(X, ids=[f"r{k}" for k in range(1000)], most=100)
    assert named.ids[7] == f"r{named.numbers[7]}"


def test_digits_have_pictures_and_hide_what_they_are():
    records = records_of_digits()
    assert len(records) == 1797
    content, kind = records.image(0)
    assert kind == "image/png"
    picture = Image.open(io.BytesIO(content))
    assert picture.size == (160, 160)
    shown = records.record(0)
    assert shown["image"]
    assert "digit" not in str(shown)
    assert records.columns["digit"][:3] == [0, 1, 2]


def test_pixels():
    X = np.array([[0.0, 1, 2, 3, 4, 5], [5, 5, 5, 5, 5, 5]])
    picture = Image.open(io.BytesIO(PixelPictures(X, (2, 3)).image(0)[0]))
    assert picture.size == (159, 106)
    assert picture.getpixel((0, 0)) == 255
    assert picture.getpixel((158, 105)) == 0
    Image.open(io.BytesIO(PixelPictures(np.zeros((2, 6)), (2, 3)).image(1)[0]))
    with pytest.raises(ValueError, match="2 × 2 pixels take 4 columns, but there are 6"):
        PixelPictures(X, (2, 2))


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    (folder / "deep").mkdir(parents=True)
    Image.new("RGB", (400, 200), "red").save(folder / "red.jpg")
    Image.new("RGBA", (20, 10), (0, 0, 255, 0)).save(folder / "deep" / "clear.png")
    Image.new("RGB", (20, 10)).save(tmp_path / "secret.png")
    (folder / "text.png").write_text("not a picture")
    (folder / "cut.jpg").write_bytes((folder / "red.jpg").read_bytes()[:300])
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "inside.png").symlink_to(folder / "red.jpg")
    return folder


def test_pictures_come_in_the_size_that_is_wanted(folder, tmp_path):
    digits = records_of_digits()
    assert Image.open(io.BytesIO(digits.image(0, 400)[0])).size == (400, 400)
    photo = Image.effect_noise((2000, 1000), 50).convert("RGB")
    photo.save(folder / "photo.jpg", exif=turned())
    Image.fromarray(np.arange(4e4, dtype=np.uint16).reshape(200, 200)).save(folder / "deep.png")
    pictures = FilePictures(["photo.jpg", "red.jpg", "deep.png"], folder)
    content, kind = pictures.image(0, 800)
    assert kind == "image/jpeg"
    assert Image.open(io.BytesIO(content)).size == (400, 800)  # upright, as the camera was held
    assert Image.open(io.BytesIO(pictures.image(1, 1600)[0])).size == (400, 200)  # no larger
    greys = np.asarray(Image.open(io.BytesIO(pictures.image(2)[0])).convert("L"))
    assert greys.min() < 5
    assert greys.max() > 250
    assert len(np.unique(greys)) > 100


def turned():
    """That a photograph was taken with the camera held upright."""
    exif = Image.Exif()
    exif[0x0112] = 6
    return exif


def test_why_there_is_no_picture_is_said(folder, monkeypatch):
    names = [None, "gone.png", "text.png", "red.jpg", "../secret.png"]
    pictures = FilePictures(names, folder)
    assert pictures.image(0) == "This record names no picture."
    assert pictures.image(1) == "The picture gone.png is not there."
    assert pictures.image(2).startswith("The picture text.png cannot be read")
    assert pictures.image(4) == "The picture ../secret.png is not there."
    monkeypatch.setattr("nearkin.studio.pictures._MOST_BYTES", 1000)
    assert pictures.image(3) == "The picture red.jpg is too large to open: 400 × 200 pixels."


def test_a_picture_too_large_for_a_large_one_is_still_shown_small(tmp_path, monkeypatch):
    monkeypatch.setattr("nearkin.studio.pictures._MOST_BYTES", 1_000_000)
    blank(tmp_path / "photo.jpg", 2000)
    content, _ = FilePictures(["photo.jpg"], tmp_path).image(0, 1600)
    assert Image.open(io.BytesIO(content)).width == 160


def test_picture_files(folder):
    records = records_of(
        np.eye(3), columns={"file": ["red.jpg", "deep/clear.png", None]}, images="file",
        folder=folder,
    )  # fmt: skip
    content, kind = records.image(0)
    assert kind == "image/png"
    assert Image.open(io.BytesIO(content)).size == (160, 80)
    assert Image.open(io.BytesIO(records.image(1)[0])).mode == "RGBA"
    assert isinstance(records.image(2), str)
    with pytest.raises(ValueError, match="images='pic': the data has no such column"):
        records_of(np.eye(3), images="pic")


def test_files_that_are_missing_broken_or_outside_are_no_pictures(folder, tmp_path):
    names = ["missing.png", "text.png", "cut.jpg", "../secret.png", "link.png", "", "a\0b", "deep"]
    names += ["x" * 5000, "deep/../../secret.png", 7, float("nan"), str(tmp_path / "secret.png")]
    pictures = FilePictures([str(folder / "red.jpg"), "inside.png", *names], folder)
    shown = [isinstance(pictures.image(row), tuple) for row in range(2 + len(names))]
    assert shown == [True, True] + [False] * len(names)


def blank(path, side, mode="RGB", **settings):
    Image.new(mode, (side, side)).save(path, **settings)
    return path


def test_pictures_are_refused_by_what_their_header_says(tmp_path, monkeypatch):
    """Each file has a few kB; in memory it would be up to a thousand times as large."""
    monkeypatch.setattr("nearkin.studio.pictures._MOST_BYTES", 1_000_000)
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("decoded"))
    files = [
        blank(tmp_path / "large.png", 600),
        blank(tmp_path / "clear.png", 400, "RGBA"),
        blank(tmp_path / "large.webp", 300, lossless=True),
        blank(tmp_path / "layers.jpg", 600, progressive=True),
        blank(tmp_path / "large.jpg", 4500),
        blank(tmp_path / "large.gif", 1200, "L"),
        blank(tmp_path / "large.tif", 400, compression="tiff_deflate"),
        tile_of(tmp_path / "tile.tif", side=16, tile=600),
    ]
    pictures = FilePictures([path.name for path in files], tmp_path)
    assert all(isinstance(pictures.image(row), str) for row in range(len(files)))


def tile_of(path, side, tile):
    """A small picture in one large tile."""
    data = zlib.compress(bytes(3 * tile * tile))
    tags = {256: side, 257: side, 258: 8, 259: 8, 262: 2, 277: 3}
    tags |= {322: tile, 323: tile, 324: 10 + 12 * 10 + 4, 325: len(data)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    path.write_bytes(b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4) + data)
    return path


def test_pictures_within_the_limit_are_opened(tmp_path, monkeypatch):
    monkeypatch.setattr("nearkin.studio.pictures._MOST_BYTES", 1_000_000)
    files = [
        blank(tmp_path / "small.png", 400),
        blank(tmp_path / "small.webp", 200),
        blank(tmp_path / "photo.jpg", 2000),  # decoded at an eighth of its width
        blank(tmp_path / "layers.jpg", 300, progressive=True),
        blank(tmp_path / "grey.jpg", 2000, "L"),
        blank(tmp_path / "print.jpg", 2000, "CMYK"),
        blank(tmp_path / "small.tif", 300, compression="tiff_deflate"),
        blank(tmp_path / "deep.png", 400, "I;16"),
        tile_of(tmp_path / "tile.tif", side=64, tile=64),
    ]
    pictures = FilePictures([path.name for path in files], tmp_path)
    for row in range(len(files)):
        assert Image.open(io.BytesIO(pictures.image(row)[0])).width in (64, 160), files[row]


def test_rows_that_are_named_are_in_the_sample():
    assert {0, 1, 2, 999} <= set(sample_numbers(1000, most=10, keep=[2, 1, 0, 999]).tolist())
    assert len(sample_numbers(1000, most=1000, keep=[5])) == 1000
    with pytest.raises(ValueError, match="row 1000 is to be shown"):
        sample_numbers(1000, most=10, keep=[1000])


@each_frame
def test_columns_of_a_frame_that_are_hardly_features_are_only_shown(frame):
    n = 25
    height = np.random.default_rng(0).normal(size=n).tolist()
    cells = {
        "index": list(range(n)),
        "height": height,
        "target": [k % 3 for k in range(n)],
        "glad": [k % 2 == 0 for k in range(n)],
        "given": [k % 5 for k in range(n)],
        "nr": [10 * k for k in range(n)],
    }
    records = records_of(frame(cells), columns={"given": cells["given"]})
    assert records.features == ["height"]
    assert records.X.ravel().tolist() == height
    assert set(records.columns) == {"index", "target", "glad", "given", "nr"}
    assert records.notes == (
        "Learned from 'height'; set aside 'nr' (counts rows), 'index' (counts rows), 'target' "
        "(looks like classes), 'glad' (yes or no).",
    )
    asked = records_of(frame(cells), learn_from=["target", "glad", "nr"])
    assert asked.features == ["target", "glad", "nr"]
    assert asked.X[3].tolist() == [0, 0, 30]
    assert "'target' looks like classes: what is learned from that says little" in asked.notes[1]
    with pytest.raises(ValueError, match="has no column 'size'"):
        records_of(frame(cells), learn_from=["size"])


@each_frame
def test_a_column_of_vectors_in_a_frame_is_learned_from(frame):
    cells = {"price": [1.0, 2.0, 4.0], "v": [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], "t": list("abc")}
    records = records_of(frame(cells))
    assert records.X.tolist() == cells["v"]
    assert records.features == ["v[0]", "v[1]"]
    assert not records.named
    assert set(records.columns) == {"price", "t"}
    assert records.is_vector
    assert "Learned from 'v'; set aside 'price' (beside vectors)" in records.notes[0]
    assert records_of(frame(cells), learn_from=["price"]).features == ["price"]
    both = records_of(frame(cells), learn_from=["price", "v"])
    assert both.of_words
    assert (both.compared, set(both.columns)) == (("price", "v"), {"price", "t"})
    assert records_of(frame(cells), learn_from=["t"]).compared == ("t",)
    if frame is pd.DataFrame:
        ragged = {**cells, "v": [[1.0, 2.0], [3.0], [5.0, 7.0]]}
        with pytest.raises(ValueError, match="vectors of different lengths"):
            records_of(frame(ragged))
        arrays = {**cells, "v": [np.array(v, dtype=np.float32) for v in cells["v"]]}
        assert records_of(frame(arrays)).X.dtype == np.float32


@each_frame
def test_words_dates_and_gaps_beside_numbers(frame):
    n = 40
    rng = np.random.default_rng(0)
    cells = {
        "size": [None, *rng.normal(size=n - 1).tolist()],
        "title": [f"A book about {k} cats and {7 * k % 11} dogs" for k in range(n)],
        "bought": [f"2024-0{1 + k % 9}-1{k % 7}" for k in range(n)],
        "species": ["cat", "dog"] * (n // 2),
        "kept": ["yes", "no"] * (n // 2),
        "photo": [f"pictures/{k}.png" for k in range(n)],
        "empty": [""] * n,
    }
    records = records_of(frame(cells))
    assert records.learned_from == ["size", "title", "bought"]
    assert records.notes[0] == (
        "Learned from 'size', 'title', 'bought'; set aside 'species' (kinds of things), 'kept' "
        "(yes or no), 'photo' (names files), 'empty' (says nothing of what a row is like)."
    )
    assert not records.are_things
    assert np.isfinite(records.X).all()
    assert records.record(0)["fields"]
    # Numbers alone: gaps are known as such, or refused where only numbers are wanted.
    alone = records_of(frame({"size": cells["size"], "more": list(range(n, 0, -1))}))
    assert alone.learned_from == ["size", "more"]
    with pytest.raises(ValueError, match="row 0, column 'size' of the data is nan"):
        records_of(frame(cells), of_words=False)


def test_columns_are_chosen_anew_for_the_same_rows():
    n = 30
    frame = pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(n)],
            "a": np.random.default_rng(0).normal(size=n),
            "label": [k % 3 for k in range(n)],
            "name": [f"name {k * k}" for k in range(n)],
        }
    )
    records = records_of(frame, ids="id")
    listed = {one["name"]: one for one in records.choice.listed()}
    assert [name for name, one in listed.items() if one["learned"]] == ["a", "name"]
    assert listed["label"]["why"] == "looks like classes"
    assert (listed["id"]["can"], listed["id"]["why"]) == (False, "ids")
    other = records.choice.records(["label", "a"])
    assert other.features == ["a", "label"]
    assert other.ids == records.ids
    listed = {one["name"]: one for one in other.choice.listed()}
    assert listed["name"]["why"] == "not chosen"
    back = other.choice.records(["a", "name"])
    assert np.array_equal(back.X, records.X)
    frame["name"] = frame["name"].to_numpy()[::-1]
    with pytest.raises(ValueError, match="the frame has changed since"):
        records.choice.records(["a"])
    frame["name"] = frame["name"].to_numpy()[::-1]
    for names, said in (([], "a column at least"), (["b"], "no column 'b'"), (["id"], "ids")):
        with pytest.raises(ValueError, match=said):
            records.choice.records(names)
