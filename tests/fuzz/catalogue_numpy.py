"""More that programs may do: NumPy's own functions and operands on Tensors. Imports nothing of arraygrad.

Entries as those of `catalogue`, which holds them.
"""


def elements(g):
    """NumPy's names for what has no name of its own in the standard: of real and complex arrays."""
    a = g.pick(min_ndim=1, test=lambda v: v.size > 0)
    if a is None:
        return None
    value, one, rng = g.value(a), g.axis(a), g.rng
    n = value.shape[one]
    flat = f"{a}.reshape(-1)"
    options = [
        (f"np.inner({flat}, {flat})", "inner"), (f"np.outer({flat}[:3], {flat})", "outer"),
        (f"np.dot({flat}, {flat} * 0.5)", "dot"), (f"np.kron({flat}[:2], {flat}[:3])", "kron"),
        (f"np.vstack([{a}, {a}])", "vstack"), (f"np.hstack([{a}, {a} * 2])", "hstack"),
        (f"np.dstack([{a}, {a}])", "dstack"), (f"np.column_stack([{flat}, {flat}])", "column_stack"),
        (f"np.split({a}, [1], axis={one})[{rng.randint(0, 1)}] * 1", "split"),
        (f"np.array_split({a}, 2, axis={one})[0] * 1", "array_split"),
        (f"np.cumprod({a}, axis={one})", "cumprod"), (f"np.flip({a}, axis={one}) * 1", "flip"),
        (f"np.fliplr({a}) * 1", "fliplr"), (f"np.rot90({a}) * 1", "rot90"), (f"np.tril({a})", "tril"),
        (f"np.trace({a})", "trace"), (f"np.diagonal({a}) * 1", "diagonal"), (f"np.diag({flat}[:4])", "diag"),
        (f"np.average({a}, axis={one}, weights=np.arange(1.0, {n + 1}))", "average"),
        (f"np.append({a}, {a}[..., :1])", "append"), (f"np.insert({flat}, 1, 0.5)", "insert"),
        (f"np.delete({a}, {rng.randrange(n)}, axis={one})", "delete"),
        (f"np.convolve({flat}, {flat}[:2])", "convolve"), (f"np.polyval({flat}[:3], {flat} * 0.25)", "polyval"),
        (f"np.gradient({flat})", "gradient"), (f"np.nansum({a}, axis={one})", "nansum"),
        (f"np.add.reduce({a}, axis={one})", "add.reduce"), (f"np.resize({a}, (3, 2))", "resize"),
        (f"np.compress({[rng.random() < 0.6 for _ in range(n)]}, {a}, axis={one})", "compress"),
        (f"np.select([np.array({[rng.random() < 0.5 for _ in range(value.shape[-1])]})], [{a}], 0.5)", "select"),
        (f"np.block([{flat}, {flat}[::2]])", "block"), (f"np.atleast_3d({a}) * 1", "atleast_3d"),
        (f"np.ediff1d({a})", "ediff1d"), (f"np.trapezoid({a}, axis={one})", "trapezoid"),
        (f"np.nan_to_num({a})", "nan_to_num"), (f"np.cross({flat}[:3], {flat}[-3:])", "cross"),
    ]  # fmt: skip
    if value.size < 3:
        options.pop()  # the product of two dimensions is deprecated
    text, op = rng.choice(options)
    return g.step(f"{{}} = {text}", "np." + op)


def ordered(g):
    """Of real arrays, where the order of elements or a kink matters."""
    a = g.pick(kinds="f", test=lambda v: v.size > 1 and v.ndim > 0)
    if a is None:
        return None
    one = g.axis(a)
    text, need, op = g.rng.choice([
        ("np.max({a}, axis={one})", "distinct({a}, {one})", "max"), ("np.ptp({a})", "distinct({a}, None)", "ptp"),
        ("np.median({a}, axis={one})", "distinct({a}, {one})", "median"),
        ("np.percentile({a}, 40.0, axis={one})", "distinct({a}, {one})", "percentile"),
        ("np.take(np.partition({a}, 1, axis={one}), [1], axis={one})", "distinct({a}, {one})", "partition"),
        ("np.clip({a}, -0.5, 0.5)", "far({a}, -0.5, 0.5)", "clip"), ("np.fmax({a}, 0.2)", "far({a}, 0.2)", "fmax"),
        ("np.fabs({a})", "far({a}, 0)", "fabs"), ("np.var({a}, axis={one}, ddof=0)", "True", "var"),
        ("np.heaviside({a}, 0.5) * {a}", "far({a}, 0)", "heaviside"), ("np.sinc({a})", "far({a}, 0)", "sinc"),
        ("np.exp2(squash(xp, {a}, -5, 5))", "True", "exp2"), ("np.deg2rad({a})", "True", "deg2rad"),
        ("np.cbrt(squash(xp, {a}, 0.2, 8))", "True", "cbrt"),
        ("np.logaddexp2({a} * 0.1, 0.5)", "True", "logaddexp2"), ("np.hypot({a}, 0.5)", "True", "hypot"),
        ("np.modf({a})[0]", "offgrid({a})", "modf"), ("np.fmod({a}, 0.75)", "offgrid({a}, 0.75)", "fmod"),
        ("np.interp({a}, np.array([-3.0, 0.0, 2.0]), np.array([1.0, -1.0, 0.5]))", "far({a}, -3, 0, 2)", "interp"),
        ("np.piecewise({a}, [{a} < 0.1], [np.sin, np.cos])", "far({a}, 0.1)", "piecewise"),
    ])  # fmt: skip
    return g.step(
        "{} = " + text.format(a=a, one=one), "np." + op, need=need.format(a=a, one=one), double=op == "interp"
    )


