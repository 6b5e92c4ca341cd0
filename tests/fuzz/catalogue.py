"""What programs may do: each entry makes a statement from registers at hand. Nothing here imports arraygrad.

An entry gets the generator `g` and returns a Step, or None where it has nothing to work on. `g.pick()` gives the name
of a register, `g.value(name)` its value, `g.rng` the dice, `g.new()` the name of a new register.
Real functions are listed with the interval that they are used on; an argument that lies elsewhere is squashed into it.
Functions of one array that the table has and this file does not name are added by `catalogue_table`.
"""

import re
from pathlib import Path

from . import catalogue_numpy, catalogue_table
from .program import Step

ANY = (-60.0, 60.0)
REAL = {
    "sin": ANY, "cos": ANY, "tan": (-1.2, 1.2), "asin": (-0.9, 0.9), "acos": (-0.9, 0.9), "atan": ANY,
    "sinh": (-4, 4), "cosh": (-4, 4), "tanh": (-6, 6), "asinh": ANY, "acosh": (1.15, 60), "atanh": (-0.9, 0.9),
    "exp": (-6, 4), "expm1": (-6, 4), "log": (0.1, 300), "log1p": (-0.85, 300), "log2": (0.1, 300),
    "log10": (0.1, 300), "sqrt": (0.1, 300), "square": (-15, 15), "reciprocal": (0.2, 60), "negative": ANY,
    "positive": ANY, "conj": ANY, "real": ANY, "imag": None, "sigmoid": (-20, 20),
    "erf": (-3, 3), "gammaln": (0.3, 30),
}  # fmt: skip
REAL.pop("imag")  # of complex arguments only
SPECIAL = {
    "gamma": (0.3, 4), "gammaln": (0.3, 30), "loggamma": (0.3, 30), "rgamma": (0.3, 4), "digamma": (0.4, 30),
    "erf": (-3, 3), "erfc": (-3, 3), "erfcx": (-1, 5), "erfinv": (-0.9, 0.9), "erfcinv": (0.1, 1.9),
    "erfi": (-1.5, 1.5), "dawsn": (-4, 4), "ndtr": (-4, 4), "log_ndtr": (-4, 4), "ndtri": (0.05, 0.95),
    "j0": (-9, 9), "j1": (-9, 9), "y0": (0.4, 9), "y1": (0.4, 9), "i0": (-4, 4), "i1": (-4, 4), "i0e": (0.1, 9),
    "i1e": (0.1, 9), "k0": (0.3, 6), "k1": (0.3, 6), "k0e": (0.3, 6), "k1e": (0.3, 6), "expit": (-20, 20),
    "logit": (0.05, 0.95), "log_expit": (-20, 20), "entr": (0.05, 9), "sinc": (0.1, 3), "exp1": (0.1, 5),
    "expi": (0.1, 3),
}  # fmt: skip
# With constant parameters before the argument.
SPECIAL_OF = {
    "polygamma(1, {})": (0.5, 20), "multigammaln({}, 2)": (1.2, 20), "jv(1.5, {})": (0.4, 9), "yv(0.5, {})": (0.4, 9),
    "yn(2, {})": (0.8, 9), "iv(1.5, {})": (0.4, 5), "ive(0.5, {})": (0.4, 5), "kn(2, {})": (0.5, 5),
    "kv(1.5, {})": (0.4, 5), "kve(0.5, {})": (0.4, 5), "gammainc(2.5, {})": (0.2, 8), "gammaincc(1.5, {})": (0.2, 8),
    "gammaincinv(2.5, {})": (0.1, 0.9), "gammainccinv(2.5, {})": (0.1, 0.9), "betainc(2.0, 3.0, {})": (0.1, 0.9),
    "betaincc(2.0, 1.5, {})": (0.1, 0.9), "betaincinv(2.0, 3.0, {})": (0.1, 0.9), "zeta(2.5, {})": (0.5, 9),
    "expn(2, {})": (0.2, 5), "psi({})": (0.4, 30),
}  # fmt: skip
SPECIAL_OF.pop("psi({})")  # digamma by another name
SPECIAL_TWO = {
    "xlogy": ((0.1, 5), (0.1, 9)), "xlog1py": ((0.1, 5), (-0.8, 9)), "rel_entr": ((0.1, 5), (0.1, 5)),
    "kl_div": ((0.1, 5), (0.1, 5)), "beta": ((0.5, 4), (0.5, 4)), "betaln": ((0.5, 4), (0.5, 4)),
}  # fmt: skip
COMPLEX = {
    "sin": 0.0, "cos": 0.0, "tan": 0.0, "sinh": 0.0, "cosh": 0.0, "tanh": 0.0, "exp": 0.0, "expm1": 0.0, "square": 0.0,
    "asin": 0.0, "acos": 0.0, "atan": 0.0, "asinh": 0.0, "atanh": 0.0, "acosh": 2.0, "log": 1.0, "log1p": 0.0,
    "log2": 1.0, "log10": 1.0, "sqrt": 1.0, "reciprocal": 1.0, "abs": 1.0, "sign": 1.0, "negative": None, "conj": None,
    "real": None, "imag": None, "positive": None,
}  # fmt: skip
BINARY = {
    "add": (ANY, ANY), "subtract": (ANY, ANY), "multiply": (ANY, ANY), "divide": (ANY, (0.3, 20)),
    "pow": ((0.3, 3), (-2, 2)), "logaddexp": ((-20, 20), (-20, 20)),
}  # fmt: skip
NUMPY_NAMES = {
    "add",
    "subtract",
    "multiply",
    "divide",
    "sin",
    "cos",
    "tanh",
    "exp",
    "log",
    "sqrt",
    "square",
    "negative",
}
OPERATORS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "pow": "**"}
# These have no longdouble in NumPy: the reference of a program with one runs in double precision.
DOUBLE_ONLY = {"erf", "gammaln", "inv", "solve", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh",
               "eigvalsh", "pinv", "matrix_norm"}  # fmt: skip


