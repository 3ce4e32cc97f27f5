import copy
import pickle
import threading
import warnings

import pytest
from sklearn.utils.parallel import Parallel, delayed

from nearkin.messages import mute_third_party


def test_warnings_are_left_out_in_blocks_which_may_be_nested():
    with mute_third_party():
        with mute_third_party():
            warnings.warn("this", stacklevel=1)
        warnings.warn("this", stacklevel=1)
    with pytest.warns(UserWarning, match="this"):
        warnings.warn("this", stacklevel=1)


def test_other_threads_hear_of_theirs_and_filters_stay():
    heard = []

    def work():
        try:
            warnings.warn("of another thread", stacklevel=1)
        except UserWarning as warning:  # an error, as all warnings in these tests
            heard.append(str(warning))

    with mute_third_party():
        within = list(warnings.filters)
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert heard == ["of another thread"]
    with mute_third_party(), mute_third_party():
        assert warnings.filters == within


def test_searches_that_make_filters_anew_leave_the_same_out():
    def search():  # as kneighbors does by a tree
        Parallel(1)([delayed(warnings.warn)("this")])

    with mute_third_party():
        search()
    with pytest.warns(UserWarning, match="this"):
        search()


def test_filters_can_be_sent_to_other_processes():
    with mute_third_party():
        copied = pickle.loads(pickle.dumps(list(warnings.filters)))
    assert len(copy.deepcopy(copied)) == len(warnings.filters)
