"""The studio from Python."""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import nearkin as nk
from nearkin.studio.journal import JournalInUse
from nearkin.studio.notebook import Place, notebook_file, place_of
from nearkin.studio.records import records_of
from nearkin.studio.server import encoding
from tests.cases import each
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def data():
    return nk.datasets.make_xor(60, random_state=0)


def ask(handle, method, path, body=None):
    """What the studio of a handle replies."""
    base, token = handle.url.split("/?token=")
    headers = {"X-Nearkin-Token": token}
    reply = httpx.request(method, f"{base}/api/{path}", json=body, headers=headers, trust_env=False)
    assert reply.status_code == 200
    return reply.json()


def answer(handle, left, right, same):
    ask(handle, "POST", "answers", {"left": left, "right": right, "same": same})


def test_what_was_taught_comes_back(data):
    X, _ = data
    given = nk.Pairs(must_link=[(0, 1)])
    with nk.studio(X, given, port=0) as handle:
        answer(handle, 2, 3, False)
        answer(handle, 4, 5, True)
        assert handle.pairs == nk.Pairs([(0, 1), (4, 5)], [(2, 3)], n_rows=60)
        assert handle.metric.transform(X[:3]).shape[0] == 3
        assert "2 answers" in repr(handle) or "3 answers" in repr(handle)
    assert handle.wait(PATIENCE)
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
    with nk.studio(data[0], journal=path, port=0, by="Ann") as handle:
        answer(handle, 0, 1, True)
        with pytest.raises(JournalInUse, match="open already"):
            nk.studio(data[0][:30] + 1, journal=path, port=0)
        assert "closed" not in repr(handle)
    with nk.studio(data[0], journal=path, port=0) as handle:
        assert handle.pairs == nk.Pairs([(0, 1)], n_rows=60)
    assert '"by":"Ann"' in path.read_text().replace(" ", "")


def servers():
    return [one for one in threading.enumerate() if one.name == "nearkin.studio"]


@pytest.mark.night
@each("on_disk", [False, True])
def test_a_cell_that_is_run_again_goes_on(data, tmp_path, on_disk):
    X, y = data
    journal = tmp_path / "answers.jsonl" if on_disk else None
    before = len(servers())
    with nk.studio(X, nk.Pairs([(0, 1)]), journal=journal, port=0) as handle:
        url = handle.url
        answer(handle, 2, 3, False)
        answer(handle, 4, 5, None)
        # The rows may be made anew, and other arguments may differ.
        more = {"columns": {"kind": y}, "standardise": True}
        again = nk.studio(X.copy(), nk.Pairs([(0, 1)]), journal=journal, port=0, **more)
        assert again.pairs == nk.Pairs([(0, 1)], [(2, 3)], n_rows=60)
        assert again.url == url
        assert len(servers()) == before + 1
        answer(again, 6, 7, True)
        # Whoever has the handle of before sees it too.
        assert handle.pairs == again.pairs
        assert len(handle.pairs) == 3
        assert ask(handle, "POST", "undo")["n_answers"] == 3
    assert len(servers()) == before
    # Once it is closed, the next one begins anew, or from the journal.
    with nk.studio(X, nk.Pairs([(0, 1)]), journal=journal, port=0) as handle:
        assert len(handle.pairs) == (2 if on_disk else 1)


def test_a_cell_that_is_run_again_with_more_rows_goes_on_and_closes_the_server_before(
    data, tmp_path
):
    X, _ = data
    path, before = tmp_path / "answers.jsonl", len(servers())
    handle = nk.studio(X[:40], journal=path, port=0)
    url = handle.url
    answer(handle, 2, 3, False)
    with nk.studio(X, journal=path, port=0) as again:
        assert len(servers()) == before + 1
        assert again.url == url
        assert again.pairs == nk.Pairs([], [(2, 3)], n_rows=60)
        assert "closed" in repr(handle)
        assert handle.pairs == nk.Pairs([], [(2, 3)], n_rows=40)
        handle.close()  # of a handle that is closed, nothing else is
        answer(again, 4, 5, True)


