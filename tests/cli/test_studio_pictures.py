"""A folder of pictures in the studio and in other commands, and the way through proxies."""

import struct
from zlib import crc32

import numpy as np
import pytest
from PIL import Image

from nearkin.studio.server import encoding
from tests.cli.test_studio import opened, served  # noqa: F401


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


def test_pictures_are_shown_and_learned_from_by_their_pixels(run, pictures, served):  # noqa: F811
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
    assert lesson.image(0)[1] == "image/png"
    assert records.columns["folder"][:1] == ["cats"]
    # Dark ones are far from light ones.
    assert records.X[:6].mean() < records.X[6:].mean() - 0.1


def test_vectors_take_the_place_of_pixels(run, pictures, served):  # noqa: F811
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


def test_the_way_through_proxies(run, pictures, served, monkeypatch):  # noqa: F811
    monkeypatch.setenv("JUPYTERHUB_SERVICE_PREFIX", "/user/ann/")
    assert "again with --allow-host and the name of the hub" in " ".join(
        opened(run, "pics").err.split())  # fmt: skip
    said = opened(run, "pics", "--allow-host", "hub.example", "--allow-host", "*.b.example").err
    assert "https://hub.example/user/ann/proxy/" in said
    wrong = run("studio", "pics", "--allow-host", "http://hub.example", status=2).err
    assert "--allow-host: 'http://hub.example' is not the name of a host" in " ".join(wrong.split())


def test_without_its_page_it_says_how_to_get_it(run, pictures, served, monkeypatch):  # noqa: F811
    monkeypatch.setattr(encoding, "FOLDER", pictures / "a/b/c/d/page")
    said = " ".join(opened(run, "pics").err.split())
    assert "warning: The page of the studio has not been built." in said
