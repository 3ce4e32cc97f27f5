import numpy as np

from nearkin.records.blocking import grams_of, texts_of
from nearkin.tables.reading import Column
from tests.records.conftest import words


def trigrams(text):
    padded = b"\x01" + text.encode() + b"\x02"
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def of(grams, record):
    return grams.take(np.array([record])).values


def test_records_share_as_many_grams_as_their_texts_do():
    texts = ["anna maria", "ana maria", "marianne", "özgür", "ozgur", "", "x"]
    grams = grams_of([words("name", texts)])
    for i, left in enumerate(texts):
        for j, right in enumerate(texts):
            if i != j:
                shared = np.intersect1d(of(grams, i), of(grams, j))
                assert len(shared) == len(trigrams(left) & trigrams(right))


def test_grams_of_names_meet_in_any_column_and_those_of_codes_do_not():
    rows = ["berta", "other"], ["else", "berta"]
    for kind, shared in (("name", 5), ("code", 0)):
        grams = grams_of([words("a", rows[0], kind), words("b", rows[1], kind)])
        assert len(np.intersect1d(of(grams, 0), of(grams, 1))) == shared


def test_rare_grams_weigh_more_and_those_of_one_record_are_left_out():
    grams = grams_of([words("name", ["aaab"] * 50 + ["zzzb", "zzzb", "qqq"])])
    assert (of(grams, 50) & 255).max() > (of(grams, 0) & 255).max()
    assert len(of(grams, 52)) == 0


def test_long_texts_keep_a_few_grams_and_odd_ones_do_no_harm():
    long = "".join(map(chr, np.random.RandomState(0).randint(97, 123, size=9000)))
    texts = [long, long, "a\nb", "\udc80", None]
    grams = grams_of([words("text", texts, "text")])
    assert 0 < len(of(grams, 0)) <= 32
    assert np.array_equal(of(grams, 0), of(grams, 1))
    assert len(grams) == 5


def test_numbers_and_dates_as_texts():
    numbers = Column("n", "number", np.array([12.0, 0.123456, np.nan, -1e300]))
    assert texts_of(numbers) == ["12", "0.123", "", "-1e+300"]
    dates = Column("d", "date", np.array([0.0, np.nan, 1e12, -3.5]))
    assert texts_of(dates) == ["19700101", "", "99991231", "19691228"]
