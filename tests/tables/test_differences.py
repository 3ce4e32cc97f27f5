"""Where two cells differ: src/nearkin/tables/reading.py."""

from difflib import SequenceMatcher

from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.tables import reading
from nearkin.tables.reading import find_differences, fold_text, split_marked
from tests.cases import each


def marked(left, right):
    """What is marked in each of two texts."""
    spans = find_differences(left, right)
    return [
        [part for part, differs in split_marked(text, found) if differs]
        for text, found in zip((left, right), spans, strict=True)
    ]


@each(
    ("left", "right", "expected"),
    [
        ("Jon Smith", "John Smith", [[], ["h"]]),
        ("Ann", "ANN ", [[], []]),
        ("JonSmith", "Jon Smith", [[], [" "]]),
        ("zogarsen", "Z", [["ogarsen"], []]),
        ("Smith, Jon", "Smith", [[", Jon"], []]),
        ("12 High Street", "12 Mill Lane", [["High Street"], ["Mill Lane"]]),
        ("1944-02-27", "1968-02-12", [["44", "7"], ["68", "1"]]),
        # In lower case İ is two characters.
        ("İİİ Istanbul", "İİİ Istanbol", [["u"], ["o"]]),
        ("", "a", [[], ["a"]]),
    ],
)
def test_typos_are_marked_by_letters_and_others_by_words(left, right, expected):
    assert marked(left, right) == expected


@settings(max_examples=15)
@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_are_whole_and_differ_where_they_are_marked(left, right):
    spans = find_differences(left, right)
    rest = []
    for text, found in zip((left, right), spans, strict=True):
        parts = split_marked(text, found)
        assert "".join(part for part, _ in parts) == text
        assert all(part for part, _ in parts)
        rest.append("".join(part.lower() for part, differs in parts if not differs))
        assert found == sorted(found)
    if fold_text(left) == fold_text(right):
        assert spans == ([], [])
    # What is left is equal, but for spaces.
    assert "".join(rest[0].split()) == "".join(rest[1].split())


@each("signs", [("a,", "a;"), ("a,b", "b,c"), ("a", "b"), ("a b ", "b a ")])
def test_long_texts_are_not_compared_letter_by_letter(signs, monkeypatch):
    sizes = []

    class Counting(SequenceMatcher):
        def __init__(self, junk, a, b):
            super().__init__(junk, a, b)
            # Steps of finding the longest stretch that is in both.
            sizes.append(sum(len(self.b2j.get(one, ())) for one in a))

    monkeypatch.setattr(reading, "SequenceMatcher", Counting)
    left, right = (sign * (2000 // len(sign)) for sign in signs)
    assert any(find_differences(left, right))
    assert max(sizes) < 40_000
