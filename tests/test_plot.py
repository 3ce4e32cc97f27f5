"""Pictures say what they are to say."""

from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

import nearkin as nk
from nearkin import Answerer, KernelBeta, Pairs, plot
from nearkin.clustering.clusters import GroupingCandidate, GroupingReport
from nearkin.datasets import make_xor
from nearkin.learners.selection import Candidate, SelectionReport
from nearkin.pairs.answers import IntervalEstimate

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


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


def test_spaces_stand_side_by_side_with_their_pair_auc():
    X, y = make_xor(40, random_state=0)
    wide = np.hstack([X, X])
    axes = plot.side_by_side({"before": X, "after": wide}, y, pairs=Pairs([(0, 1)]))
    score = f"pair AUC {nk.scores.pair_auc(X, y):.2f}"
    assert [ax.get_title() for ax in axes] == [f"before: {score}", f"after: {score}"]
    (legend,) = axes[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["0", "1", "must-link"]
    assert len(axes[1].collections[0].get_offsets()) == 20
    (alone,) = plot.side_by_side({"one": X}, legend=False)
    assert alone.get_title() == "one"
    assert not alone.figure.legends
    many = plot.side_by_side({str(number): X for number in range(5)})
    assert len(many) == 5
    assert sum(ax.axison for ax in many[0].figure.axes) == 5


def test_motion_draws_a_line_from_before_to_now():
    before, after = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.4, 0.1], [0.6, 0.1]])
    lines, points = plot.motion(before, after).collections
    assert_allclose(lines.get_segments(), np.stack([before, after], axis=1))
    assert_allclose(points.get_offsets(), after)
    with pytest.raises(nk.NearkinError, match=r"shape \(2, 2\) and after \(1, 2\)"):
        plot.motion(before, after[:1])


def test_motion_in_many_columns_is_seen_along_axes_of_both_together():
    rng = np.random.default_rng(0)
    before = rng.normal(size=(20, 4))
    after = before + np.array([9, 0, 0, 0])
    start, end = np.swapaxes(plot.motion(before, after).collections[0].get_segments(), 0, 1)
    assert_allclose(np.linalg.norm(end - start, axis=1), 9, rtol=0.05)


def test_pictures_show_rows_as_they_are():
    rows = [[0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [1, 1, 1, 1, 1, 0]]
    axes = plot.pictures(rows, (2, 3), titles=["a", "b", "c"], n_columns=2)
    assert_allclose(axes[1].images[0].get_array(), [[5, 4, 3], [2, 1, 0]])
    assert [ax.get_title() for ax in axes] == ["a", "b", "c"]
    assert len(axes[0].figure.axes) == 4
    (again,) = plot.pictures(rows[:1], (2, 3), axes=axes[:1])
    assert again is axes[0]


def test_kernel_matrix_has_classes_beside_each_other():
    K = np.arange(9.0).reshape(3, 3)
    ax = plot.kernel_matrix(K, ["b", "a", "b"], title="here")
    assert_allclose(ax.images[0].get_array(), K[np.ix_([0, 2, 1], [0, 2, 1])])
    assert len(ax.lines) == 2
    assert ax.get_title() == "here"
    assert_allclose(plot.kernel_matrix(K).images[0].get_array(), K)


def test_calibration_shows_shares_by_tenths():
    chances = np.array([0.05, 0.05, 0.95, 0.95, 1.0])
    ax = plot.calibration({"said": chances}, [0, 0, 1, 1, 0])
    line, right = ax.lines
    assert_allclose(line.get_xydata(), [[0.05, 0], [(0.95 + 0.95 + 1) / 3, 2 / 3]])
    assert_allclose(right.get_xydata(), [[0, 0], [1, 1]])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["said", "as it should be"]
    assert len(plot.calibration(chances, [0, 0, 1, 1, 0]).lines) == 2


def test_course_has_means_with_their_range_and_dashed_lines_for_single_numbers():
    ax = plot.course(
        [10, 100], {"a": [[0.5, 0.7], [0.8, 0.8]], "b": [0.1, 0.2], "c": 0.3}, log=True, title="t"
    )
    assert_allclose(ax.lines[0].get_xydata(), [[10, 0.6], [100, 0.8]])
    assert_allclose(ax.lines[1].get_ydata(), [0.1, 0.2])
    assert_allclose(ax.lines[2].get_ydata(), [0.3, 0.3])
    (band,) = ax.collections
    assert band.get_paths()[0].contains_point((10.001, 0.65))
    assert not band.get_paths()[0].contains_point((10.001, 0.75))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["10", "100"]


def test_estimates_have_intervals_and_names():
    found = {"first": IntervalEstimate(0.5, 0.4, 0.8), "second": IntervalEstimate(0.2, 0.1, 0.3)}
    ax = plot.estimates(found, x="share", title="here")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["second", "first"]
    bars = [container.lines[2][0].get_segments()[0][:, 0] for container in ax.containers]
    assert_allclose(bars, [[0.1, 0.3], [0.4, 0.8]])
    assert ax.get_xlabel() == "share (with 90 % interval)"
    ax = plot.estimates([Answerer("Ann", 7, IntervalEstimate(0.5, 0.4, 0.8))])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Ann, 7 answers"]
    assert ax.get_xlabel() == "share of wrong answers (with 90 % interval)"


def test_importances_are_the_largest_shares():
    ax = plot.importances({"a": 0.1, "b": 0.7, "c": 0.2}, most=2, title="here")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "b"]
    assert_allclose([bar.get_width() for bar in ax.patches], [20, 70])


def test_a_tree_is_cut_at_the_chosen_number_of_groups():
    X = np.array([[0.0, 0], [0.1, 0], [0, 0.1], [5, 5], [5.1, 5], [5, 5.1], [9, 0], [9.1, 0]])
    kind = np.array(["a", "a", "a", "b", "b", "b", "c", "c"])
    pairs = Pairs.from_labels(kind, 10, random_state=0)
    clusters = nk.Clusters(3, metric=nk.ITML(), families=["linkage"], random_state=0)
    ax = plot.tree(clusters.fit(X, pairs=pairs), names=kind, title="here")
    leaves = [label.get_text() for label in ax.get_xticklabels()]
    blocks = clusters.tree_.blocks
    assert len(leaves) == blocks.count
    # Leaves of one group stand beside each other.
    assert sum(name != after for name, after in pairwise(leaves)) == 2
    assert ax.get_title() == "here"
    # Two joins are above the line, if they could be made at all.
    cut = ax.lines[-1].get_ydata()[0]
    tops = [segment[:, 1].max() for part in ax.collections for segment in part.get_segments()]
    assert sum(top > cut for top in tops) == 2


def test_clusters_without_a_tree_say_how_to_get_one():
    class Without:
        tree_ = None

    with pytest.raises(nk.NearkinError, match=r'families=\["linkage"\]'):
        plot.tree(Without())
