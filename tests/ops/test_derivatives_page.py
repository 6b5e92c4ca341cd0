"""docs/derivatives.md, which is generated: every rule is on it, by its own source text.

`test_namespace.py` holds the page to what would be generated. Imports arraygrad's generator.
"""

import re
from pathlib import Path

import pytest

from arraygrad.ops import OPS
from arraygrad.tools import generate_derivatives as generate

ROOT = Path(__file__).resolve().parents[2]
PAGE = generate.derivatives_page(ROOT, {})
SECTIONS = dict(zip(*[iter(re.split(r"^### (\S+)\n", PAGE, flags=re.MULTILINE)[1:])] * 2, strict=True))


def section(name):
    extension = OPS[name].entry.extension
    return SECTIONS[f"{extension}.{name}" if extension else name]


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.differentiable])
def test_rule_of_each_differentiable_parameter_is_shown(name):
    op = OPS[name]
    text = section(name)
    assert op.kind in text
    assert all(f"`{saved}`" in text for saved in op.saves)
    shown = set(re.findall(r"^- (\w+):", text, flags=re.MULTILINE))
    assert {"all"} if op.zero else {op.params[i] for i in op.inputs} <= shown


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("sin", "- x: `g * cos(x)`"),
        ("multiply", "- x1: `g * x2`"),
        ("divide", "- x2: `-g * ans / x2`"),
        ("inv", "- x: -inv(x)^T g inv(x)^T."),
        ("cross", "- x1: `_products.cross_rule(g, x2, len(x1_shape), axis, True)`"),
        ("floor", "- all: `0`"),
        ("where", "- x1: `where(condition, g, 0.0)`"),
        ("hypot", "where `_hypot_part(g, x, ans)` is"),
        ("maximum", "Ties share the gradient evenly."),
        ("maximum", "- ties: at `[1, 2, 3], [1, 3, 2]` the gradients are `[0.5, 0, 1], [0.5, 1, 0]`"),
        ("exp", "Keeps `ans`. Tested to order 2, real and complex, single precision too"),
    ],
)
def test_formula_is_the_rules_own_text(name, line):
    assert line in section(name)


def test_rule_of_several_statements_is_shown_whole():
    text = section("pow")
    assert "constant = x2 == 0" in text
    assert "return g * (factor * pow(x1, where(constant, x2, x2 - 1)))" in text


def test_namespace_argument_is_left_out():
    assert not re.search(r"\bxp\b", re.sub(r"`_\w+`", "", "".join(SECTIONS.values())))


def test_known_differences_are_on_the_page():
    assert "| `hypot` | origin | torch | `[0, 0], [0, -1]` | `[nan, 0], [nan, -1]` |" in PAGE