def test_other_rows_are_another_studio(data):
    with nk.studio(data[0]) as one, nk.studio(data[0][:50]) as two:
        assert one.url.split("?")[0] != two.url.split("?")[0]
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
        ask(handle, "POST", "withdrawals", {"left": 0, "right": 1})
        with pytest.raises(ValueError, match="Give the pairs that the lesson was begun with"):
            nk.studio(X, port=0)
        nk.studio(X, nk.Pairs([(0, 1)]), port=0)
        assert handle.pairs == nk.Pairs([], [(2, 3)], n_rows=60)


def test_a_closed_studio_says_so_and_how_to_go_on(data):
    with nk.studio(data[0], port=0) as handle:
        pass
    assert "iframe" not in handle._repr_html_()
    assert "nk.studio(...) opens another" in handle._repr_html_()
    assert "closed" in repr(handle)
    with pytest.raises(ValueError, match=r"closed\) has no page any more: nk.studio\(...\) opens"):
        handle.url  # noqa: B018
    with pytest.raises(ValueError, match="no page any more"), handle:
        pass
    assert len(handle.pairs) == 0


@pytest.fixture
def shell(monkeypatch, tmp_path):
    """IPython in the kernel of a notebook, teaching.ipynb in a folder of its own."""
    found = SimpleNamespace(kernel=None, user_ns={"In": [], "_": None})
    ipython = SimpleNamespace(get_ipython=lambda: found)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "teaching.ipynb"))
    for name in ("JPY_PARENT_PID", "JUPYTERHUB_SERVICE_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    return found


def test_a_notebook_keeps_answers_beside_itself(shell, data, tmp_path):
    X, _ = data
    shell.user_ns |= {"_7": X, "people": X}
    path = tmp_path / "teaching.people.answers.jsonl"
    with nk.studio(X, port=0) as handle:
        assert handle.journal == path
        assert path.name in handle._repr_html_()
        answer(handle, 0, 1, True)
    with nk.studio(X, port=0) as handle:  # after the kernel was restarted
        assert handle.pairs == nk.Pairs([(0, 1)], n_rows=60)
    # Other rows in the variable of that name have answers of their own, and both are found again.
    shell.user_ns["people"] = other = X[:50] + 1
    for _ in range(2):
        with nk.studio(other, port=0) as handle:
            assert handle.journal.name == "teaching.people-2.answers.jsonl"
            assert len(handle.pairs) == 0
    shell.user_ns["people"] = X
    with nk.studio(X, port=0) as one:
        shell.user_ns["people"] = other
        with nk.studio(other, port=0) as two:
            assert one.journal == path
            assert two.journal.name == "teaching.people-2.answers.jsonl"
    with nk.studio(X + 2, port=0) as handle:  # in no variable
        assert re.fullmatch(r"teaching\.rows-[0-9a-f]{8}\.answers\.jsonl", handle.journal.name)
    with nk.studio(other, port=0, journal=False) as handle:
        assert handle.journal is None


def test_a_notebook_that_nobody_knows_the_place_of(shell, data, tmp_path, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME")
    monkeypatch.chdir(tmp_path)
    shell.user_ns["X"] = data[0]
    with nk.studio(data[0], port=0) as handle:
        assert handle.journal == tmp_path / "X.answers.jsonl"
    # VS Code says it in a variable, which counts before what the kernel was started for.
    (tmp_path / "deep").mkdir()
    shell.user_ns["__vsc_ipynb_file__"] = str(tmp_path / "deep" / "a.ipynb")
    with nk.studio(data[0], port=0) as handle:
        assert handle.journal == tmp_path / "deep" / "a.X.answers.jsonl"


def test_where_nothing_can_be_written_a_notebook_says_so(shell, data, tmp_path):
    shell.user_ns["X"] = data[0]
    (tmp_path / "teaching.X.answers.jsonl").mkdir()
    with pytest.warns(UserWarning, match="in memory only"), nk.studio(data[0], port=0) as handle:
        assert handle.journal is None


def place(shell, proxy=None, **environ):
    return place_of(proxy, shell, environ)


def test_the_way_to_a_page_is_found_by_where_the_notebook_is(shell, monkeypatch, tmp_path):
    assert place(None) == Place()
    assert place(shell).url(8765, "t") == "http://127.0.0.1:8765/?token=t"
    assert "jupyter-server-proxy" in place(shell).what_to_do(8765)
    assert "ssh -L 8765:127.0.0.1:8765" in place(shell).what_to_do(8765)
    hub = place(shell, JUPYTERHUB_SERVICE_PREFIX="/user/ann")
    assert hub.url(8765, "t") == "/user/ann/proxy/8765/?token=t"
    assert hub.hosts == ("*",)
    session = str(tmp_path / "a.ipynb-jvsc-12345")
    assert place(shell, JPY_SESSION_NAME=session).what_to_do(1).endswith("run the cell again.")
    assert notebook_file(shell, {"JPY_SESSION_NAME": session}) == tmp_path / "a.ipynb"
    shell.user_ns["__vsc_ipynb_file__"] = "a.ipynb"
    assert "Ports view" in place(shell).what_to_do(8765)
    codespace = place(
        shell, CODESPACE_NAME="fern", GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN="ports.example"
    )
    assert codespace.url(8765, "t") == "https://fern-8765.ports.example/?token=t"
    assert "*.ports.example" in codespace.hosts
    code_server = place(shell, VSCODE_PROXY_URI="https://box.example/proxy/{{port}}")
    assert code_server.url(8765, "t") == "https://box.example/proxy/8765/?token=t"
    assert code_server.hosts == ("box.example",)
    output = SimpleNamespace(eval_js=lambda asked: f"https://colab.example/{asked[-5:-1]}/")
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace(output=output))
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    assert place(shell).url(8765, "t") == "https://colab.example/8765/?token=t"


def test_the_way_to_a_page_may_be_told(shell, data):
    told = place(shell, "https://hub.example/me/proxy/{port}")
    assert told.url(1, "t") == "https://hub.example/me/proxy/1/?token=t"
    assert told.hosts == ("hub.example",)
    assert place(shell, "https://p-{port}.hub.example/").hosts == ("*.hub.example",)
    assert place(shell, "/proxy/{port}/").hosts == ("*",)
    for wrong in ("https://hub.example/8765/", "hub.example/{port}"):
        with pytest.raises(ValueError, match=r"address with \{port\} in it"):
            nk.studio(data[0], proxy=wrong)
    with pytest.raises(ValueError, match="is not the name of a host"):
        nk.studio(data[0], allow_hosts=["http://hub.example"])


@each(("status", "is_there"), [(302, True), (403, True), (404, False)])
def test_a_jupyter_server_is_asked_whether_it_passes_requests_on(
    shell, tmp_path, monkeypatch, status, is_there
):
    asked = []

    class Jupyter(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *words):
            pass

    monkeypatch.setattr("nearkin.studio.notebook._PATIENCE", PATIENCE)
    paths = SimpleNamespace(jupyter_runtime_dir=lambda: str(tmp_path))
    monkeypatch.setitem(sys.modules, "jupyter_core", SimpleNamespace(paths=paths))
    monkeypatch.setitem(sys.modules, "jupyter_core.paths", paths)
    with HTTPServer(("127.0.0.1", 0), Jupyter) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/lab/"
        told = {"url": url, "base_url": "/lab/", "root_dir": str(tmp_path), "token": "secret"}
        (tmp_path / "jpserver-12.json").write_text(json.dumps(told))
        found = place(shell, JPY_PARENT_PID="12")
        server.shutdown()
    assert asked == [("/lab/server-proxy/servers-info", None)]
    where = "/lab/proxy/1/" if is_there else "http://127.0.0.1:1/"
    assert found.url(1, "t") == f"{where}?token=t"
    relative = {"JPY_PARENT_PID": "12", "JPY_SESSION_NAME": "b.ipynb"}
    assert notebook_file(shell, relative) == tmp_path / "b.ipynb"
    # A file that is no longer true, or never was.
    assert place(shell, JPY_PARENT_PID="12").url(1, "t") == "http://127.0.0.1:1/?token=t"
    (tmp_path / "jpserver-12.json").write_text("[")
    assert place(shell, JPY_PARENT_PID="12").url(1, "t") == "http://127.0.0.1:1/?token=t"


def test_without_its_page_a_cell_says_how_to_get_it(data, monkeypatch, tmp_path):
    monkeypatch.setattr(encoding, "FOLDER", tmp_path / "a/b/c/d/page")
    with nk.studio(data[0], port=0) as handle:
        assert "has not been built" in handle._repr_html_()
        assert "iframe" not in handle._repr_html_()


def test_frames_labels_and_columns(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(name=[f"n{i}" for i in range(60)])
    labels = np.where(np.arange(60) < 6, y, -1)
    columns = pd.DataFrame({"more": range(60)})
    with nk.studio(frame, labels=labels, ids="name", columns=columns, port=0) as handle:
        assert len(handle.pairs) == 15
        about = ask(handle, "GET", "lesson")
        assert about["features"] == ["a", "b"]
        names = {one["name"] for one in about["colourings"]}
        assert {"more", "label", "a"} <= names
        assert ask(handle, "GET", "records/7")["id"] == "n7"


def test_of_many_rows_a_sample_is_shown_with_all_that_pairs_name(monkeypatch):
    monkeypatch.setitem(records_of.__kwdefaults__, "most", 200)
    X = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    given = nk.Pairs([(0, 499)], [(7, 8)])
    with nk.studio(X, given, port=0) as handle:
        about = ask(handle, "GET", "lesson")
        assert 200 <= about["n_rows"] <= 204
        assert about["n_total"] == 500
        assert handle.pairs == nk.Pairs([(0, 499)], [(7, 8)], n_rows=500)


def test_pairs_that_nothing_can_be_learned_from_are_kept():
    given = nk.Pairs([(0, 1)], [(2, 3)], n_rows=20)
    with nk.studio(np.ones((20, 2)), given, port=0) as handle:
        assert handle.pairs == given
        assert (handle.metric.transform(np.ones((3, 2))) == 0).all()


def test_errors_come_before_the_page(data):
    X, _ = data
    with pytest.raises(ValueError, match="takes two rows"):
        nk.studio(X[:1])
    with pytest.raises(ValueError, match="row 3, column"):
        nk.studio(np.where(np.arange(120).reshape(60, 2) == 7, np.nan, X))
    with pytest.raises(ValueError, match="60"):
        nk.studio(X, nk.Pairs([(0, 60)]))


@each("package", ["fastapi", "uvicorn", "websockets", "PIL"])
def test_without_its_packages_it_says_so(data, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'nearkin\[studio\]'"):
        nk.studio(data[0])


def test_frames_of_records_are_taught_and_reviewed():
    table, _ = nk.datasets.make_records(40, random_state=0)
    frame = pd.DataFrame(table).assign(height=np.linspace(150, 190, 40) ** 2)
    encoder = nk.TableEncoder(kinds={"born": "name"})
    for records, are_things in ((None, False), (True, True), (encoder, True)):
        with nk.studio(frame, records=records, port=0) as handle:
            assert handle._lesson.about()["of_words"] is True  # beside numbers, too
            assert handle._lesson.about()["review"] is are_things
    assert handle.metric.table_.kinds_["born"] == "name"
