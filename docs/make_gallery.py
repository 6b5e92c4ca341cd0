"""Writes one script for each example of examples/gallery, which sphinx-gallery runs and shows with its picture.

The examples are programs in plain NumPy and know nothing of pictures: what is drawn of each stands in
examples/gallery/pictures.py. A script holds the example, a fit and the picture, and runs by itself.
"""

import ast
import inspect
import re
import shutil
import textwrap
from pathlib import Path

from examples.gallery import pictures

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
"""

{code}

# %%
# The gradient, and the fit
# -------------------------
# `loss` above is plain NumPy. SciPy wants one vector of parameters, which `arraygrad.ravel_tree` makes of them.
# `arraygrad.gradcheck` compares the gradient with central differences.
import matplotlib.pyplot as plt
from scipy.optimize import minimize

import arraygrad as ag

measurements = data()
vector, back = ag.ravel_tree(START)


def packed(vector):
    return loss(back(vector{scale}), *measurements)


def note(intermediate_result):
    losses.append(float(intermediate_result.fun))


start = vector{unscaled}
print(f"{{start.size}} parameters")
print("equals central differences:", ag.gradcheck(packed, [start]))

losses = [float(packed(start))]
options = {{"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-8}}
fit = minimize(
    ag.value_and_grad(packed),
    start,
    jac=True,
    method="L-BFGS-B",
    callback=note,
    options=options,
)
found, losses = back(fit.x{scale}), np.array([*losses, fit.fun])
print(f"loss: {{losses[0]:.4g}} at the start, {{losses[-1]:.4g}} after the fit")

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


def code_of(name: str) -> str:
    """An example's code, from its first import to what runs it as a program."""
    text = (GALLERY / f"{name}.py").read_text()
    return text[text.index("import numpy") : text.index("if __name__")].strip()


def script(name: str) -> str:
    """The script of one example."""
    title, text = title_and_text(name)
    _, docstring, drawing = inspect.getsource(getattr(pictures, name)).split('"""', 2)
    # What the picture takes of the example's module stands in the script itself.
    drawing = re.sub(r"\bmodel\.", "", textwrap.dedent(drawing.lstrip("\n")))
    code = code_of(name)
    scaled = re.search(r"^SCALE = ", code, re.M) is not None
    return SCRIPT.format(
        title=title,
        line="=" * len(title),
        text=text,
        code=code,
        scale=" * SCALE" * scaled,
        unscaled=" / SCALE" * scaled,
        body=f"# {' '.join(docstring.split())}\n{drawing.strip()}\n",
    )


def write(folder: Path) -> None:
    """Writes the scripts into a fresh folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "README.rst").write_text(HEADER)
    for name in pictures.NAMES:
        (folder / f"plot_{name}.py").write_text(script(name))
