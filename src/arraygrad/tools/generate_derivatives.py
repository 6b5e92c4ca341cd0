"""Writes docs/derivatives.md: the rule of every differentiable operation, from its own source text and its samples.

May import: ops. Reads the samples in tests/ops and the differences in tests/reference of the source tree it stands in;
`tools.generate` calls it, nothing else imports it.

A rule's formula is the text of its expression. A rule of several statements is shown by its docstring if it has one,
else by its statements; so are the helpers that an expression calls.
"""

import ast
import functools
import importlib
import inspect
import re
import sys
import types
from pathlib import Path

from arraygrad.ops import OPS

__all__ = ["derivatives_page", "formulas"]

HEADER = """\
# Derivatives

The rule of every differentiable operation: what a backward pass computes, what it needs for that, and what happens
where there is no derivative. This page is generated from the rules' own source text, the entries' documentation and
the samples of the tests (`python -m arraygrad.tools.generate`): change those, not the page.

## How to read it

`g` is the gradient that arrives at the result, `ans` the result itself; other names are the operation's parameters,
and functions are those of the Array API standard (`linalg.` and `fft.` are its extensions; a name that begins with
`_` is an internal operation, at the end of the page). Of our own, `expand_reduced` puts the axes back that a
reduction took away, each of length one, `normalize_axes` makes a tuple of non-negative ints of an axis, `at_axis` is
the key that takes a part of one axis, `count` the number of elements that a reduction joins into one. A line such as
`x1: g * x2` gives the gradient of `x1`. Summing over broadcast axes, casting to the input's dtype and taking the real
part for a real input are done once, by the engine, and stand in no rule. *Keeps* is what a recorded operation holds
on to until backward: inputs and `ans` as they are, `x_meta` for the shape and dtype of `x` without its elements.
Nothing is kept for an input that needs no gradient. *Tested* says to which order the rule is checked against central
differences, for which numbers, and in how many ways of calling it. The same rule, recorded, gives the second and
higher derivatives.

## Conventions

**Complex numbers.** The gradient of a real L at z = x + iy is dL/dx + i dL/dy, the direction of steepest ascent, as
in PyTorch (JAX has its conjugate). For a holomorphic f the vector-Jacobian product is `g * conj(f'(z))`: rules of
holomorphic functions are written as for real numbers, and the engine conjugates around them, conj(rule(conj(g))). All
others (`abs`, `conj`, `sign`, norms, factorizations, ...) are marked *not holomorphic* and spell their complex
formula out. A real input of a complex operation gets the real part. On a branch cut the derivative is that of the
side the value belongs to.

**Ties.** Equal largest or smallest elements share the gradient evenly (`max`, `min`, `maximum`, `minimum`, norms of
order inf), over all axes that are reduced. Sorting is stable, so equal elements keep their own gradients; of equal
elements in `unique_values` the first gets it. Elements taken more than once get the sum; of values written to one
place only the last counts. Where nan makes `max` or `min` nan, the elements that are nan share, as in PyTorch's `max`
(its `amax` gives nan to all).

**Kinks.** Where PyTorch has a finite answer it is ours. Elsewhere we take the subgradient of least norm: `abs`,
`hypot`, `atan2` and norms have gradient zero at the origin, not nan. A value at a bound of `clip` belongs to x. A
power of 0 by an exponent that is not negative counts as flat in the exponent, also where a derivative is taken again.
nan that a choice hands through takes its gradient with it: `relu` and `clip` at nan have slope one, as in PyTorch, so
that what made it nan is found at the leaves (JAX's `relu` has slope zero there). `numpy.angle` of real numbers is 0 or
pi, by the sign bit, and has slope zero.

**Second derivatives at kinks.** Where a norm n is zero, its gradient g x / n is zero by choice. Where g goes to zero
with n, the function is smooth, and its second derivatives are right: of `norm(w) ** 2`, `exp(-cdist(x, y) ** 2)`, a
Matern kernel. The rule asks the graph of g for dg/dn (L'Hopital), so that it does not matter how a square is spelled.
Where g jumps, second derivatives are nan, never 0: of `norm(w)`, of `norm(w) * w[0]`, of the square of a norm of order
3 or of a sum of norms, of `atan2` at the origin. They are nan too where one norm is computed twice, as in
`norm(w) * norm(w)`: write `norm(w) ** 2`. This holds for `linalg.norm` and its kin, `hypot`, `std`, `nanstd`, the size
of complex numbers, distances and angles of rotation. Functions that are straight on both sides of a kink have second
derivative 0 there, as in PyTorch and JAX: the size of real numbers, norms of order 1 and inf, `relu`, `maximum`,
`clip`. Their squares are smooth: that of `abs(x) ** 2` is 2. Third derivatives are right where they exist and nan
elsewhere; of the fourth some are nan where they exist.

**Poles.** At a pole or an endpoint of the domain the gradient is infinite (`sqrt` at 0) or nan, as the formula gives
it; so is its own gradient, with the sign of the formula (`asin`, `acosh` and `atanh` at their ends). Outside of the
domain the value is nan, the gradient what the formula gives. A step function has a gradient of zeros, at its jumps
too, and stays in the graph.

**Hard cases.** [numerics.md](numerics.md) has the answers at overflow, underflow and cancellation, beside PyTorch's
and JAX's. On a branch cut the sign of a zero says which side a number is on.

**`where`.** Rules choose, they do not multiply by a mask: an infinite or nan gradient does not reach the branch that
was not taken. But the computation of that branch has a backward pass of its own, and `log` at 0 makes 0 * inf = nan
of the zeros it gets. `with ag.zero_annihilates():` makes such a product zero.

**Determinants.** The gradient of `det` is the matrix of cofactors, computed through the singular values where x is
(nearly) singular: it is right at any rank, and so are second derivatives. `slogdet` at a singular matrix is -inf; its
gradient is infinite along the cofactors, and zero where all cofactors are.

**Degenerate factorizations.** Gradients through singular values and eigenvalues are finite also when some are equal.
Gradients through the vectors divide by the differences of the values: for vectors of values that are equal up to
rounding they are nan, because these vectors are not determined. Vectors whose own value stands alone have derivatives
of every order, whatever the other values are, with the exception of zeros. Where several eigenvalues, or one singular
value, are zero to the last bit, a zero in the gradient of their vectors may come of a product with the values, as in
`(v * eigvalsh(x)) @ v.T`, which has a derivative within the group: gradients of `eigh`, `eig` and `svd` that come
through any vectors are nan there, and so are second derivatives of `eigvals`. Those of other values alone, as
`eigvalsh(x)[-1]` and `svdvals(x)[0]`, are not. Where other values are equal to the last bit, gradients of values that
are all zero say nothing about the vectors, which is nan too. A function of the values that is zero at a number other
than zero (`(v * log(w)) @ v.T` at two eigenvalues of exactly one) hides their vectors likewise, and cannot be told from
one that does not use them: the part within the group is missing from such a gradient. Complex vectors are determined up
to a phase, and vectors that only complete U, Vh or Q to a square matrix not at all: a gradient that depends on either
raises RuntimeError.

**Hermitian matrices.** `cholesky`, `eigh` and `eigvalsh` read one triangle: the lower one, or the upper one for
`upper=True` and NumPy's `UPLO="U"`; of libraries that read more, arraygrad shows them one triangle. The gradient is
that of the elements that are read: those outside of the diagonal stand for two each, the other triangle gets zeros, as
in HIPS autograd's `eigh`. So it equals finite differences of the function as it is computed, and is right for a matrix
that is stored in one triangle (`cholesky(tril(x))`), where PyTorch's, which is Hermitian, would be half of it. For an
argument that the program makes symmetric, as `x @ x.T` or `(x + x.T) / 2`, both give the same gradient of x. For a
leaf that is symmetric by itself, `(g + g.mT.conj()) / 2` is PyTorch's; take that one for steps that have to stay
symmetric.

**Zero and none.** An operation whose result is boolean, integer or no array has no derivative; its result does not
require grad. A rule that returns nothing means zero.
"""