def within(g, name, interval):
    """Text for the register `name` with values inside the interval."""
    from .program import inside

    if inside(g.value(name), *interval):
        return name, f"inside({name}, {interval[0]}, {interval[1]})"
    return f"squash(xp, {name}, {interval[0]}, {interval[1]})", "True"


def elementwise_text(g, name):
    """An elementwise function of a register: text, need, the operation's name."""
    value = g.value(name)
    if value.dtype.kind == "c":
        op, centre = g.rng.choice(list(COMPLEX.items()))
        argument = name if centre is None else f"tame(xp, {name}, {centre})"
        return f"xp.{op}({argument})", "True", op
    op = g.rng.choice(list(REAL))
    argument, need = within(g, name, REAL[op])
    space = "np" if op in NUMPY_NAMES and g.rng.random() < 0.3 else "xp"
    return f"{space}.{op}({argument})", need, op


def unary(g):
    text, need, op = elementwise_text(g, g.pick())
    return g.step(f"{{}} = {text}", op, need=need)


def special(g):
    a = g.pick(kinds="f")
    kind = g.rng.random()
    if kind < 0.6:
        op = g.rng.choice(list(SPECIAL))
        argument, need = within(g, a, SPECIAL[op])
        return g.step(f"{{}} = xp.special.{op}({argument})", "special." + op, need=need)
    if kind < 0.85:
        form = g.rng.choice(list(SPECIAL_OF))
        argument, need = within(g, a, SPECIAL_OF[form])
        return g.step(f"{{}} = xp.special.{form.format(argument)}", "special." + form.split("(")[0], need=need)
    op = g.rng.choice(list(SPECIAL_TWO))
    first, need = within(g, a, SPECIAL_TWO[op][0])
    second, need2 = within(g, g.pick(kinds="f", broadcasts_with=a), SPECIAL_TWO[op][1])
    return g.step(f"{{}} = xp.special.{op}({first}, {second})", "special." + op, need=f"{need} and {need2}")


NAMED = frozenset(re.findall(r"\w+", Path(__file__).read_text(encoding="utf-8")))
NEW = catalogue_table.new(NAMED)
TOGETHER = catalogue_table.together(NAMED)
DOUBLE_ONLY |= TOGETHER.keys()  # they may factor matrices


def new(g):
    """Functions of the table that are not named here."""
    op = g.rng.choice(list(NEW))
    register = g.pick(kinds="f", min_ndim=catalogue_table.fewest_axes(op))
    if register is None:
        return None
    argument, need = within(g, register, NEW[op])
    along = catalogue_table.options(g, op, register)
    op = catalogue_table.path(op)
    return g.step(f"{{}} = xp.{op}({argument}{along})", op, need=need)


def together(g):
    """Functions of several arrays that are not named here, each of these a sample's that moves with a register."""
    op = g.rng.choice(list(TOGETHER))
    moved = f"0.05 * xp.sin(xp.sum({g.pick(kinds='f')}))"
    arrays = ", ".join(f"xp.asarray(np.array({array})) + {moved}" for array in TOGETHER[op])
    return g.step(f"{{}} = xp.{catalogue_table.path(op)}({arrays})", op)


