"""numpy.float64 and its kin in programs that compare unknown things by `is`.

The class: a way to use a type (call, dtype, class that is asked for, `==`) x a comparison by `is` in the same module,
in another one, of the type itself. A type that is used up stays recorded; one that is handed over is the real one, and
comparisons answer as in a plain call.
"""

import numpy as np
import pytest

import arraygrad as ag

HEAD = """
    import numpy as np
    from numpy import float64, float32
    DOUBLE = np.float64
    def same(a, b): return a is b
"""
# What is recorded: the expression, beside `same` in the same module.
USED_UP = {
    "call": "np.float64(x) * 2.0",
    "call of a name": "float64(x) * 2.0",
    "call of a list": "np.float64([x, 2.0 * x]).sum()",
    "single": "np.float64(np.float32(2.0)) * np.float64(x)",
    "complex": "np.complex128(x).real * 3.0",
    "dtype by name": "np.zeros(2, dtype=np.float64).sum() + np.float64(x) * 2.0",
    "dtype first of names": "np.full(2, 1.0, dtype=np.float64, order='C').sum() * np.float64(x)",
    "dtype by place": "np.array([1.0, 2.0], np.float64).sum() * np.float64(x)",
    "astype": "np.float64(np.ones(2).astype(np.float64).sum() * x)",
    "isinstance": "np.float64(x) if isinstance(x, (int, np.float64, float)) else 0.0",
    "equal": "np.float64(x) * (np.ones(2).dtype == np.float64)",
    "not equal": "np.float64(x) * (2.0 - (np.ones(2).dtype != np.float64))",
    "in": "np.float64(x) * (np.ones(2).dtype in (np.float32, np.float64))",
    "map": "sum(map(np.float64, [x, 2.0 * x]))",
    "attribute": "np.float64(x) * np.float64.fromhex('0x1p1')",
}


@pytest.mark.parametrize("expression", USED_UP.values(), ids=USED_UP)
def test_types_that_are_used_up_stay_recorded(program, expression):
    main = program(
        main=HEAD.replace("    DOUBLE = np.float64\n", "")
        + f"""
    def f(x):
        return {expression} if same(x, x) else 0.0 * x
"""
    )
    plain = [main.f(0.7), (main.f(0.7 + 1e-6) - main.f(0.7 - 1e-6)) / 2e-6]
    value, found = ag.value_and_grad(main.f)(0.7)
    assert value == plain[0]
    assert found == pytest.approx(plain[1], rel=1e-8)
    assert main.np is np
    assert main.float64 is np.float64


# What compares, or hands over: the function g(x) of a module is x where the comparison answers as in a plain call.
COMPARED = {
    "type of an array": "np.ones(1).dtype.type is np.float64",
    "itself": "np.float64 is np.float64 and same(np.float64, np.float64)",
    "handed over": "same(np.float64, DOUBLE)",
    "handed over by name": "same(float64, DOUBLE)",
    "of numpy": "same(kind_of(np), DOUBLE)",
    "bound": "same(bound(), DOUBLE)",
    "default": "same(default(), DOUBLE)",
    "returned": "same(returned(), DOUBLE)",
    "keyword": "keyword(dtype=np.float64)",
    "in a list": "same([np.float64][0], DOUBLE)",
    "in a dict": "same({'d': np.float64}['d'], DOUBLE)",
    "getattr": "same(getattr(np, 'float64'), DOUBLE)",
    "of another thing": "other.same(np.float64, other.DOUBLE)",
}
MORE = """
    import other
    def kind_of(xp): return xp.float64
    def bound():
        kind = np.float64
        return kind
    def default(kind=np.float64): return kind
    def returned(): return np.float64
    def keyword(dtype): return dtype is DOUBLE
"""


@pytest.mark.parametrize("expression", COMPARED.values(), ids=COMPARED)
def test_comparisons_answer_as_in_a_plain_call(program, expression):
    other = "import numpy as np\nDOUBLE = np.float64\ndef same(a, b): return a is b\n"
    main = program(
        other=other,
        main=HEAD
        + MORE
        + f"""
    def f(x):
        return x * x if {expression} else 0.0 * x
""",
    )
    assert main.f(0.7) == 0.7 * 0.7
    assert ag.value_and_grad(main.f)(0.7) == (0.7 * 0.7, 1.4)


EQUAL = [
    f"{a} {op} {b}"
    for dtype in ("np.ones(1).dtype", "np.dtype('f4')", "np.dtype(int)", "np.dtype(complex)", "np.ones(1).dtype.type")
    for kind in ("np.float64", "np.float32", "float", "complex", "np.complex128", "np.floating")
    for a, op, b in (
        (dtype, "==", kind), (kind, "==", dtype), (dtype, "!=", kind), (kind, "!=", dtype),
        (dtype, "in", f"({kind}, np.uint8)"), (dtype, "in", f"[np.uint8, {kind}]"), (dtype, "not in", f"({kind},)"),
    )
]  # fmt: skip


def test_classes_and_dtypes_are_equal_as_in_a_plain_call(program):
    lines = "".join(f"        found.append({text})\n" for text in EQUAL)
    main = program(
        main=f"""
    import numpy as np
    FOUND = []
    def f(x):
        found = []
{lines}
        found += [(np.float32, np.float64).index(np.ones(1).dtype), [float, complex].count(np.ones(1).dtype)]
        FOUND.append(found)
        return float(np.float64(x)) * 2.0
"""
    )
    main.f(0.7)
    assert ag.grad(main.f)(0.7) == 2.0
    assert main.FOUND[0] == main.FOUND[1]


def test_another_module_may_compare_while_one_uses_types_up(program):
    main = program(
        other="import numpy as np\ndef is_double(v): return v.dtype.type is np.float64\n",
        main="""
        import numpy as np
        import other
        def f(x):
            y = np.float64(x) * np.ones(2, dtype=np.float64)
            return y.sum() if other.is_double(np.ones(1)) else 0.0 * x
        """,
    )
    assert ag.value_and_grad(main.f)(0.7) == (1.4, 2.0)


def test_type_that_is_handed_over_is_refused_with_the_comparison(program):
    main = program(
        main=HEAD
        + """
    def f(x):
        kind = np.float64
        return kind(x) * 2.0 if same(kind, DOUBLE) else 0.0 * x
"""
    )
    with pytest.raises(TypeError, match=r"in same: a is b"):
        ag.grad(main.f)(0.7)


def test_without_positions_nothing_is_used_up():
    from arraygrad.adoption.type_uses import uses_types_up

    def f(x):
        return np.float64(x)

    def g(x):
        kind = np.float64
        return kind(x)

    assert uses_types_up(f.__code__, globals())
    assert not uses_types_up(g.__code__, globals())
    code = f.__code__
    assert not uses_types_up(code.replace(co_linetable=b"\xf8" + b"\x80\x00" * 40), globals())