COMPARED = """\
## Where other libraries differ

`tests/reference` compares every operation that PyTorch and JAX have too, on the samples of `tests/ops/samples` and at
poles, edges, ties and branch cuts (`tests/reference/points.py`): values, gradients and second derivatives, real and
complex. It is skipped where they are not installed; to run it, install `torch` or `jax` beside arraygrad and

    python -m pytest tests/reference

Everything agrees but for the points below (`tests/reference/differences.py`).

| operation | at | library | ours | theirs | why |
|---|---|---|---|---|---|
"""


def derivatives_page(root, titles):
    """The text of docs/derivatives.md.

    Parameters
    ----------
    root : Path
        The source tree: its tests hold the samples and the known differences.
    titles : dict
        chapter -> heading.
    """
    samples = _module(root / "tests" / "ops", "samples").samples
    documented = _module(root / "tests" / "reference", "differences").DOCUMENTED
    chapters = {}
    for op in OPS.values():
        if op.differentiable:
            chapters.setdefault(op.entry.chapter, []).append(op)
    parts = [HEADER]
    for chapter, ops in chapters.items():
        parts.append(f"## {titles.get(chapter, chapter.replace('_', ' ').capitalize())}\n")
        parts += [_section(op, samples(op.name)) for op in ops]
    rows = [_difference_row(key, difference) for key, difference in documented.items() if difference is not None]
    parts.append(COMPARED + "\n".join(rows))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts)).rstrip() + "\n"