def kinked(g):
    """Functions with kinks and steps, away from them."""
    a = g.pick(kinds="f")
    b = g.pick(kinds="f", broadcasts_with=a)
    text, need, op = g.rng.choice([
        ("xp.abs({a})", "far({a}, 0)", "abs"), ("abs({a})", "far({a}, 0)", "abs"),
        ("xp.sign({a})", "far({a}, 0)", "sign"), ("xp.relu({a})", "far({a}, 0)", "relu"),
        ("xp.floor({a})", "offgrid({a})", "floor"), ("xp.ceil({a})", "offgrid({a})", "ceil"),
        ("xp.trunc({a})", "offgrid({a})", "trunc"), ("xp.round({a})", "offgrid({a})", "round"),
        ("xp.clip({a}, -0.5, 0.75)", "far({a}, -0.5, 0.75)", "clip"),
        ("xp.clip({a}, {b}, 0.75)", "far({a}, 0.75) and far({a} - {b}, 0) and far({b}, 0.75)", "clip"),
        ("xp.maximum({a}, {b})", "far({a} - {b}, 0)", "maximum"),
        ("xp.maximum({a}, 0.25)", "far({a}, 0.25)", "maximum"),
        ("xp.minimum({a}, {b})", "far({a} - {b}, 0)", "minimum"),
        ("xp.copysign({a}, {b})", "far({a}, 0) and far({b}, 0)", "copysign"),
        ("xp.remainder({a}, 0.75)", "offgrid({a}, 0.75)", "remainder"),
        ("xp.hypot({a}, {b})", "far(abs({a}) + abs({b}), 0)", "hypot"),
        ("xp.atan2({a}, {b})", "far(abs({a}) + abs({b}), 0) and far({a}, 0)", "atan2"),
        ("xp.where({a} > {b}, {a}, {b} * 2)", "far({a} - {b}, 0)", "where"),
        ("xp.where({a} > 0.1, {b}, 0.5)", "far({a}, 0.1)", "where"),
        ("xp.where({a} < 0, xp.sin({a}), {b})", "far({a}, 0)", "where"),
        ("{a}[{a} > 0]", "far({a}, 0)", "mask"),
    ])  # fmt: skip
    return g.step("{} = " + text.format(a=a, b=b), op, need=need.format(a=a, b=b))


def binary(g):
    a = g.pick()
    b = g.pick(broadcasts_with=a)
    op, intervals = g.rng.choice(list(BINARY.items()))
    first, second, need = a, b, "True"
    if op in ("divide", "pow", "logaddexp"):
        if "c" in g.value(a).dtype.kind + g.value(b).dtype.kind:
            if op == "logaddexp":
                return None
            first = f"tame(xp, {a}, 1.5)" if op == "pow" else a
            second = f"tame(xp, {b}, 1.5)"
            if g.value(a).dtype.kind != "c":
                first = f"squash(xp, {a}, 0.5, 2.0)"
            if g.value(b).dtype.kind != "c":
                second = f"squash(xp, {b}, 0.5, 2.0)"
        else:
            (first, need1), (second, need2) = within(g, a, intervals[0]), within(g, b, intervals[1])
            need = f"{need1} and {need2}"
    if g.rng.random() < 0.25 and op != "logaddexp":
        constant = g.rng.choice(["2", "0.5", "3.0", "-1.5"] if op != "pow" else ["2", "3", "2.0"])
        if op == "pow":
            first = a
            need = "True"
        second = constant
        if g.rng.random() < 0.3 and op not in ("pow", "divide"):
            first, second = second, first
    if op in OPERATORS and g.rng.random() < 0.5:
        return g.step(f"{{}} = {first} {OPERATORS[op]} {second}", op, need=need)
    space = "np" if op in NUMPY_NAMES and g.rng.random() < 0.3 else "xp"
    return g.step(f"{{}} = {space}.{op}({first}, {second})", op, need=need)


