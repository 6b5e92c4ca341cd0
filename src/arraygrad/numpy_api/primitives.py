"""NumPy's functions beyond the table that are recorded as one node: their rules, and what is served of them.

May import: core.numpy_primitives, backends.numpy.ufunc_calls, ops, numpy_api.plainly, numpy_api.primitive_rules,
numpy_api.polynomial_rules, numpy_api.primitive_statistics, numpy. Note [NumPy primitives] in core/numpy_primitives.pyx
says how they are called.

Two lists: ALIASES are operations of the table under other names and parameters; the others have rules of their own,
which stand in `primitive_rules` and `primitive_statistics` by chapter and are written as those of the table: their
parameters say what they get. A signature names what is served of NumPy's parameters. What is not served is composed of
operations by the other modules of this room.
"""

import numpy

from arraygrad.backends.numpy.ufunc_calls import by_loop
from arraygrad.core.numpy_primitives import make_primitive
from arraygrad.numpy_api import polynomial_rules
from arraygrad.numpy_api import primitive_rules as rules
from arraygrad.numpy_api import primitive_statistics as statistics
from arraygrad.numpy_api.plainly import implementation
from arraygrad.ops import OPS, Entry

__all__ = ["fft_functions", "functions", "scipy_functions"]

_ALL = "fdFD"
_BY_LOOP = frozenset("modf frexp divmod ldexp".split())  # ufuncs whose loops are called directly
_INT = (int,)
_COUNT = (int, type(None))


def _found(name):
    owner, _, last = name.rpartition(".")
    return getattr(getattr(numpy, owner) if owner else numpy, last, None)


# -- operations of the table under other names -------------------------------------------------------------------------

# name in NumPy: parameters, operation, where its parameters come from, (options)
ALIASES = {
    "rollaxis": ("a, /, axis", "moveaxis", (0, (1, _INT), (0,)), {"dtypes": _ALL}),
    "cumsum": ("a, /, axis", "cumulative_sum", (0, (1, _INT), (None,), (False,)), {"dtypes": _ALL}),
    "cumprod": ("a, /, axis", "cumulative_prod", (0, (1, _INT), (None,), (False,)), {"dtypes": _ALL}),
    "sort": ("a, /, axis=-1", "sort", (0, (1, _INT), (False,), (False,))),
    "tril": ("m, /, k=0", "tril", (0, (1, _INT)), {"dtypes": _ALL}),
    "triu": ("m, /, k=0", "triu", (0, (1, _INT)), {"dtypes": _ALL}),
    "diff": ("a, /, n=1, axis=-1", "diff", (0, (2, _INT), (1, _INT), (None,), (None,)), {"dtypes": _ALL}),
    "roll": ("a, /, shift, axis=None", "roll", (0, (1, _INT), (2, _COUNT)), {"dtypes": _ALL}),
    "tile": ("A, /, reps", "tile", (0, (1, (tuple,))), {"dtypes": _ALL}),
    "linspace": (
        "start, stop, /, num=50, endpoint=True",
        "linspace",
        (0, 1, (2, _INT), (None,), (None,), (3, (bool,))),
        {"ndims": (0, 0)},
    ),
    "clip": ("a, /, a_min, a_max", "clip", (0, (1, (float, int)), (2, (float, int)))),
    "angle": ("z, /", "_angle_of_real", (0,)),
    "concatenate": ("arrays, /, axis=0", "concat", (0, (1, _INT)), {"dtypes": _ALL, "sequence": "arrays"}),
    "stack": ("arrays, /, axis=0", "stack", (0, (1, _INT)), {"dtypes": _ALL, "sequence": "arrays"}),
    "where": ("condition, x, y, /", "where", (0, 1, 2), {"dtypes": _ALL, "mask": 0}),
    "take": ("a, /, indices, axis", "take", (0, (1, (numpy.ndarray,)), (2, _INT)), {"dtypes": _ALL}),
    "tensordot": ("a, b, /, axes=2", "tensordot", (0, 1, (2, (int, tuple, list))), {"dtypes": _ALL}),
    "cross": ("a, b, /", "cross", (0, 1, (-1,)), {"dtypes": _ALL, "last": 3}),
    "trace": ("a, /", "trace", (0, (0,), (None,)), {"dtypes": _ALL, "ndims": (2,)}),
    "outer": ("a, b, /", "outer", (0, 1), {"dtypes": _ALL, "ndims": (1, 1)}),
    "vdot": ("a, b, /", "vecdot", (0, 1, (-1,)), {"ndims": (1, 1)}),
    "vecdot": ("x1, x2, /", "vecdot", (0, 1, (-1,)), {"ndims": (1, 1)}),
    "inner": ("a, b, /", "_inner", (0, 1), {"dtypes": _ALL, "ndims": (2, 2)}),
    "linalg.inv": ("a, /", "inv", (0,), {"dtypes": _ALL}),
    "linalg.det": ("a, /", "det", (0,), {"dtypes": _ALL}),
    "linalg.slogdet": ("a, /", "slogdet", (0,), {"dtypes": _ALL}),
    "linalg.cholesky": ("a, /", "cholesky", (0, (False,)), {"dtypes": _ALL}),
    "linalg.eigh": ("a, /", "eigh", (0,), {"dtypes": _ALL}),
    "linalg.eigvalsh": ("a, /", "eigvalsh", (0,), {"dtypes": _ALL}),
    "linalg.eig": ("a, /", "eig", (0,), {"dtypes": "FD"}),
    "linalg.eigvals": ("a, /", "eigvals", (0,), {"dtypes": "FD"}),
    "linalg.svdvals": ("x, /", "svdvals", (0,), {"dtypes": _ALL}),
    "linalg.qr": ("a, /", "qr", (0, ("reduced",)), {"dtypes": _ALL}),
    "linalg.solve": ("a, b, /", "solve", (0, 1), {"dtypes": _ALL}),
    "linalg.pinv": ("a, /", "pinv", (0, (1e-15,)), {"dtypes": _ALL}),
    "linalg.matrix_power": ("a, /, n", "matrix_power", (0, (1, _INT)), {"dtypes": _ALL}),
}