def formulas(op):
    """[(parameter, formula)] of an operation: the text of each rule's expression, or what its docstring says."""
    found = []
    for i, rule in zip(op.inputs, op.rules, strict=True):
        node = _node_of(rule)
        expression = _expression(node)
        documented = _said_of_call(expression, _helpers(expression, rule)) if expression else inspect.getdoc(rule)
        if documented:
            found.append((op.params[i], _plain(documented)))
        elif expression is not None:
            found.append((op.params[i], _text(expression)))
        else:
            found.append((op.params[i], _statements(node)))
    return found


def _said_of_call(expression, helpers):
    """The docstring of the helper that an expression calls and returns the result of; None for any other expression."""
    if isinstance(expression, ast.Call) and len(helpers) == 1:
        helper = helpers.get(ast.unparse(expression.func))
        return helper and inspect.getdoc(helper)
    return None


def _module(folder, name):
    """A module of the tests, imported from its folder."""
    if name not in sys.modules:
        sys.path.insert(0, str(folder))
        try:
            return importlib.import_module(name)
        finally:
            sys.path.remove(str(folder))
    return sys.modules[name]


# -- one operation -----------------------------------------------------------------------------------------------------


def _section(op, cases):
    entry = op.entry
    prefix = f"{entry.extension}." if entry.extension else ""
    lines = [f"### {prefix}{op.name}\n"]
    plain = (
        entry.holomorphic or op.kind == "reduction" or op.derivative in ("linear", "zero")
    )  # those say nothing of it
    holomorphic = "" if plain else ", not holomorphic"
    keeps = ", ".join([f"`{name}`" for name in op.saves]) or "nothing"
    said = f"{op.kind}, {op.derivative}{holomorphic}"
    lines.append(f"`{prefix}{op.name}({entry.signature})`: {said}. Keeps {keeps}. {_tested(cases)}\n")
    if op.zero:
        lines.append("- all: `0`\n")
    else:
        shown = set()
        for i, rule in zip(op.inputs, op.rules, strict=True):
            lines += _rule(op.params[i], rule, shown)
        lines.append("")
    said = _said_of_derivative(entry.doc)
    if said:
        lines.append(f"{said}\n")
    kinks = [case for case in cases if case.expected is not None]
    if kinks:
        lines.append("At ties and kinks (gradients of the sum of the results):\n")
        lines += [f"- {_kink(op, case)}" for case in kinks]
        lines.append("")
    return "\n".join(lines)


def _tested(cases):
    plain = [case for case in cases if case.expected is None]
    if not plain:
        return f"Tested at {len(cases)} known points." if cases else "Not tested by itself."
    kinds = {array.dtype.kind for case in plain for array in case.arrays}
    numbers = " and ".join(word for kind, word in (("f", "real"), ("c", "complex")) if kind in kinds)
    single = ", single precision too" if any(case.single for case in plain) else ""
    order = max(case.order for case in plain)
    ways = f"{len(plain)} way{'s' if len(plain) > 1 else ''}"
    return f"Tested to order {order}, {numbers}{single}: {ways}."


def _kink(op, case):
    """Arguments and expected gradients of a sample at a kink."""
    one = len(case.arrays) == 1
    at, grads = (", ".join([_numbers(a) for a in arrays]) for arrays in (case.arrays, case.expected))
    return f"{case.label}: at `{at}` the gradient{' is' if one else 's are'} `{grads}`"


def _numbers(array):
    """Nested lists of numbers, without the zeros and points that say nothing."""
    if isinstance(array, str) or array is None:
        return str(array)
    values = array.tolist() if hasattr(array, "tolist") else array

    def text(value):
        if isinstance(value, list | tuple):
            return "[" + ", ".join([text(v) for v in value]) + "]"
        if isinstance(value, complex):
            real, imaginary = f"{value.real:.6g}", f"{value.imag:.6g}"
            if value.real == 0:
                return f"{imaginary}i"
            return f"{real} {'-' if imaginary.startswith('-') else '+'} {imaginary.lstrip('-')}i"
        return f"{value:.6g}"

    return text(values)


