"""Sphinx: how the pages are built. `sphinx-build -W --keep-going -b html docs docs/_build/html`, without a network."""

from __future__ import annotations

import sys
from pathlib import Path

import kernsift

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE / "_ext"))

project = "kernsift"
author = "The kernsift developers"
copyright = author
version = release = kernsift.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "core_stub",
    "docstrings",
    "equation_map",
    "gallery_links",
    "internal_links",
    "mathml",
    "plain_pages",
    "pruning_slider",
    "repository",
    "reveal",
    "sphinx_design",
]
exclude_patterns = ["_build", "figures", "_ext"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold a class
nitpicky = False

# --- Markdown and pages of the repository outside this folder

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "fieldlist"]
myst_dmath_allow_space = False  # prices are no formulas
myst_heading_anchors = 3
myst_url_schemes = {"http": None, "https": None, "mailto": None, "repository": None}
# files of the repository that have a page here; links to others lead to a page with their source
repository_pages = {
    "CHANGELOG.md": "develop/changelog",
    "CONTRIBUTING.md": "develop/contributing",
    "SECURITY.md": "develop/security",
    "bench/README.md": "develop/benchmarks",
    "bench/papers/RESULTS.md": "papers/results",
    "bench/peers/RESULTS.md": "measured/peers",
    "bench/papers/REINFORCEMENT.md": "measured/reinforcement",
    "bench/papers/WIDTHS.md": "measured/widths",
    "bench/papers/COVERAGE.md": "measured/coverage",
    "cpp/EQUATIONS.md": "papers/equations",
}

# --- API

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # numpydoc's Parameters say it in words
numpydoc_show_class_members = False  # the template lists them
numpydoc_use_plots = False

# --- pictures, made while the pages are

plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("svg", 96)]
plot_basedir = str(HERE / "figures")
plot_rcparams = {
    "figure.figsize": (7.0, 3.2),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 10,
    "legend.frameon": False,
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
}
plot_apply_rcparams = True
reveal_figures = ["front_errors.svg", "front_costs.svg"]

gallery = ROOT / "examples" / "gallery"
autosummary_context = {"gallery": gallery.is_dir()}
if gallery.is_dir():
    extensions += ["sphinx_gallery.gen_gallery", "thumbnails"]
    sphinx_gallery_conf = {
        "examples_dirs": "../examples/gallery",
        "gallery_dirs": "auto_examples",
        "backreferences_dir": "api/backreferences",
        "doc_module": ("kernsift",),
        "first_notebook_cell": '%matplotlib inline\n# needs kernsift with the extra [plot]: see the page "Install"',
        "within_subsection_order": "FileNameSortKey",
        "filename_pattern": r"[\\/]plot_",
        "image_scrapers": ("thumbnails.scraper",),
        "remove_config_comments": True,
        "show_memory": False,
        "show_signature": False,
        "min_reported_time": 5,
        "plot_gallery": "True",
        "only_warn_on_example_error": False,
    }

# --- HTML

html_theme = "pydata_sphinx_theme"
html_title = "kernsift"
html_summary = "Sparse kernel least squares that learns online, stays small and says how sure it is (Python, C++ core)."
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["kernsift.css"]
html_js_files = ["kernsift.js"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
templates_path = ["_templates"]
# tables of results need the width
WIDE = ("measured/*", "papers/results", "develop/reliability")
html_sidebars = {page: [] for page in ("index", "choosing", "install", *WIDE)}
html_theme_options = {
    "logo": {
        "text": f"kernsift {version}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "kernsift, front page",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        **{
            page: []
            for page in (
                "papers/equations",
                "papers/symbols",
                "selectors",
                "stream_settings",
                "inputs",
                "develop/house",
            )
        },
    },
}