def reduction(g):
    a = g.pick()
    axis, real = g.axes(a), g.value(a).dtype.kind == "f"
    one = g.axis(a)
    options = [
        (f"xp.sum({{a}}, axis={axis}{g.keepdims()})", "True", "sum"),
        (f"np.sum({{a}}, axis={axis}{g.keepdims()})", "True", "sum"),
        (f"{{a}}.mean(axis={axis}{g.keepdims()})", "{a}.size > 0", "mean"),
        (f"xp.mean({{a}}, axis={axis}{g.keepdims()})", "{a}.size > 0", "mean"),
        (f"xp.prod({{a}}, axis={axis}{g.keepdims()})", "True", "prod"),
        (f"xp.cumulative_sum({{a}}, axis={one})", "{a}.ndim > 0", "cumulative_sum"),
        (f"xp.cumulative_sum({{a}}, axis={one}, include_initial=True)", "{a}.ndim > 0", "cumulative_sum"),
        (f"xp.cumulative_prod({{a}}, axis={one})", "{a}.ndim > 0", "cumulative_prod"),
        (f"xp.diff({{a}}, axis={one})", "{a}.ndim > 0", "diff"),
        ("xp.norm({a})", "bool(np.sum(np.abs({a})) > 0.2)", "norm"),
        (f"xp.linalg.vector_norm({{a}}, axis={axis}{g.keepdims()})", "far({a}, 0) and {a}.size > 0", "vector_norm"),
        (f"xp.linalg.vector_norm({{a}}, axis={one}, ord=3)", "far({a}, 0) and {a}.size > 0", "vector_norm"),
    ]
    if real:
        options += [
            (f"xp.max({{a}}, axis={one}{g.keepdims()})", f"distinct({{a}}, {one})", "max"),
            (f"xp.min({{a}}, axis={one}{g.keepdims()})", f"distinct({{a}}, {one})", "min"),
            (f"{{a}}.max(axis={one})", f"distinct({{a}}, {one})", "max"),
            (f"xp.var({{a}}, axis={axis}{g.keepdims()})", "{a}.size > 0", "var"),
            (f"xp.var({{a}}, axis={axis}, correction=0.5)", "np.min({a}.shape, initial=9) > 1", "var"),
            (
                f"xp.std({{a}}, axis={axis}{g.keepdims()})",
                f"{{a}}.size > 0 and bool(np.all(np.std({{a}}, axis={axis}) > 0.1))",
                "std",
            ),
            (f"xp.softmax({{a}}, axis={one})", "{a}.ndim > 0 and {a}.size > 0", "softmax"),
            (f"xp.log_softmax({{a}}, axis={one})", "{a}.ndim > 0 and {a}.size > 0", "log_softmax"),
            (f"xp.logsumexp({{a}}, axis={axis}{g.keepdims()})", "{a}.size > 0", "logsumexp"),
            (f"xp.sort({{a}}, axis={one})", f"distinct({{a}}, {one})", "sort"),
            (f"xp.sort({{a}}, axis={one}, descending=True)", f"distinct({{a}}, {one})", "sort"),
        ]  # fmt: skip
    text, need, op = g.rng.choice(options)
    return g.step("{} = " + text.format(a=a), op, need=need.format(a=a))


def shape_change(g):
    a = g.pick()
    value, one, rng = g.value(a), g.axis(a), g.rng
    order = list(range(value.ndim))
    rng.shuffle(order)
    options = [
        (f"xp.reshape({a}, {g.factors(value.size)})", "reshape"), (f"{a}.reshape(-1)", "reshape"),
        (f"{a}.ravel()", "reshape"), (f"{a}.flatten()", "reshape"),
        (f"xp.expand_dims({a}, axis={rng.randint(-value.ndim - 1, value.ndim)})", "expand_dims"),
        (f"xp.permute_dims({a}, {tuple(order)})", "permute_dims"), (f"{a}.transpose()", "permute_dims"),
        (f"{a}[..., None]", "getitem"), (f"xp.flip({a})", "flip"),
        (f"xp.tile({a}, {(rng.randint(1, 2), rng.randint(1, 2))})", "tile"),
        (f"xp.broadcast_to({a}, {(rng.randint(1, 3), *value.shape)})", "broadcast_to"),
        (f"xp.astype({a}, {g.dtype_for(value)})", "astype"),
        (f"xp.pad({a}, {rng.randint(1, 2)})", "pad"), (f"np.pad({a}, 1)", "pad"),
    ]  # fmt: skip
    if 1 in value.shape:
        options += [(f"xp.squeeze({a}, axis={value.shape.index(1)})", "squeeze")] * 3
    if value.ndim:
        options += [
            (f"xp.flip({a}, axis={one})", "flip"), (f"xp.roll({a}, {rng.randint(-3, 3)}, axis={one})", "roll"),
            (f"xp.repeat({a}, {rng.randint(1, 3)}, axis={one})", "repeat"),
            (f"xp.moveaxis({a}, {one}, {g.axis(a)})", "moveaxis"),
            (f"xp.take({a}, np.array({g.indices(value.shape[one or 0])}, dtype=np.int64), axis={one or 0})", "take"),
        ]  # fmt: skip
    if value.ndim >= 2:
        options += [
            (f"xp.matrix_transpose({a})", "matrix_transpose"), (f"{a}.mT", "matrix_transpose"),
            (f"xp.tril({a}, k={rng.randint(-1, 1)})", "tril"), (f"xp.triu({a}, k={rng.randint(-1, 1)})", "triu"),
            (f"xp.linalg.diagonal({a}, offset={rng.randint(-1, 1)})", "diagonal"),
            (f"xp.linalg.trace({a}, offset={rng.randint(-1, 1)})", "trace"),
        ]  # fmt: skip
    if value.dtype.kind == "c":
        options += [(f"xp.real({a})", "real"), (f"{a}.imag", "imag")]
    text, op = rng.choice(options)
    return g.step(f"{{}} = {text}", op)


