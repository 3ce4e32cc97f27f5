"""What is said where the page is missing: a remedy for each way that nearkin can be installed."""

import json
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

from nearkin.studio.server import encoding
from tests.cases import each
from tests.studio.server.conftest import StubLesson, running

AGAIN = "pip install --force-reinstall --no-deps --no-cache-dir"
GIT = {"url": "https://git.example/n.git", "vcs_info": {"vcs": "git", "requested_revision": "main"}}


def installed(monkeypatch, told):
    """Let nearkin be installed in some way, None for not at all."""

    def distribution(name):
        if told is None:
            raise PackageNotFoundError(name)
        return SimpleNamespace(read_text=lambda file: json.dumps(told) if told else None)

    monkeypatch.setattr(encoding, "distribution", distribution)


@each(
    ("told", "remedy"),
    [
        ({}, f"{AGAIN} --only-binary nearkin nearkin."),
        (None, f"{AGAIN} --only-binary nearkin nearkin."),
        (GIT, f"{AGAIN} git+https://git.example/n.git@main."),
        ({"url": "file:///a/b c", "dir_info": {}}, f"{AGAIN} 'file:///a/b c'."),
        ({"url": "https://x.example/n.tar.gz", "archive_info": {}}, "https://x.example/n.tar.gz."),
    ],
)
def test_what_to_do_depends_on_the_install(monkeypatch, tmp_path, told, remedy):
    monkeypatch.setattr(encoding, "FOLDER", tmp_path / "site-packages/nearkin/studio/server/p")
    installed(monkeypatch, told)
    monkeypatch.setattr(encoding.shutil, "which", lambda name: "/bin/npm")
    assert encoding.why_no_page()[1].endswith(remedy)
    assert "Node.js" not in encoding.why_no_page()[1]
    monkeypatch.setattr(encoding.shutil, "which", lambda name: None)
    needs_node = bool(told)
    assert ("Install Node.js 20.19 or later, then: " in encoding.why_no_page()[1]) is needs_node


def test_in_a_checkout_it_is_built(monkeypatch, tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "page/package.json").write_text("{}")
    monkeypatch.setattr(encoding, "FOLDER", tmp_path / "src/nearkin/studio/server/page")
    installed(monkeypatch, {"url": "file:///x", "dir_info": {"editable": True}})
    monkeypatch.setattr(encoding.shutil, "which", lambda name: None)
    remedy = f"Install Node.js 20.19 or later, then: make studio, in {tmp_path}."
    assert encoding.why_no_page() == ("The page of the studio has not been built.", remedy)
    with running(StubLesson()) as studio:
        reply = studio.raw("GET", "/", token=False)
        assert reply.status == 503
        assert "make studio" in reply.body.decode()
        assert studio.raw("GET", "/assets/index.js").status == 404
