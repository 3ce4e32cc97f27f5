import pytest

from nearkin.messages import show_progress


def test_items_pass_unchanged_and_nothing_is_printed(capsys):
    assert list(show_progress(range(5), "counting", shown=False)) == [0, 1, 2, 3, 4]
    assert capsys.readouterr() == ("", "")


def test_the_line_says_how_far_it_is_and_goes(capsys):
    assert list(show_progress([1, 2], "counting")) == [1, 2]
    shown = capsys.readouterr().err
    assert "counting ╌" in shown
    assert "0/2" in shown
    assert "1/2" in shown
    assert shown.endswith("\r\x1b[K")


def test_an_item_may_be_more_than_one(capsys):
    list(show_progress(iter([[0] * 30, [0] * 10]), "writing", total=40, amount=len))
    shown = capsys.readouterr().err
    assert "0/40" in shown
    assert f"{'━' * 18}{'╌' * 6} 30/40" in shown


def test_without_a_total_it_counts(capsys):
    list(show_progress(iter("abc"), "reading"))
    shown = capsys.readouterr().err
    assert "reading 2" in shown
    assert "/" not in shown


def test_more_than_expected_stays_within_the_line(capsys):
    list(show_progress(iter("abc"), "reading", total=1))
    assert "━" * 25 not in capsys.readouterr().err


def test_nothing_to_do_prints_nothing(capsys):
    assert list(show_progress([], "counting")) == []
    assert capsys.readouterr().err == ""


def test_the_line_goes_after_an_error_too(capsys):
    def failing():
        yield 1
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        list(show_progress(failing(), "reading"))
    assert capsys.readouterr().err.endswith("\r\x1b[K")