def indexing(g):
    a = g.pick()
    return g.step(f"{{}} = {a}[{g.key(a)}]", "getitem")


def several(g):
    """Joining and splitting."""
    a = g.pick()
    value, rng = g.value(a), g.rng
    same = g.pick(shape=value.shape)
    if value.ndim == 0 or rng.random() < 0.3:
        return g.step(f"{{}} = xp.stack([{a}, {same}, {a}], axis={rng.randint(-value.ndim - 1, value.ndim)})", "stack")
    one = rng.randrange(value.ndim)
    kind = rng.randrange(5)
    if kind == 0:
        return g.step(f"{{}} = xp.concat([{a}, {same}], axis={one})", "concat")
    if kind == 1:
        return g.step(f"{{}} = xp.concat([{a}, {same}, {a}], axis=None)", "concat")
    if kind == 2 and 1 < value.shape[one] < 4:
        outs = ", ".join(["{}"] * value.shape[one])
        return g.step(f"{outs} = xp.unstack({a}, axis={one})", "unstack", locks=(a,))
    if kind == 3:
        b = g.pick(broadcasts_with=a)
        return g.step(f"{{}}, {{}} = xp.broadcast_arrays({a}, {b})", "broadcast_arrays")
    if value.dtype.kind == "f":
        return g.step(
            f"{{}} = xp.take_along_axis({a}, xp.argsort({a}, axis={one}), axis={one})",
            "take_along_axis",
            need=f"distinct({a}, {one})",
        )
    return None


def products(g):
    a = g.pick(min_ndim=1)
    if a is None:
        return None
    value, rng = g.value(a), g.rng
    n = value.shape[-1]
    right = g.pick(test=lambda v: v.ndim >= 1 and v.shape[-2 if v.ndim > 1 else -1] == n)
    options = [
        (f"xp.vecdot({a}, {g.pick(shape=value.shape)})", "vecdot"),
        (f"xp.linalg.outer(xp.reshape({a}, (-1,)), xp.reshape({g.pick()}, (-1,)))", "outer"),
        (f"xp.matmul({a}, xp.reshape({a}, (-1, {n}))[:2, :].mT)", "matmul"),
        (f"xp.einsum('...i,...i->...', {a}, {g.pick(shape=value.shape)})", "einsum"),
        (f"xp.einsum('i...,i...->i', {a}, {g.pick(shape=value.shape)})", "einsum"),
        (f"xp.tensordot({a}, {g.pick(shape=value.shape)}, axes={rng.randint(0, value.ndim)})", "tensordot"),
    ]
    if right:
        options += [
            (f"xp.matmul({a}, {right})", "matmul"),
            (f"{a} @ {right}", "matmul"),
            (f"np.matmul({a}, {right})", "matmul"),
        ]
    other = g.pick(shape=value.shape)
    if n == 3 and other != a:  # the product with itself is rounding alone
        options += [(f"xp.linalg.cross({a}, {other})", "cross")]
    text, op = rng.choice(options)
    return g.step(f"{{}} = {text}", op)


