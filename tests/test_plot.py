"""Pictures say what they are to say."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from nearkin import KernelBeta, Pairs, plot
from nearkin.datasets import make_xor
from nearkin.learners.selection_report import Candidate, SelectionReport
from nearkin.tasks.grouping.report import GroupingCandidate, GroupingReport

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    mpl.pyplot.close("all")


def test_selection_shows_gains_with_two_standard_errors_and_the_choice():
    lines = [
        Candidate("good", 0.9, 0.2, 0.03, chosen=True),
        Candidate("fair", 0.8, 0.1, 0.02),
        Candidate("Euclidean", 0.7, 0.0, 0.01),
    ]
    ax = plot.selection(SelectionReport("good, better than others", lines))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fair", "good"]
    assert ax.get_title() == "good, better than others"
    bars = [c.lines[2][0].get_segments()[0][:, 0] for c in ax.containers]
    assert_allclose(bars, [[0.06, 0.14], [0.14, 0.26]])
    colors = [container.lines[0].get_color() for container in ax.containers]
    assert colors == ["0.5", "C3"]


def test_embedding_draws_pairs_as_lines_and_unknown_labels_in_grey():
    X, y = make_xor(40, random_state=0)
    pairs = Pairs([(0, 1), (2, 3)], [(4, 5)])
    known = np.where(np.arange(40) < 20, y, -1)
    ax = plot.embedding(X, known, pairs=pairs, title="here", legend=True)
    *points, must, cannot = ax.collections
    assert_allclose(must.get_segments(), X[pairs.must_link])
    assert_allclose(cannot.get_segments(), X[pairs.cannot_link])
    assert sum(len(some.get_offsets()) for some in points) == 40
    assert ax.get_title() == "here"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["unknown", "0", "1", "must-link", "cannot-link"]
    assert plot.embedding(X).get_legend() is None
    names = plot.embedding(X, np.array(["b", "a"])[y], legend=True).get_legend().get_texts()
    assert [text.get_text() for text in names] == ["a", "b"]


def test_sparse_rows_are_drawn_as_dense_ones():
    Z = np.random.default_rng(0).normal(size=(20, 4)) * [3, 2, 1, 0]
    assert_allclose(plot.in_the_plane(csr_array(Z)), plot.in_the_plane(Z))


def test_spectrum_shows_weights_before_and_after():
    X, y = make_xor(40, random_state=0)
    metric = KernelBeta(random_state=0).fit(X, y)
    ax = plot.spectrum(metric)
    assert_allclose(ax.lines[0].get_ydata(), metric.beta_)
    assert_allclose([bar.get_height() for bar in ax.patches], np.sqrt(metric.eigenvalues_))


def test_distances_are_two_histograms_and_a_threshold():
    ax = plot.distances([0.1, 0.2, 0.2], [1.0, 3.0], threshold=0.5, title="here")
    same, different = (sum(bar.get_height() for bar in bars) for bars in ax.containers)
    assert (same, different) == (3, 2)
    assert_allclose(ax.lines[0].get_xdata(), 0.5)
    assert ax.get_title() == "here"


def test_distances_of_one_kind_of_pairs_will_do():
    ax = plot.distances([], [0.0, 0.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["different, 2 pairs"]


def test_grouping_shows_a_line_for_each_family_the_interval_and_the_choice():
    lines = [
        GroupingCandidate("ward", 2, 2, 0.5, 0.5, 0.5),
        GroupingCandidate("ward", 3, 3, 0.9, 0.9, 0.9, chosen=True),
        GroupingCandidate("k-means", 3, 3, 0.8, 0.9, 0.8),
    ]
    ax = plot.grouping(GroupingReport("why", "ward", 3, (3, 4), lines))
    assert_allclose(ax.lines[0].get_ydata(), [0.5, 0.9])
    assert_allclose(ax.lines[-1].get_data(), ([3], [0.9]))
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["ward", "k-means", "90 % interval"]
    assert ax.get_title() == "3 groups (90 % interval 3 to 4) by ward"


def test_explanations_are_bars_or_a_heat_map():
    X, y = make_xor(60, random_state=0)
    X = np.column_stack([X, X[:, ::-1]])
    metric = KernelBeta(random_state=0).fit(X, y)
    found = metric.explain(X[0], X[1])
    ax = plot.explanation(found, most=2)
    named = found.named(2)
    assert [label.get_text() for label in ax.get_yticklabels()] == named[::-1]
    widths = [bar.get_width() for bar in ax.patches]
    assert_allclose(widths, [100 * found.shares[name] for name in named[::-1]])
    assert ax.get_title() == found.sentence
    ax = plot.explanation(found, shape=(2, 2), title="pixels")
    assert_allclose(ax.images[0].get_array(), found.pixels((2, 2)))
    assert ax.get_title() == "pixels"
    with pytest.raises(ValueError, match="height times width"):
        plot.explanation(found, shape=(2, 3))
    with pytest.raises(ValueError, match="most"):
        plot.explanation(found, most=0)
