"""How the site is built: ``make docs``, or ``sphinx-build docs build/site``."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "extensions"), str(HERE.parent)]  # which has benchmarks, too
os.environ.setdefault("MPLBACKEND", "Agg")

import runnable
from pygments.lexers.shell import BashLexer

import nearkin

project = "nearkin"
author = "the nearkin developers"
copyright = f"2026, {author}"  # noqa: A001
version = release = nearkin.__version__
language = "en-GB"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "accessible",
    "drawn",
    "mathml",
    "reference",
    "repository_text",
]
templates_path = ["_templates"]
exclude_patterns = [
    "extensions",
    "figures",
    "_templates",
    "**/GALLERY_HEADER.*",
    "**/.ipynb_checkpoints",
    "gallery/**/*.ipynb",  # to download; the pages are made of what ran
]

# Pages

myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_dmath_double_inline = True
nb_execution_mode = "off"  # notebooks show the outputs that they keep; tests run them
nb_merge_streams = True
html_math_renderer = "mathml"
pygments_style = "a11y-high-contrast-light"
copybutton_exclude = ".linenos, .gp, .go"
suppress_warnings = ["config.cache"]

# Reference

autosummary_generate = True
autosummary_imported_members = True
# Files whose names differ in capitals only are one file on some systems.
autosummary_filename_map = {
    "nearkin.Estimate": "nearkin.EstimateOfCost",
    "nearkin.Outlook": "nearkin.OutlookOfAnswers",
}
autodoc_typehints = "none"  # numpydoc says them in words
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!nearkin\b).*")]  # names of ours must lead somewhere

# Gallery

EXAMPLES = HERE.parent / "examples"
if any(EXAMPLES.glob("GALLERY_HEADER.*")) or any(EXAMPLES.glob("README.*")):
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": str(EXAMPLES),
        "gallery_dirs": "gallery",
        "filename_pattern": runnable.pattern(EXAMPLES),
        "ignore_pattern": r"^(?!(?:.*[\\/])?plot_).*\.py$",
        "parallel": 2,
        "doc_module": ("nearkin",),
        "backreferences_dir": "api/backreferences",
        "reference_url": {"nearkin": None},
        "prefer_full_module": {r"nearkin\."},
        "min_reported_time": 5,
        "show_memory": False,
        "capture_repr": ("_repr_html_",),  # tables, and no names of axes
        "write_computation_times": False,  # a page that would ask other servers
        "download_all_examples": True,
        "remove_config_comments": True,
        "plot_gallery": "True",
        "matplotlib_animations": False,
        "within_subsection_order": "FileNameSortKey",
        "subsection_order": [
            f"../examples/{name}" for name in ("data", "learning", "answers", "tasks", "programs")
        ],
    }

# Looks

html_theme = "pydata_sphinx_theme"
html_title = "nearkin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # which needs a server
html_theme_options = {
    "logo": {"text": "nearkin"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 8,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "search_as_you_type": False,
}


def without_absent(app, docname, source):
    """Leave sections that are not there yet out of the list on the first page."""
    if docname == "index":
        head, start, names = source[0].partition("```{toctree}")
        there = (line for line in names.split("\n") if not line[:1].isalpha() or is_page(app, line))
        source[0] = head + start + "\n".join(there)


def is_page(app, name):
    return name in app.env.found_docs


def setup(app):
    app.connect("source-read", without_absent)
    # Commands stand without prompts: the usual lexer would take them for output, not to be copied.
    app.add_lexer("console", BashLexer)