def matrices(g):
    """Linear algebra on well-conditioned matrices made of a register's elements.

    Vectors whose sign is LAPACK's choice are squared: the sign jumps, of QR where a column needs no reflection.
    """
    a = g.pick(kinds="f")
    size = g.value(a).size
    n = 3 if size >= 9 else 2
    if size < 4:
        return None
    eye = f"1.5 * xp.asarray(np.eye({n}))"
    matrix = f"(squash(xp, xp.reshape({a}, (-1,))[:{n * n}], -0.4, 0.4).reshape(({n}, {n})) + {eye})"
    symmetric = f"({matrix} + {matrix}.mT + xp.asarray(np.diag(np.arange({n}) * 3.0)))"
    b = f"xp.reshape({a}, (-1,))[:{n}]"
    order = g.rng.choice(["2", "'fro'", "'nuc'"])
    text, op = g.rng.choice([
        (f"{{}} = xp.linalg.inv({matrix})", "inv"), (f"{{}} = xp.linalg.det({matrix})", "det"),
        (f"{{}} = xp.linalg.slogdet({matrix})[1]", "slogdet"), (f"{{}} = xp.linalg.solve({matrix}, {b})", "solve"),
        (f"{{}} = xp.linalg.cholesky({symmetric})", "cholesky"),
        (f"{{}} = xp.linalg.eigvalsh({symmetric})", "eigvalsh"),
        (f"{{}} = xp.square(xp.linalg.eigh({symmetric})[1])", "eigh"),
        (f"{{}} = xp.linalg.svdvals({symmetric})", "svdvals"),
        (f"{{}} = xp.square(xp.linalg.svd({symmetric})[0])", "svd"),
        (f"{{}} = xp.square(xp.linalg.qr({matrix})[0])", "qr"),
        (f"{{}} = xp.square(xp.linalg.qr({matrix})[1])", "qr"),
        (f"{{}} = xp.linalg.pinv({matrix}[:, :{n - 1}])", "pinv"),
        (f"{{}} = xp.linalg.matrix_power({matrix}, {g.rng.choice([0, 2, 3, -2])})", "matrix_power"),
        (f"{{}} = xp.linalg.matrix_norm({symmetric}, ord={order})", "matrix_norm"),
    ])  # fmt: skip
    return g.step(text, op, double=True)


def fourier(g):
    a = g.pick(min_ndim=1, test=lambda v: v.size > 0)
    if a is None:
        return None
    value, rng = g.value(a), g.rng
    one, norm = g.axis(a), f", norm={rng.choice(['backward', 'ortho', 'forward'])!r}"
    n = rng.choice(["", f", n={rng.randint(1, 5)}"])
    options = [(f"xp.fft.{op}({a}, axis={one}{n}{norm})", op) for op in ("fft", "ifft")]
    options += [(f"xp.fft.{op}({a}{norm})", op) for op in ("fftn", "ifftn")]
    options += [(f"xp.fft.{op}({a}, axes={one})", op) for op in ("fftshift", "ifftshift")]
    if value.dtype.kind == "f":
        options += [(f"xp.fft.{op}({a}, axis={one}{n}{norm})", op) for op in ("rfft", "ihfft")]
        options += [(f"xp.fft.rfftn({a}{norm})", "rfftn")]
    else:
        options += [(f"xp.fft.{op}({a}, axis={one}{n}{norm})", op) for op in ("irfft", "hfft")]
        options += [(f"xp.fft.irfftn({a}{norm})", "irfftn")]
    text, op = rng.choice(options)
    return g.step(f"{{}} = {text}", op)


def numpy_names(g):
    """NumPy's own names for what the standard spells otherwise, and views of its own."""
    a = g.pick(min_ndim=1)
    if a is None:
        return None
    value, one, rng = g.value(a), g.axis(a), g.rng
    options = [
        (f"np.concatenate([{a}, {a}], axis={one})", "concat"), (f"np.stack([{a}, {a}], axis={one})", "stack"),
        (f"np.cumsum({a}, axis={one})", "cumulative_sum"), (f"np.prod({a}, axis={one})", "prod"),
        (f"np.moveaxis({a}, {one}, 0)", "moveaxis"), (f"np.swapaxes({a}, {one}, 0)", "permute_dims"),
        (f"np.where(np.array({(g.numbers.random(value.shape) < 0.5).tolist()}, dtype=bool), {a}, 0.5)", "where"),
        (f"np.linalg.norm(xp.reshape({a}, (-1,)))", "vector_norm"), (f"np.expand_dims({a}, 0)", "expand_dims"),
        (f"np.tensordot({a}, {a}, axes={value.ndim})", "tensordot"), (f"np.roll({a}, 1)", "roll"),
        (f"np.repeat({a}, 2)", "repeat"), (f"np.mean({a}, axis={one}, keepdims=True)", "mean"),
        (f"np.power({a}, 2)", "pow"), (f"np.einsum('...i->...', {a})", "einsum"),
        (f"xp.einsum('...i->i...', {a})", "einsum"), (f"xp.diff({a}, axis={one}, n=2)", "diff"),
        (f"xp.meshgrid({a}[..., 0].reshape(-1), {a}.reshape(-1)[:3])[{rng.randint(0, 1)}]", "meshgrid"),
        (f"xp.full_like({a}, 0.5) * {a}", "full_like"), (f"-{a}", "negative"), (f"{a}.copy()", "copy"),
    ]  # fmt: skip
    if not value.size and any(w in "".join(o[0] for o in options[-5:]) for w in ("meshgrid",)):
        options = options[:-5]
    text, op = rng.choice(options)
    need = f"bool(np.sum(np.abs({a})) > 0.2)" if op == "vector_norm" else f"{a}.size > 0"
    return g.step(f"{{}} = {text}", op, need=need)


