"""Teaching a metric by answers to "same or different?", in a page of the browser.

:class:`nearkin.studio.lesson.Lesson` is the whole of it but for pages and servers. The package can
be called: ``nearkin.studio(X)`` is :func:`nearkin.studio.notebook.studio`, which opens the page.

Examples
--------
>>> import nearkin as nk
>>> X, y = nk.datasets.make_xor(60, random_state=0)
>>> handle = nk.studio(X)  # doctest: +SKIP
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from nearkin.errors import explain_missing_package

if TYPE_CHECKING:
    from nearkin.studio.notebook import Studio


class _CallableModule(ModuleType):
    """The package, which has the name of the function that opens it."""

    def __call__(self, *arguments: Any, **options: Any) -> Studio:
        with explain_missing_package("the studio needs more packages", "studio"):
            from nearkin.studio.notebook import studio

        return studio(*arguments, **options)

    @property
    def __signature__(self) -> Any:
        from inspect import signature

        from nearkin.studio.notebook import studio

        return signature(studio)


def __dir__() -> list[str]:
    return []


sys.modules[__name__].__class__ = _CallableModule
