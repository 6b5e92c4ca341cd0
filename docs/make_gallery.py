"""Writes one script for each example of examples/gallery, which sphinx-gallery runs and shows with its picture.

The examples are programs in plain NumPy and know nothing of pictures: what is drawn of each stands in pictures.py.
"""

import ast
import inspect
import re
import shutil
import textwrap
from pathlib import Path

import pictures

GALLERY = Path(__file__).resolve().parent.parent / "examples" / "gallery"

HEADER = """\
Gallery
=======

Programs as their authors would write them, in NumPy and SciPy. None of them mentions arraygrad. Each is differentiated
as it stands, its gradient is compared with central differences, and SciPy fits its parameters. Every picture on this
page was drawn when the page was built.
"""

SCRIPT = '''\
"""
{title}
{line}

{text}

.. literalinclude:: /../examples/gallery/{name}.py
   :language: python
   :start-at: import numpy
   :end-before: if __name__
"""

# %%
# The gradient, and the fit
# -------------------------
# `loss` above is plain NumPy. `arraygrad.value_and_grad(loss)` computes its value and its gradient, and
# `scipy.optimize.minimize` uses both. `fit` does the two, and packs parameters into the one vector that SciPy wants.
import matplotlib.pyplot as plt
import numpy as np

from examples.gallery import {name} as model
from examples.gallery.show import examine, fit

result = examine("{name}", timing=False)
print(f"{{result.size}} parameters")
print(f"largest difference to central differences: {{result.difference:.1e}} of the largest derivative")
print(f"loss: {{result.loss_before:.4g}} at the start, {{result.loss_after:.4g}} after the fit")

found, losses = fit(model)
losses = np.array(losses)

# %%
{body}
plt.show()
'''


# What the docstrings say for readers of the source: the names that the program imports.
_IMPORTS = re.compile(r"\s*Imports: [^.]+(?:\.\w[^.]*)*\.")


def title_and_text(name: str) -> tuple[str, str]:
    """The title of an example's page and the text below it, of its docstring: "Title: what it does."

    Raises
    ------
    ValueError
        If the docstring has no title.
    """
    docstring = ast.get_docstring(ast.parse((GALLERY / f"{name}.py").read_text())) or ""
    first, _, rest = _IMPORTS.sub("", docstring).partition("\n\n")
    title, colon, text = " ".join(first.split()).partition(": ")
    if not colon or not 3 <= len(title) <= 48:
        raise ValueError(f"examples/gallery/{name}.py: expected a docstring that begins with 'Title: ', got {first!r}")
    return title, f"{text[:1].upper()}{text[1:]} {' '.join(rest.split())}".strip()


def write(folder: Path) -> None:
    """Writes the scripts into a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "README.rst").write_text(HEADER)
    for name in pictures.NAMES:
        title, text = title_and_text(name)
        drawing = getattr(pictures, name)
        body = textwrap.dedent(inspect.getsource(drawing).split("\n", 1)[1])
        body = body.split('"""', 2)  # its docstring becomes the text above the picture
        body = f"# {' '.join(body[1].split())}\n{body[2].lstrip()}"
        script = SCRIPT.format(
            name=name,
            title=title,
            line="=" * len(title),
            text=text,
            body=body,
        )
        (folder / f"plot_{name}.py").write_text(script)