def piecewise(g):
    """Indexing with an integer array and a mask at once, and scattered reads of a long register."""
    a = g.pick(min_ndim=1, test=lambda v: v.size > 0)
    if a is None:
        return None
    length = g.value(a).shape[0]
    rows = g.indices(length)
    text = g.rng.choice([
        f"{a}[np.array({rows}, dtype=np.int64)]", f"{a}[np.array([{rows}, {rows}], dtype=np.int64)]",
        f"{a}.reshape(-1)[::-1]", f"{a}.reshape(-1)[1::2][::-1]", f"{a}[::-1][{g.rng.randint(0, length - 1)}, ...]",
        f"{a}[-1:, ...]", f"{a}[..., ::2]",
    ])  # fmt: skip
    return g.step(f"{{}} = {text}", "getitem")


def complex_parts(g):
    """To complex numbers and back."""
    a = g.pick(kinds="f")
    b = g.pick(kinds="f", broadcasts_with=a)
    if g.value(b).ndim == 0 and g.value(b).dtype != g.value(a).dtype:
        return None  # 1j * numpy.float64(x) is Python's complex in NumPy, which gives way to single precision
    text = g.rng.choice([f"{a} + 1j * {b}", f"xp.exp(1j * squash(xp, {a}, -3, 3))", f"{a} * (0.5 - 0.25j)"])
    return g.step(f"{{}} = {text}", "multiply")


# -- what is not an operation: writes, graph and hooks ---------------------------------------------------------------


def write(g):
    """Into part of a register, with whatever is a view of it."""
    t = g.writable()
    if t is None:
        return None
    value, rng = g.value(t), g.rng
    key = g.key(t, unique=True) if rng.random() < 0.8 else None
    place = f"{t}[{key}]" if key else t
    part = g.part(t, key)
    source = g.pick(kinds="f" if value.dtype.kind == "f" else "fc", test=lambda v: g.fits(v.shape, part.shape))
    choice = source if source and rng.random() < 0.8 else rng.choice(["0.5", "-1.25", "2"])
    if choice == source and rng.random() < 0.3:
        choice = f"({source} * 0.5)"
    operation = rng.choice(["=", "=", "+=", "-=", "*=", "/="])
    need = "True"
    if operation == "/=":
        choice = choice if choice != source else f"(1.5 + xp.square({source}))"
        need = "True" if "xp" in choice else ("True" if choice in ("0.5", "-1.25", "2") else f"far({source}, 0)")
    if operation == "=" and key is None:
        place = f"{t}[...]"
    mask = ""
    if key and operation == "=" and value.dtype.kind == "f" and rng.random() < 0.15:
        place, mask, choice = f"{t}[{t} > 0.2]", f"far({t}, 0.2)", rng.choice(["0.5", "-0.25"])
    return g.step(f"{place} {operation} {choice}", "setitem" if key else "inplace", need=mask or need, writes=t)


def write_out(g):
    """A ufunc's `out=`."""
    t = g.writable()
    if t is None:
        return None
    value = g.value(t)
    kinds = "f" if value.dtype.kind == "f" else "fc"
    a = g.pick(kinds=kinds, test=lambda v: g.fits(v.shape, value.shape) and v.dtype <= value.dtype)
    if a is None:
        return None
    text, op = g.rng.choice([
        (f"np.multiply({a}, {t}, out={t})", "multiply"), (f"np.add({t}, {a}, out={t})", "add"),
        (f"np.sin({a}, out={t})", "sin"), (f"np.subtract({a}, 0.5, out={t})", "subtract"),
    ])  # fmt: skip
    return g.step(text, op, "out", writes=t)