_NORM = (str,)
_AXES = (tuple, list, type(None))  # an array of them would be taken for an operand
_ONE = ("a, /, n=None, axis=-1, norm='backward'", (0, (1, _COUNT), (2, _INT), (3, _NORM)))
_MANY = (
    "a, /, s=None, axes=None, norm='backward'",
    (0, (1, (type(None),)), (2, _AXES), (3, _NORM)),  # lengths are checked
)
_PLANE = ("a, /, s=None, *, norm='backward'", (0, (1, _AXES), ((-2, -1),), (2, _NORM)))
_OTHER_PLANE = (
    "a, /, s=None, axes=0, norm='backward'",
    (0, (1, _AXES), (2, (tuple,)), (3, _NORM)),
)  # where axes are given
FFT_ALIASES = {
    **{name: (_ONE[0], name, _ONE[1]) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{name: (_MANY[0], name, _MANY[1]) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"{name[:-1]}2": (_PLANE[0], name, _PLANE[1]) for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{name: ("x, /, axes=None", name, (0, (1, (int, *_AXES)))) for name in ("fftshift", "ifftshift")},
}


def _alias(function, name, signature, target, places, settle, options):
    fields = {key: options[key] for key in ("sequence",) if key in options}
    options = {key: value for key, value in options.items() if key not in fields}
    entry = Entry(f"numpy.{name}", signature, OPS[target].kind, {}, **fields)
    return make_primitive(
        entry, function, numpy.ndarray, numpy.generic, target=OPS[target], places=places, settle=settle, **options
    )


# -- functions with rules of their own ---------------------------------------------------------------------------------

_REDUCED = "a, axis=None, *, keepdims=False"
_SPREAD = "a, axis=None, *, ddof=0, keepdims=False"
_QUANTILE = "a, q, axis=None, *, keepdims=False"

# name in NumPy: parameters, (kind, core axes, derivative, (how axes are counted)) as in ops/kinds.py, rules, (options)
OWN = {
    # ufuncs
    "heaviside": ("x1, x2, /", ("elementwise", "", "nonlinear"), {"x1": rules.none, "x2": rules.heaviside_x2}),
    "ldexp": ("x1, x2, /", ("elementwise", "", "nonlinear"), {"x1": rules.ldexp_x1}),
    "modf": ("x, /", ("elementwise", "()->(),()", "nonlinear"), {"x": rules.modf}, {"results": ("*",)}),
    "divmod": (
        "x1, x2, /",
        ("elementwise", "(),()->(),()", "nonlinear"),
        {"x1": rules.divmod_x1, "x2": rules.divmod_x2},
        {"results": ("*",)},
    ),
    "frexp": (
        "x, /",
        ("elementwise", "()->(),()", "nonlinear"),
        {"x": rules.frexp},
        {"results": ("*",), "any_result": True},
    ),
    # complex numbers; those of real ones are an operation
    "angle": (
        "z, /",
        ("elementwise", "", "nonlinear"),
        {"z": rules.angle},
        {"dtypes": "FD", "any_result": True},
    ),
    # reductions that leave out nan
    "nansum": (_REDUCED, ("reduction", "(n*)->()", "nonlinear"), {"a": statistics.nansum}),
    "nanmean": (
        _REDUCED,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanmean},
    ),
    "nanmax": (
        _REDUCED,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanextremum},
    ),
    "nanmin": (
        _REDUCED,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanextremum},
    ),
    "nanvar": (
        _SPREAD,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanvar},
        {"numbers": (2,)},
    ),
    "nanstd": (
        _SPREAD,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanstd},
        {"numbers": (2,)},
    ),
    "nanprod": (
        _REDUCED,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanprod},
    ),
    "nancumsum": (
        "a, axis=None",
        ("scan", "(n)->(n)", "nonlinear"),
        {"a": statistics.nancumsum},
    ),
    "nancumprod": (
        "a, axis=None",
        ("scan", "(n)->(n)", "nonlinear"),
        {"a": statistics.nancumprod},
    ),
    "nan_to_num": (
        "x, /, *, nan=0.0, posinf=None, neginf=None",
        ("elementwise", "", "nonlinear"),
        {"x": statistics.nan_to_num},
    ),
    # order statistics
    "median": (_REDUCED, ("reduction", "(n*)->()", "nonlinear"), {"a": statistics.median}),
    "nanmedian": (
        _REDUCED,
        ("reduction", "(n*)->()", "nonlinear"),
        {"a": statistics.nanmedian},
    ),
    "quantile": (
        _QUANTILE,
        ("reduction", "(n*),(q*)->^(*q)", "nonlinear"),
        {"a": statistics.quantile},
    ),
    "percentile": (
        _QUANTILE,
        ("reduction", "(n*),(q*)->^(*q)", "nonlinear"),
        {"a": statistics.percentile},
    ),
    "nanquantile": (
        _QUANTILE,
        ("reduction", "(n*),(q*)->^(*q)", "nonlinear"),
        {"a": statistics.nanquantile},
        {"function": statistics.nanquantile_of},
    ),
    "nanpercentile": (
        _QUANTILE,
        ("reduction", "(n*),(q*)->^(*q)", "nonlinear"),
        {"a": statistics.nanpercentile},
        {"function": statistics.nanpercentile_of},
    ),
    "partition": (
        "a, kth, axis=-1",
        ("scan", "(n)->(n)", "nonlinear"),
        {"a": statistics.partition},
        {"function": statistics.partition_of, "numbers": (1, 2)},
    ),
    "bincount": (
        "x, weights, minlength=0",
        ("scatter", "x(n),weights(n)->(?)", "linear"),
        {"weights": statistics.bincount},
        {"any_result": True},
    ),
    # rearrangements
    "full_like": (
        "a, fill_value",
        ("creation", "a(n*),fill_value()->(*n)", "linear"),
        {"fill_value": lambda g: g},
        {"ndims": (0,), "dtypes": _ALL},
    ),
    "delete": ("a, obj, axis=None", ("gather", "(n)->(?)", "linear"), {"a": rules.delete}),
    "resize": (
        "a, new_shape",
        ("gather", "(n*)->(*sized(new_shape))", "linear"),
        {"a": rules.resize},
    ),
    "insert": (
        "a, obj, values, axis=None",
        ("join", "(n)->(?)", "linear"),
        {"a": rules.insert_a, "values": rules.insert_values},
    ),
    "append": (
        "a, values, axis=None",
        ("join", "(m),(n)->(m+n)", "linear", "equal"),
        {"a": rules.append_a, "values": rules.append_values},
    ),
    "diag": (
        "v, k=0",
        ("scatter", "(n)->(n+abs(k),n+abs(k))", "linear"),
        {"v": rules.diag},
        {"ndims": (1,), "numbers": (1,)},
    ),
    "diagflat": (
        "v, k=0",
        ("scatter", "(n*)->(prod(n)+abs(k),prod(n)+abs(k))", "linear"),
        {"v": rules.diagflat},
        {"numbers": (1,)},
    ),
    "compress": (
        "condition, a, axis=None",
        ("gather", "a(n)->(?)", "linear"),
        {"a": rules.compress},
    ),
    "extract": (
        "condition, arr",
        ("gather", "arr(n*)->(?)", "linear"),
        {"arr": rules.extract},
    ),
    "select": (
        "condlist, choicelist, default=0",
        ("elementwise", "condlist[()],choicelist[()]->()", "linear"),
        {"choicelist": rules.select},
        {"sequence": "choicelist", "numbers": (2,)},
    ),
    "choose": (
        "a, choices",
        ("elementwise", "a(),choices[()]->()", "linear"),
        {"choices": rules.choose},
        {"sequence": "choices"},
    ),
    "block": (
        "arrays",
        ("join", "[...]->?", "linear"),
        {"arrays": rules.block},
        {"sequence": "arrays"},
    ),
    "vstack": (
        "arrays",
        ("join", "[...]->?", "linear"),
        {"arrays": rules.vstack},
        {"sequence": "arrays"},
    ),
    "hstack": (
        "arrays",
        ("join", "[...]->?", "linear"),
        {"arrays": rules.hstack},
        {"sequence": "arrays"},
    ),
    "dstack": (
        "arrays",
        ("join", "[...]->?", "linear"),
        {"arrays": rules.dstack},
        {"sequence": "arrays"},
    ),
    "column_stack": (
        "arrays",
        ("join", "[...]->?", "linear"),
        {"arrays": rules.column_stack},
        {"sequence": "arrays"},
    ),
    "ediff1d": (
        "a",
        ("core", "(n*)->(max(prod(n)-1,0))", "linear"),
        {"a": rules.ediff1d},
    ),
    "vander": (
        "x, N=None, increasing=False",
        ("core", "(n)->(n,n if N is None else N)", "nonlinear"),
        {"x": rules.vander},
        {"ndims": (1,), "any_result": True},
    ),
    # calculus
    "gradient": (
        "f, h=1.0, /, *, axis=None",
        ("core", "(n)->(n)", "linear"),
        {"f": rules.gradient},
        {"ndims": (1,), "numbers": (1,)},
    ),
    "interp": (
        "x, knots, values, /",
        ("core", "(),(k),(k)->()", "nonlinear"),
        {"x": rules.interp_x, "knots": rules.interp_knots, "values": rules.interp_values},
        {
            "ndims": (-1, 1, 1),
            "any_result": True,
            "other": (
                "x, knots, values, /",
                ("core", "(),(k),(k)->()", "linear"),
                {"values": rules.interp_values},
                {"ndims": (1,), "any_result": True, "dtypes": "FD"},
            ),
        },
    ),
    "convolve": (
        "a, v, mode='full'",
        ("core", "(m),(n)->(convolved(m, n, mode))", "multilinear"),
        {"a": rules.convolve_a, "v": rules.convolve_v},
        {"ndims": (1, 1)},
    ),
    "correlate": (
        "a, v, mode='valid'",
        ("core", "(m),(n)->(convolved(m, n, mode))", "multilinear"),
        {"a": rules.correlate_a, "v": rules.correlate_v},
        {"ndims": (1, 1)},
    ),
    "trapezoid": (
        "y, /, *, dx=1.0, axis=-1",
        ("reduction", "(n)->()", "linear"),
        {"y": rules.trapezoid},
        {
            "numbers": (1, 2),
            "other": (
                "y, x, /",
                ("reduction", "(n),(n)->()", "multilinear"),
                {"y": rules.trapezoid_at_y, "x": rules.trapezoid_at_x},
                {"ndims": (1, 1), "function": rules.trapezoid_at},
            ),
        },
    ),
    "cov": (
        "m, y=None, rowvar=True, bias=False, ddof=None",
        ("core", "(n*)->?", "nonlinear"),
        {"m": statistics.cov},
        {"any_result": True, "function": statistics.cov_of},
    ),
    "corrcoef": (
        "x, y=None, rowvar=True",
        ("core", "(n*)->?", "nonlinear"),
        {"x": statistics.corrcoef},
        {"any_result": True, "function": statistics.corrcoef_of},
    ),
    "unwrap": ("p", ("scan", "(n)->(n)", "nonlinear"), {"p": lambda g: g}),
    "logspace": (
        "start, stop, num=50",
        ("creation", "(),()->(num)", "nonlinear"),
        {"start": rules.logspace_start, "stop": rules.logspace_stop},
        {"ndims": (0, 0), "numbers": (2,)},
    ),
    # polynomials
    "polyadd": (
        "a1, a2",
        ("core", "(m),(n)->(max(m,n))", "linear"),
        {"a1": rules.polyadd_a1, "a2": rules.polyadd_a2},
        {"ndims": (1, 1)},
    ),
    "polysub": (
        "a1, a2",
        ("core", "(m),(n)->(max(m,n))", "linear"),
        {"a1": rules.polyadd_a1, "a2": rules.polysub_a2},
        {"ndims": (1, 1)},
    ),
    "polyint": (
        "p, m=1",
        ("core", "(n)->(n+m)", "linear"),
        {"p": rules.polyint},
        {"ndims": (1,), "numbers": (1,), "any_result": True},
    ),
    "polyder": (
        "p, m=1",
        ("core", "(n)->(?)", "linear"),
        {"p": polynomial_rules.polyder},
        {"ndims": (1,), "numbers": (1,), "any_result": True},
    ),
    "polyval": (
        "p, x",
        ("core", "(n),()->()", "nonlinear"),
        {"p": rules.polyval_p, "x": rules.polyval_x},
        {"ndims": (1,)},
    ),
    "polyfit": (
        "x, y, deg, rcond=None",
        ("core", "(n),(n,k?)->(deg+1,k?)", "nonlinear"),
        {"x": polynomial_rules.polyfit_x, "y": polynomial_rules.polyfit_y},
        {"ndims": (1,), "numbers": (2,), "any_result": True, "function": polynomial_rules.polyfit_of},
    ),
    "poly": (
        "seq_of_zeros",
        ("core", "(n)->(n+1)", "nonlinear"),
        {"seq_of_zeros": polynomial_rules.poly},
        {"ndims": (1,), "dtypes": _ALL, "any_result": True},
    ),
    "roots": (
        "p",
        ("core", "(n)->(?)", "nonlinear"),
        {"p": polynomial_rules.roots},
        {"ndims": (1,), "any_result": True, "function": polynomial_rules.roots_of},
    ),
    # linear algebra
    "kron": (
        "a, b",
        ("core", "(m,n),(p,q)->(m*p,n*q)", "multilinear"),
        {"a": rules.kron_a, "b": rules.kron_b},
        {"ndims": (2, 2), "dtypes": _ALL, "function": rules.kron},
    ),
    "linalg.lstsq": (
        "a, b, rcond=None",
        ("core", "(m,n),(m,k?)->(n,k?),(?),(),(min(m, n))", "nonlinear"),
        {"a": rules.lstsq_a, "b": rules.lstsq_b},
        {"results": ("*",), "ndims": (2,), "function": rules.lstsq},
    ),
    "linalg.tensorinv": (
        "a, ind=2",
        ("core", "(n*)->?", "nonlinear"),
        {"a": rules.tensorinv},
        {"numbers": (1,), "function": rules.tensorinv_of},
    ),
    "linalg.tensorsolve": (
        "a, b",
        ("core", "(m*),(n*)->?", "nonlinear"),
        {"a": rules.tensorsolve_a, "b": rules.tensorsolve_b},
        {"function": rules.tensorsolve},
    ),
    "linalg.norm": (
        "x, ord",
        ("reduction", "(m,n)->()", "nonlinear"),
        {"x": rules.norm_rule},
        {"ndims": (2,), "function": rules.norm},
    ),
    "linalg.cond": ("x, p=None", ("core", "(m,n)->()", "nonlinear"), {"x": rules.cond_rule}, {"function": rules.cond}),
}