def whole_numbers(g):
    """With integer and boolean arrays, Python's numbers and NumPy's scalars as the other operand, on either side."""
    a = g.pick()
    value, rng = g.value(a), g.rng
    shape = value.shape[rng.randint(0, value.ndim) :]
    numbers = g.numbers.integers(1, 4, shape).tolist()
    other = rng.choice([
        f"np.array({numbers}, dtype=np.int64)", f"np.array({numbers}, dtype=np.float64)", f"np.array({numbers})",
        "3", "True", "np.int64(2)", "np.float64(0.5)", "(np.array(2) > 1)",
    ])  # fmt: skip
    text, op = rng.choice([
        ("{a} * {o}", "multiply"), ("{o} * {a}", "multiply"), ("{o} - {a}", "subtract"), ("{a} / {o}", "divide"),
        ("{a} + {o}", "add"), ("np.multiply({o}, {a})", "multiply"), ("np.add({a}, {o})", "add"),
    ])  # fmt: skip
    return g.step("{} = " + text.format(a=a, o=other), op)


def everyday(g):
    """Python's own words for it: built-in functions, loops over elements, lists as operands."""
    a = g.pick(min_ndim=1, test=lambda v: v.size > 0)
    if a is None:
        return None
    value, rng = g.value(a), g.rng
    flat, n = f"{a}.reshape(-1)", value.shape[-1]
    numbers = [round(rng.uniform(-2.0, 2.0), 2) for _ in range(n)]
    options = [
        (f"sum({a})", "True"), (f"sum([e * 0.5 for e in {a}], 1.0)", "True"), (f"{a} + {numbers}", "True"),
        (f"{numbers} * {a}", "True"), (f"{tuple(numbers)} - {a}", "True"), (f"{a} @ {numbers}", "True"),
        (f"np.stack([e * 2 for e in {a}])", "True"), (f"running(xp, {flat}[:4])", f"{a}.size > 1"),
        (f"abs({a}[-1])", f"far(np.abs({a}), 0)"), (f"pow({a}, 2)", "True"), (f"{a}[0] if True else {a}[-1]", "True"),
        (f"[*{a}][0] * 2", "True"), (f"dict(enumerate({a}))[0] * 2", "True"),
        (f"{a} * {a}[{a} != None].size", "True"), (f"({a} == {numbers}) * {a}", f"far({a} - np.array({numbers}), 0)"),
    ]  # fmt: skip
    if value.dtype.kind == "f":
        options += [
            (f"min({flat})", f"distinct({a}, None)"), (f"max({flat})", f"distinct({a}, None)"),
            (f"sorted({flat})[{rng.randrange(value.size)}]", f"distinct({a}, None)"),
            (f"divmod({a}, 0.75)[1]", f"offgrid({a}, 0.75)"),
            (f"({a} > {numbers}) * {a}", f"far({a} - np.array({numbers}), 0)"),
            (f"round({flat}[0] * 1) * {a}", f"offgrid({flat}[0] + 0.5, 1.0) and offgrid({flat}[0], 0.5)"),
        ]  # fmt: skip
    text, need = rng.choice(options)
    return g.step(f"{{}} = {text}", "everyday", need=need)


def kept(g):
    """A scalar that one name keeps while an in-place operator moves another on."""
    a = g.pick(test=lambda v: v.ndim > 0 and v.size > 0)
    if a is None:
        return None
    kinds = "f" if g.value(a).dtype.kind == "f" else "fc"
    by = g.rng.choice(["0.5", "2", g.pick(kinds=kinds, test=lambda v: v.ndim == 0) or "1.25"])
    value = g.rng.choice(
        [f"xp.sum({a})", f"{a}.reshape(-1)[0]", f"np.mean({a})", f"np.dot({a}.reshape(-1), {a}.reshape(-1))"]
    )
    return g.step(f"{{}}, {{}} = kept({value}, {by})", "kept")


ENTRIES = [(elements, 4), (ordered, 2), (whole_numbers, 3), (everyday, 4), (kept, 2)]