# Sentences of an entry's documentation that are about its derivative.
_ABOUT = re.compile(
    r"gradient|derivative|\bTies?\b|\bgets?\b|kink|[Pp]iecewise|belongs to|locally constant|taken as constant|"
    r"singular|[Pp]oles"
)


def _said_of_derivative(doc):
    sentences = re.split(r"(?<=[.)]) (?=[A-Z`])", " ".join(doc.split()))
    return " ".join([sentence for sentence in sentences if _ABOUT.search(sentence)])


# -- one rule ----------------------------------------------------------------------------------------------------------


def _rule(name, rule, shown):
    """Lines of one rule: its formula, then the helpers it calls that are not yet shown."""
    node = _node_of(rule)
    expression = _expression(node)
    if expression is None:
        documented = inspect.getdoc(rule)
        if documented:
            return [f"- {name}: {_plain(documented)}"]
        return [f"- {name}:\n", _code(_statements(node)), ""]
    helpers = _helpers(expression, rule)
    documented = _said_of_call(expression, helpers)
    if documented:
        return [f"- {name}: `{_text(expression)}`. {_plain(documented)}"]
    lines = [f"- {name}: `{_text(expression)}`"]
    for called, helper in helpers.items():
        if called not in shown:
            shown.add(called)
            documented = inspect.getdoc(helper)
            if documented:
                lines.append(f"  - `{called}`: {_plain(documented)}")
            else:
                signature = ", ".join([p for p in inspect.signature(helper).parameters if p != "xp"])
                lines += ["", f"  where `{called}({signature})` is\n", _code(_statements(_node_of(helper)), "  "), ""]
    return lines


@functools.cache
def _tree(path):
    return ast.parse(Path(path).read_text())


def _node_of(function):
    """The syntax tree of a function or lambda."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]
    found = [
        node
        for node in ast.walk(_tree(inspect.getsourcefile(function)))
        if isinstance(node, ast.Lambda | ast.FunctionDef)
        and node.lineno == code.co_firstlineno
        and tuple(a.arg for a in node.args.args) == names
    ]
    if len(found) != 1:
        raise ValueError(f"{len(found)} functions of {names} on line {code.co_firstlineno} of {code.co_filename}")
    return found[0]


def _expression(node):
    """What a lambda, or a function of one `return`, computes; None for a longer one."""
    if isinstance(node, ast.Lambda):
        return node.body
    body = _without_docstring(node.body)
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


def _without_docstring(body):
    first = body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and len(body) > 1
    return body[1:] if documented else body


def _statements(node):
    return "\n".join([_text(statement) for statement in _without_docstring(node.body)])


def _helpers(expression, rule):
    """dict name -> function of the project that an expression calls, as its module knows it."""
    found = {}
    known = {**rule.__globals__, **inspect.getclosurevars(rule).nonlocals}
    for node in ast.walk(expression):
        if not isinstance(node, ast.Call):
            continue
        function = None
        if isinstance(node.func, ast.Name):
            function = known.get(node.func.id)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            function = getattr(known.get(node.func.value.id), node.func.attr, None)
        if isinstance(function, types.FunctionType) and _is_worth_showing(function.__module__):
            found[ast.unparse(node.func)] = function
    return found


def _is_worth_showing(module):
    # the helpers of all rules stand in the page's introduction
    return module.startswith("arraygrad.ops") and module != "arraygrad.ops._helpers"


class _Readable(ast.NodeTransformer):
    """Formulas as the reader knows them: functions without `xp.`, and no `xp` among their arguments."""

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "xp":
            return ast.Name(node.attr, node.ctx)
        return node

    def visit_Call(self, node):
        node.args = [a for a in node.args if not (isinstance(a, ast.Name) and a.id == "xp")]
        self.generic_visit(node)
        return node


def _text(node):
    copied = ast.parse(ast.unparse(node), mode="exec").body[0]
    return ast.unparse(ast.fix_missing_locations(_Readable().visit(copied)))


def _plain(text):
    return " ".join(text.split())


def _code(text, indent="  "):
    lines = ["```python", *text.splitlines(), "```"]
    return "\n".join([indent + line for line in lines])


# -- differences -------------------------------------------------------------------------------------------------------


def _difference_row(key, difference):
    library, name, label, order = key
    at = label or "every point"
    if order > 1:
        at += f", order {order}"
    ours, theirs = (_short(value) for value in (difference.ours, difference.theirs))
    return f"| `{name}` | {at} | {library} | {ours} | {theirs} | {difference.why} |".replace("\n", " ")


def _short(gradients):
    if gradients is None:
        return ""
    return "`" + ", ".join([_numbers(g) for g in gradients]) + "`"