ENTRIES: dict = {}  # name in NumPy -> Entry of a function with rules of its own


def _own(function, name, signature, structure, functions, options):
    options = dict(options)
    other = options.pop("other", None)
    if other is not None:
        options["other"] = _own(function, name, *other)
    function = options.pop("function", function)
    stem = name.rpartition(".")[2].title().replace("_", "")
    fields = {key: options.pop(key) for key in ("sequence", "results") if key in options}
    kind, core, derivative, *counted = structure
    fields.update(zip(("core", "counted"), (core, *counted), strict=False))
    entry = Entry(f"numpy.{name}", signature, kind, functions, derivative, node=stem, **fields)
    ENTRIES[name] = entry  # the form that others stand beside comes last
    return make_primitive(entry, function, numpy.ndarray, numpy.generic, **options)


def _made(names, prefix, settle, others=None):
    """dict function of NumPy -> NumpyPrimitive; of `others` what is asked where one does not serve a call."""
    found = {}
    for name, known in names.items():
        function = _found(prefix + name)
        if function is None:
            continue
        computes = by_loop(function) if name in _BY_LOOP else implementation(function)
        options = known[-1] if isinstance(known[-1], dict) and len(known) > 3 else {}
        if others and function in others:
            options = {**options, "other": others[function]}
        if isinstance(known[1], str):
            made = _alias(computes, prefix + name, *known[:3], lambda _, *rest, f=function: settle(f, *rest), options)
        else:
            made = _own(computes, prefix + name, *known[:3], options)
        found[function] = made
    return found


