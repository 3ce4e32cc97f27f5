"""Files of matchers, and one door for these and for model files."""

from __future__ import annotations

from typing import Any

from nearkin._version import __version__
from nearkin.storage import models
from nearkin.storage.arrays import StorageError, kind_of, read_arrays, write_arrays
from nearkin.storage.files import StrPath
from nearkin.storage.schema import Packed, pack, unpack

KIND, VERSION = "nearkin record matcher", 1


def load(path: StrPath) -> Any:
    """Load a fitted learner or matcher from a file that its ``save`` wrote.

    Nothing in the file is run, and all of it is checked: its digest, the parameters by the
    learner's own rules, the shape of every array, and that a row can be embedded, where that takes
    little memory beside the file (up to about a thousand landmarks). Loading takes at most four
    times the size of the file and 100 MB, whatever the file says.

    Parameters
    ----------
    path : path

    Returns
    -------
    learner or RecordMatcher
        The same as was saved; ``transform`` gives the same to the last bit with the same versions
        of NumPy and its libraries. What ``set_output`` asked for is not kept.

    Raises
    ------
    StorageError
        If the file is damaged, no model, or of a version that this nearkin does not read.

    Examples
    --------
    >>> import tempfile, nearkin
    >>> metric = nearkin.RCA().fit([[0.0, 0], [1, 0], [0, 5]], pairs=nearkin.Pairs([(0, 1)]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     metric.save(f"{folder}/example.nearkin")
    ...     nearkin.load(f"{folder}/example.nearkin")
    RCA()
    """
    return load_matcher(path) if is_matcher(path) else models.load(path)


def is_matcher(path: StrPath) -> bool:
    """Whether a file says that it holds a matcher."""
    return kind_of(path) == KIND


def save_matcher(matcher: Any, path: StrPath) -> None:
    """Write a fitted matcher; see :meth:`nearkin.RecordMatcher.save`."""
    packed = pack(matcher)
    content = {"nearkin": __version__, "model": packed.node}
    write_arrays(path, KIND, VERSION, packed.arrays, content)


def load_matcher(path: StrPath) -> Any:
    """Fitted matcher from a file, checked to fit together."""
    arrays, content = read_arrays(path, KIND, (VERSION, VERSION))
    try:
        matcher = unpack(Packed(content["model"], arrays))
        width = len(matcher.comparisons_.names) + 1
        trees = matcher.matching_.trees
        if trees is not None and len(trees.importances) != width:
            raise StorageError("its trees are not for its comparisons.")
        if len(matcher.matching_.mixture.weights) != len(matcher.comparisons_.columns):
            raise StorageError("its mixture is not for its comparisons.")
    except (KeyError, TypeError, AttributeError, StorageError) as error:
        raise StorageError(f"{path} holds no whole matcher: {error}") from error
    return matcher
