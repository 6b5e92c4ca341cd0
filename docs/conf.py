"""Sphinx's settings for the site: `nox -s docs`, or `python -m sphinx -W --keep-going docs docs/_build`.

What is made at build time lands in docs/_made, which git ignores: figures (make_figures.py) and the gallery
(make_gallery.py). Everything else on the site is a page in docs/ that reads well as plain Markdown too.
"""

import inspect
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import arraygrad.tools

arraygrad.tools.__path__.append(str(ROOT / "src" / "arraygrad" / "tools"))  # a wheel has none of the repository alone

import make_docstrings
import make_figures
import make_functions
import make_gallery
import make_scipy

import arraygrad

project = "arraygrad"
author = "arraygrad developers"
copyright = "arraygrad developers"
version = release = arraygrad.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.linkcode",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_made/gallery-source"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
nitpicky = False

myst_enable_extensions = ["dollarmath", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
# README.md and examples/ lie outside of the site: links to them lead to the source.
suppress_warnings = ["config.cache"]

html_theme = "furo"
html_title = f"arraygrad {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_static" / "scorer.js")
REPOSITORY = "https://github.com/arraygrad/arraygrad"
html_theme_options = {
    "navigation_with_keys": True,
    "source_repository": f"{REPOSITORY}/",
    "source_branch": "main",
    "source_directory": "docs/",
    "footer_icons": [
        {"name": name, "url": f"{REPOSITORY}{path}", "html": name, "class": ""}
        for name, path in (
            ("Repository", ""),
            ("Changelog", "/blob/main/CHANGELOG.md"),
            ("Citation", "/blob/main/CITATION.cff"),
            ("License", "/blob/main/LICENSE"),
        )
    ],
}
html_logo = html_favicon = "_made/logo.svg"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
pygments_style = "friendly"
pygments_dark_style = "monokai"

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Docstrings quote names with single backticks.
default_role = "literal"

made = HERE / "_made"
made.mkdir(exist_ok=True)
make_figures.logo(made / "logo.svg")
make_gallery.write(made / "gallery-source")
make_figures.write(made / "figures")
make_functions.write(made / "functions")
make_scipy.write(made / "scipy")

sphinx_gallery_conf = {
    "examples_dirs": str(made / "gallery-source"),
    "gallery_dirs": "_made/gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "min_reported_time": 1000,
    "thumbnail_size": (440, 240),
    "write_computation_times": False,  # would be a file beside the pages
}


def linkcode_resolve(domain, info):
    """Where the source of a documented name stands: its own lines, or the table of operations of a compiled one."""
    if domain != "py" or not info["module"]:
        return None
    value = sys.modules.get(info["module"])
    for part in info["fullname"].split("."):
        value = getattr(value, part, None)
    value = inspect.unwrap(value) if callable(value) else value
    try:
        path = Path(inspect.getsourcefile(value)).resolve()
        lines, first = inspect.getsourcelines(value)
    except (TypeError, OSError):
        from arraygrad.ops import OPS

        if info["fullname"].rpartition(".")[2] in OPS and info["module"].startswith("arraygrad"):
            return f"{REPOSITORY}/tree/main/src/arraygrad/ops"
        return None
    package = Path(arraygrad.__file__).resolve().parent
    if not path.is_relative_to(package):
        return None
    place = f"src/arraygrad/{path.relative_to(package).as_posix()}"
    return f"{REPOSITORY}/blob/main/{place}#L{first}-L{first + len(lines) - 1}"


def end_of_sessions(app, name, source):
    """Interactive sessions end with a blank line for doctest, which the site does not show."""
    source[0] = re.sub(r"(^```pycon\n.*?)\n+```$", r"\1\n```", source[0], flags=re.M | re.S)


def own_branch(app, name, template, context, doctree):
    """A page's sidebar holds the branches that lead to it: all of 300 pages would be most of each page's bytes."""
    whole = context.get("toctree")
    if whole is not None:
        context["toctree"] = lambda **options: whole(**{**options, "collapse": True})


def setup(app):
    """Docstrings are Markdown-like text; autodoc wants reStructuredText."""
    app.connect("autodoc-process-docstring", make_docstrings.process, priority=400)  # before napoleon
    app.connect("html-page-context", own_branch, priority=400)  # before the theme
    app.connect("source-read", end_of_sessions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
