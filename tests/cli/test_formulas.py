"""Texts that a spreadsheet would take for formulas."""

import csv

from nearkin.pairs.pairs import Pairs
from nearkin.storage.files import is_formula, quote_formula, unquote_formula
from nearkin.studio.reports import clusters_file, pairs_file
from tests.cases import each

ODD = ["=1+1", "+cmd|x", "-cmd", "@sum(a)", "\tx", "\rx", "-5\n"]
PLAIN = ["", "a=1", "'", "'tis", "-3", "+4.5", "-1e-5", "-.5", "n-1", "\n=1"]


@each("text", [*ODD, *PLAIN])
def test_only_formulas_are_quoted_and_come_back(text):
    assert is_formula(text) == (text in ODD)
    assert quote_formula(text) == ("'" + text if text in ODD else text)
    assert unquote_formula(quote_formula(text)) == text


def test_the_command_line_quotes_on_request(run, files, model):
    lines = (files / "rows.csv").read_text().splitlines()
    names = [*ODD[:4], *PLAIN[:2], *PLAIN[4:9], "=;,\"'x"]
    with open("odd.csv", "w", newline="") as file:
        rows = [[name, -1.0, 2.0, k] for k, name in enumerate(names)]
        csv.writer(file).writerows([[*lines[0].split(",")[:3], "=kind"], *rows])
    which = ("transform", "model.nearkin", "odd.csv", "--carry", "name,=kind")
    shown = run(*which).records
    assert [record["name"] for record in shown] == names
    found = run(*which, "--quote-formulas")
    assert [record["name"] for record in found.records] == [quote_formula(name) for name in names]
    assert [record["'=kind"] for record in found.records] == [str(k) for k in range(len(names))]
    run(*which, "--quote-formulas", "-o", "z.tsv")
    with open("z.tsv", newline="") as file:
        assert [row[0] for row in csv.reader(file, delimiter="\t")][1:] == list(
            map(quote_formula, names)
        )
    for other in (("-o", "z.parquet"), ("--json",)):
        assert "is for CSV and TSV" in run(*which, "--quote-formulas", *other, status=2).err


def test_the_studio_quotes_and_fit_reads_what_it_wrote(run, tmp_path):
    ids = ["=a", "-b", "c", "@d"]
    (tmp_path / "rows.csv").write_text(
        "id,x,y\n" + "".join(f"{name},{k},{k * k}\n" for k, name in enumerate(ids))
    )
    name, content = pairs_file(Pairs([(0, 1)], [(2, 3)]), Pairs().must_link, ids)
    (tmp_path / name).write_bytes(content)
    assert b"\n'=a,'-b,true" in content
    run("fit", "rows.csv", "--id", "id", "-p", name, "--learner", "rca", "-o", "m.nearkin")
    _, content = clusters_file(Pairs().must_link[:, 0], [], "=id")
    assert content == b"'=id,cluster\n"