def functions(settle):
    """dict function or ufunc of NumPy -> how it is recorded; settle(function, result, args) as handlers have it."""
    own = _made(OWN, "", settle)
    return own | _made(ALIASES, "", settle, own)


def scipy_functions(settle, operations):
    """The same for ufuncs of scipy.special, from a dict of those that are operations of the table."""
    found = {}
    for ufunc, op in operations.items():
        if ufunc.nin != len(op.params):
            continue  # a parameter has a default in the table
        signature = f"{', '.join(op.params)}, /"
        # Loops for orders that are integers have results of their own.
        places = tuple([(i, _INT) if name == "n" else i for i, name in enumerate(op.params)])
        # What SciPy computes in double precision is composed.
        dtypes = "dD" if _widened_by_numbers(ufunc) else _ALL
        found[ufunc] = _alias(
            ufunc, op.name, signature, op.name, places, lambda _, *rest: settle(None, *rest), {"dtypes": dtypes}
        )
    return found


def _widened_by_numbers(ufunc):
    """Whether SciPy gives float64 for arrays of float32 beside a number."""
    array = numpy.zeros(0, numpy.float32)
    for place in range(ufunc.nin if ufunc.nin > 1 else 0):
        for number in (0.5, 2):
            for one, others in ((number, array), (array, number)):
                args = [one if i == place else others for i in range(ufunc.nin)]
                try:
                    if ufunc(*args).dtype == numpy.float64:
                        return True
                except TypeError:  # there is no loop for them
                    continue
    return False


def fft_functions(settle):
    """The same for numpy.fft, which NumPy imports on first use."""
    options = {"dtypes": _ALL}
    names = {}
    for name, known in FFT_ALIASES.items():
        names[name] = (*known, options)
        if known[0] is _PLANE[0]:
            function = implementation(_found(f"fft.{name}"))
            other = _alias(function, f"fft.{name}", _OTHER_PLANE[0], known[1], _OTHER_PLANE[1], settle, options)
            names[name] = (*known, {**options, "other": other})
    return _made(names, "fft.", settle)