def write_chain(g):
    """A view of a view, written in the statement that makes it."""
    t = g.writable()
    if t is None or g.value(t).ndim == 0 or g.value(t).size == 0:
        return None
    first = g.rng.choice([":", "::-1", "::2", "1:", ":2", "-1:"])
    second = g.rng.choice(["[0:1]", ".reshape(-1)[:1]", ".mT[..., :1]", "[..., None]", "[::-1]", ".T"])
    if "mT" in second and g.value(t).ndim < 2:
        second = ".T"
    if "reshape" in second and not (g.value(t).flags.c_contiguous and first in (":", "1:", ":2", "-1:")):
        second = "[..., None]"
    value = g.rng.choice(["= 0.5", "*= 2", "+= 0.25", f"*= {g.pick(kinds='f', test=lambda v: v.ndim == 0) or 1.5}"])
    return g.step(f"view = {t}[{first}]{second}\nview[...] {value}", "setitem", "view", writes=t)


def several_checkpointed(g):
    """A checkpointed function with writes in place of its own."""
    a = g.pick(test=lambda v: v.ndim > 0 and v.shape[0] > 0)
    if a is None:
        return None
    text, need, op = elementwise_text(g, a)
    body = f"(lambda t: (t.__setitem__(0, t[-1] * 0.5), t)[1])({text} * 1)"
    return g.step(f"{{}} = checkpoint(lambda {a}: {body})({a})", op, "checkpoint", "setitem", need=need)


def stopped(g):
    a = g.pick()
    if g.rng.random() < 0.5:
        return g.step(f"{{}} = detach({a})", "detach", locks=(a,))
    text, need, op = elementwise_text(g, a)
    return g.step(f"{{}} = frozen(lambda: {text})", "no_grad", op, need=need, locks=(a,))


def hooked(g):
    text, need, op = elementwise_text(g, g.pick())
    if op in ("positive", "real", "imag", "conj"):
        return None
    made = g.step(f"{{}} = {text}", op, need=need)
    if not g.attempt(made):
        return None
    name = g.rng.choice(["hook", "node_hook"])
    return g.step(f"{name}({made.outs[0]}, {g.rng.choice([0.5, 2.0, -1.0])})", name)


def checkpointed(g):
    a = g.pick()
    text, need, op = elementwise_text(g, a)
    b = g.pick(broadcasts_with=a)
    if g.rng.random() < 0.5:
        return g.step(f"{{}} = checkpoint(lambda {a}: {text} * {a})({a})", op, "checkpoint", need=need)
    return g.step(f"{{}} = checkpoint(lambda {a}, {b}_: {text} + {b}_ * {a})({a}, {b})", op, "checkpoint", need=need)


def custom(g):
    a = g.pick()
    b = g.pick(broadcasts_with=a)
    kind = g.rng.randrange(5)
    if kind == 0:
        return g.step(f"{{}} = Cube({a})", "Function")
    if kind == 1:
        return g.step(f"{{}}, {{}} = Mix(tame(xp, {a}), {b})", "Function") if g.value(a).dtype.kind == "c" else g.step(
            f"{{}}, {{}} = Mix({a}, {b})", "Function")  # fmt: skip
    if kind == 2 and g.value(a).dtype.kind == "f":
        return g.step(f"{{}} = Straight({a})", "Function", need=f"offgrid({a})")
    if kind == 3:
        t = g.writable(views=False)
        if t is not None:
            return g.step(f"{t} = Double_({t})", "Function", writes=t)
    return g.step(f"{{}} = Cube({a} * 0.5)", "Function")


ENTRIES = [
    (unary, 8), (special, 3), (kinked, 5), (binary, 10), (reduction, 7), (shape_change, 7), (indexing, 6), (several, 4),
    (products, 5), (matrices, 2), (fourier, 2), (complex_parts, 1), (numpy_names, 3), (piecewise, 2), (write_chain, 3),
    (several_checkpointed, 1), (write, 10), (write_out, 2), (stopped, 2), (hooked, 2), (checkpointed, 2), (custom, 3),
]  # fmt: skip
ENTRIES += catalogue_numpy.ENTRIES
ENTRIES += [(new, 3)] if NEW else []
ENTRIES += [(together, 3)] if TOGETHER else []
__all__ = ["DOUBLE_ONLY", "ENTRIES", "NAMED", "NEW", "TOGETHER", "Step"]
