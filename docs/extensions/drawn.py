"""Figures that the build draws: ``{plot} figures/NAME.py`` with ``:alt:``, and a caption if wanted.

The program, whose path is one from ``docs/``, draws one figure with matplotlib and neither shows
nor saves it. It is run again when it has changed, or a module beside it, or a file that is named
in ``:from:`` (paths from the repository's root). One that imports what is not installed is left
out, and the build says so. An ``:alt:`` that is too long for a line stands in a block of YAML::

    ```{plot} figures/NAME.py
    ---
    alt: >
      Two clouds of points, ...
      which touch.
    ---
    Perhaps a caption.
    ```

(matplotlib's own directive does not work on Markdown pages.)
"""

import hashlib
import os
import runpy
import sys
import warnings
from pathlib import Path

import runnable
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

log = logging.getLogger(__name__)
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_DOTS_TO_AN_INCH = 96  # of the page; the file has twice as many
STYLE = {
    "figure.constrained_layout.use": True,
    "figure.facecolor": "white",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "legend.frameon": False,
    # Okabe and Ito's colours, which the colour-blind can tell apart; yellow is too light for lines.
    "axes.prop_cycle": "cycler('color', ['0072B2', 'D55E00', '009E73', 'CC79A7', 'E69F00',"
    " '56B4E9', '000000'])",
}


def draw(program, picture):
    """Run a program, and keep the figure that it has drawn."""
    import matplotlib
    from matplotlib import pyplot as plt

    before, folder, path = matplotlib.rcParams.copy(), Path.cwd(), list(sys.path)
    plt.close("all")
    try:
        matplotlib.rcParams.update(STYLE)
        sys.path.insert(0, str(program.parent))
        os.chdir(program.parent)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            runpy.run_path(str(program), run_name="__main__")
        if len(plt.get_fignums()) != 1:
            raise RuntimeError(f"it drew {len(plt.get_fignums())} figures, and not one")
        plt.gcf().savefig(picture, dpi=2 * _DOTS_TO_AN_INCH, metadata={"Software": None})
    finally:
        plt.close("all")
        os.chdir(folder)
        sys.path[:] = path
        matplotlib.rcParams.update(before)


def size_of(picture):
    """Width and height of a PNG file, in pixels."""
    head = picture.read_bytes()[16:24]
    return int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")


class Drawn(SphinxDirective):
    """An image, or a figure if there is a caption."""

    has_content = True
    required_arguments = 1
    option_spec = {  # noqa: RUF012
        "alt": directives.unchanged_required,
        "from": directives.unchanged,
        "width": directives.length_or_percentage_or_unitless,
        "align": lambda name: directives.choice(name, ("left", "center", "right")),
        "class": directives.class_option,
    }

    def run(self):
        program = DOCS / self.arguments[0]
        if not program.is_file():
            raise self.error(f"there is no docs/{self.arguments[0]}")
        if not self.options.get("alt"):
            raise self.error(f"{program.name}: say in :alt: what the figure shows")
        sources = [ROOT / name for name in self.options.get("from", "").split()]
        for path in [program, *sources]:
            self.env.note_dependency(str(path))
        missing = [*runnable.missing(program), *(p.name for p in sources if not p.is_file())]
        if missing:
            log.info("not drawn: %s needs %s", program.name, ", ".join(missing))
            return []
        return [self.figure(self.picture(program, sources))]

    def picture(self, program, sources):
        digest = hashlib.sha256()
        names = sorted(runnable.imported(program))
        beside = (program.with_name(f"{name}.py") for name in names)
        for path in [program, *filter(Path.is_file, beside), *sources]:
            digest.update(path.read_bytes())
        folder = Path(self.env.doctreedir, "drawn")
        folder.mkdir(parents=True, exist_ok=True)
        picture = folder / f"{program.stem}.png"
        made_from = picture.with_suffix(".sha256")
        if not (picture.is_file() and made_from.is_file()) or (
            made_from.read_text(encoding="ascii") != digest.hexdigest()
        ):
            try:
                draw(program, picture)
            except Exception as error:
                raise self.error(
                    f"{program.name} fails: {type(error).__name__}: {error}"
                ) from error
            made_from.write_text(digest.hexdigest(), encoding="ascii")
        return picture

    def figure(self, picture):
        width = round(size_of(picture)[0] / 2)
        image = nodes.image(
            uri="/" + Path(os.path.relpath(picture, self.env.srcdir)).as_posix(),
            alt=" ".join(self.options["alt"].split()),
            width=self.options.get("width", f"{width}px"),
            classes=["drawn", *self.options.get("class", [])],
        )
        self.set_source_info(image)
        if not self.content and "align" not in self.options:
            return image
        figure = nodes.figure("", image, align=self.options.get("align", "default"))
        self.set_source_info(figure)
        if self.content:
            caption = nodes.Element()
            self.state.nested_parse(self.content, self.content_offset, caption)
            words = [child for node in caption.children[:1] for child in node.children]
            figure += nodes.caption("", "", *words)
            if len(caption) > 1:
                figure += nodes.legend("", *caption.children[1:])
        return figure


def setup(app):
    app.add_directive("plot", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
