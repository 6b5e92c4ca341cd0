"""C++ of elementwise rules and composed operations for NumPy arrays, written out of the table at build time.

May import: ops.expression, ops.kinds and the chapters of the table, all plain Python: setup.py calls `source()`
before anything is compiled. Nothing imports this module in a program.

Note [Kernels of the table]
~~~~~~~~~~~~~~~~~~~~~~~~~~~
Each rule of an elementwise operation becomes a list of steps (Note [Expressions] in ops/expression.py).
(1) Functions that must have NumPy's bits (exp, cos, power, ...) are NumPy's own loops, a step each. What stands between
    them is plain arithmetic in the rule's order: one step computes the argument of a loop, the last one the gradient.
    What two steps need is computed in both: a comparison costs less than a pass through memory.
(2) A comparison must not raise "invalid" for nan, which NumPy's don't. Where nothing else in a step may raise it, the
    step does not report it, and compilers may choose by mask (ARRAYGRAD_QUIET). Else integers are compared.
(3) `where` computes both values and chooses, as NumPy's: what the one that is not chosen raises is reported.
(4) What depends on numbers alone is computed once, so that a loop of two operands gets the steps that NumPy gives it
    (Note [Powers] in powers.pyx). rules.hpp runs the steps, elementwise.pyx says on what.
(5) Rules that are one step of sums and conjugates have a kernel for complex dtypes too, and so has `multiply`.
(6) An operation of one operand that the table composes of others has a kernel of its value too, named `forward`.
(7) A function that the table composes (sigmoid) is traced through its own forward where a rule calls it.
(8) Rules that ask for what a kernel has not (a shape, an order, a function of SciPy) have none; `kernels()` says why.
Guarded by tests/backends/test_fast_kernels.py.
"""

import contextlib
import hashlib
import importlib
import math
from pathlib import Path

from arraygrad.ops._helpers import over_nonzero
from arraygrad.ops._special_fallbacks import FALLBACKS
from arraygrad.ops.elementwise import POW_NUMBERS
from arraygrad.ops.expression import Expression, ExpressionNamespace, Symbol, Untraceable, in_order
from arraygrad.ops.kinds import TABLE

__all__ = ["Kernel", "kernels", "source"]

# NumPy's names of its loops, where they are not the table's.
_LOOPS = {
    **dict.fromkeys("exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh floor ceil trunc square".split()),
    **dict.fromkeys("hypot nextafter maximum minimum floor_divide remainder".split()),
    **{name: name.replace("a", "arc", 1) for name in "asin acos atan asinh acosh atanh".split()},
    "atan2": "arctan2",
    "round": "rint",
    "pow": "power",
    "_cbrt": "cbrt",
}
_LOOPS = {name: ufunc or name for name, ufunc in _LOOPS.items()}

_TEXT = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "logical_and": "{} & {}",
    "logical_or": "{} | {}",
    "logical_not": "!{}",
    "negative": "-{}",
    "abs": "std::fabs({})",
    "sqrt": "std::sqrt({})",
    "sign": "sign_of({})",
    "copysign": "std::copysign({}, {})",
    "isnan": "{0} != {0}",
    "isinf": "std::fabs({}) == std::numeric_limits<T>::infinity()",
    "isfinite": "(std::fabs({0}) != std::numeric_limits<T>::infinity()) & ({0} == {0})",
    "signbit": "std::signbit({})",
    "conj": "conj({})",
}
_ORDERED = {"less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
_QUIET = {"less": "less({}, {})", "less_equal": "less_equal({}, {})"}
_QUIET |= {"greater": "less({1}, {0})", "greater_equal": "less_equal({1}, {0})"}
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "sqrt")  # what may raise errors

_COMPLEX = ("input", "constant", "add", "subtract", "multiply", "negative", "conj")  # what complex kernels compute

# Functions of the chapter of special functions that NumPy's arrays get composed: no SciPy is needed.
_COMPOSED = {"sinc": FALLBACKS["sinc"]}

_MOST = 7  # steps of a rule: as many groups of four error bits have room in an int
_SMALL = 5  # operations: smaller steps of three operands have a loop for each of them that stands for all elements
_FEW = 3  # operations: of more than these a kernel saves passes enough to copy what is not dense


class Kernel:
    """One rule as steps.

    Attributes
    ----------
    operation, name : str
        The operation and the parameter whose gradient it is, or another name (`_VARIANTS`).
    reads : list of str
        The names of its operands, as the rule's parameters have them.
    steps : list of Step
        None if the gradient is handed on as it is.
    is_complex : bool
        For complex64 and complex128 in place of float32 and float64.
    """

    def __init__(self, operation, name, reads, steps, is_complex=False):
        self.operation, self.name, self.reads, self.steps = operation, name, reads, steps
        self.is_complex = is_complex

    @property
    def identifier(self):
        """A name for C++."""
        return f"{self.operation.strip('_')}_{self.name}{'_complex' if self.is_complex else ''}"

    @property
    def loops(self):
        """The names of NumPy's loops that it calls."""
        return [step.ufunc for step in self.steps if step.text is None]


class Step:
    """One pass: of NumPy's loop `ufunc`, or (with a text) of statements, whose errors are reported as `ufunc`'s.

    `operands` are the places of what it reads: the rule's operands, then the blocks that steps before it wrote, in
    order. `quiet`: "invalid" is not reported, it comes of comparisons. `size`: how many operations.
    """

    def __init__(self, ufunc, operands, text=None, quiet=False, size=1):
        self.ufunc, self.operands, self.text, self.quiet, self.size = ufunc, operands, text, quiet, size

    def macro(self, name, names, is_complex):
        """(its function in C++, which operands may stand for all elements); `names` are those of its operands."""
        quiet = "ARRAYGRAD_QUIET" if self.quiet else ""
        if is_complex:
            loads, any_of, macro = names, 0, f"ARRAYGRAD_COMPLEX_STEP({name}, {len(names)}, "
        elif 0 not in self.operands:
            loads, any_of, macro = names, 0, f"ARRAYGRAD_STEP({name}, {quiet}, {len(names)}, "
        elif len(names) == 3 and self.size <= _SMALL and names[1] != "x":  # numbers beside arrays are common
            loads, any_of, macro = [], 7, f"ARRAYGRAD_STEP_OF_THREE({name}, {quiet}, {names[1]}, {names[2]}, "
        else:
            loads, any_of, macro = names[1:], 1, f"ARRAYGRAD_STEP_OF_GRADIENT({name}, {quiet}, {len(names)}, "
        text = [f"const T {name} = in{names.index(name)}[i];" for name in loads]
        return f"{macro}{' '.join([*text, self.text])})", any_of


def _is_loop(value):
    return value.operation in _LOOPS or value.operation == "**"


def _loop_of(value):
    """The name of NumPy's loop for a value, and the operands that it gets."""
    if value.operation != "**":
        return _LOOPS[value.operation], value.operands
    x, power = value.operands
    if power.operation == "constant" and power.detail in (2, 0.5):
        return ("square" if power.detail == 2 else "sqrt"), (x,)
    raise Untraceable("Python's operator ** is not one ufunc for all exponents")


def _literal(number):
    """A constant of the type T."""
    if isinstance(number, bool):
        return "true" if number else "false"
    if isinstance(number, complex):
        if number.imag:
            raise Untraceable("a complex constant")
        number = number.real
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}std::numeric_limits<T>::infinity()"
    return "std::numeric_limits<T>::quiet_NaN()" if number != number else f"T({number!r})"


def _raises_invalid(value):
    """Whether a value may be computed with the error "invalid"."""
    if value.operation in ("multiply", "divide"):
        known = value.operands if value.operation == "multiply" else value.operands[1:]
        return not any(x.operation == "constant" and math.isfinite(x.detail) and x.detail != 0 for x in known)
    return value.operation in ("add", "subtract", "sqrt")


def _statements(result, leaves):
    """(places of the leaves that are read, statements, whether they are quiet, how many, the last ufunc) of a step."""
    names = {id(leaf): name for name, leaf in leaves}
    values = in_order([result], [leaf for _, leaf in leaves])
    ordered = any(v.operation in _ORDERED for v in values)
    quiet = ordered and not any(_raises_invalid(v) for v in values)
    read, lines, ufunc = [], [], "multiply"
    used = {id(x) for v in values for x in v.operands} | {id(result)}
    for place, (_, leaf) in enumerate(leaves):
        if id(leaf) in used:
            read.append(place)
    size = 0
    for value in values:
        if value.operation == "constant":
            names[id(value)] = _literal(value.detail)
            continue
        code = [names[id(x)] for x in value.operands]
        name = names[id(value)] = f"v{size}"
        size += 1
        lines.append(f"const {'bool' if value.dtype.kind == 'b' else 'T'} {name} = {_code(value, code, quiet)};")
        if value.operation in _ARITHMETIC:
            ufunc = value.operation
    lines.append(f"out[i] = {names[id(result)]};")
    return read, " ".join(lines), quiet, size, ufunc


def _code(value, code, quiet):
    operation = value.operation
    if operation == "where":
        return "{} ? {} : {}".format(*code) if quiet else "choose({}, {}, {})".format(*code)
    if operation in _ORDERED:
        return f"{code[0]} {_ORDERED[operation]} {code[1]}" if quiet else _QUIET[operation].format(*code)
    if operation == "cast":
        (x,) = value.operands
        return f"T({code[0]})" if x.dtype.kind == "b" else f"{code[0]} != T(0)"
    if operation == "divide" and value.operands[1].operation == "constant" and value.operands[1].detail == 2:
        return f"{code[0]} * T(0.5)"  # the same bits
    return _TEXT[operation].format(*code)


def _read(inputs, values):
    """The inputs that a kernel is given: those that its expression reads, and g in any case."""
    return [x for x in inputs if x.name == "g" or any(x is value for value in values)]


def _steps(result, inputs):
    """(inputs that are read, steps) of a rule's expression."""
    values = in_order([result])
    for value in values:
        real = value.dtype.kind in "fb"
        if not real or not (
            value.operation in ("input", "constant", "where", "cast", *_ORDERED, *_TEXT) or _is_loop(value)
        ):
            raise Untraceable(f"NumPy has no loop for {value.operation} of {value.dtype}")
    read = _read(inputs, values)
    leaves = [(x.name, x) for x in read]  # then the blocks
    steps, place = [], {id(x): k for k, x in enumerate(read)}

    def arithmetic(value):
        operands, text, quiet, size, ufunc = _statements(value, leaves)
        return Step(ufunc, operands, text, quiet, size)

    def block(value, step):
        steps.append(step)
        place[id(value)] = len(leaves)
        leaves.append((f"t{len(leaves) - len(read)}", value))

    for value in values:
        if not _is_loop(value):
            continue
        ufunc, operands = _loop_of(value)
        for operand in operands:
            if id(operand) not in place:
                block(operand, arithmetic(operand))
        block(value, Step(ufunc, [place[id(operand)] for operand in operands]))
    if steps and id(result) == id(leaves[-1][1]):
        leaves.pop()  # the last loop gives the gradient
    else:
        steps.append(arithmetic(result))
    if len(steps) > _MOST:
        raise Untraceable(f"{len(steps)} steps")
    return read, steps


def _has_kernels(entry):
    """Whether kernels are written of an entry's rules: elementwise ones, but for those that give zeros."""
    return entry.kind == "elementwise" and entry.derivative not in ("zero", "none")


def _composed(name):
    """The forward of an elementwise function that the table composes of others (sigmoid), or None."""
    entry = TABLE.get(name)
    return entry.forward if entry is not None and _has_kernels(entry) and entry.chapter != "special" else None


def _traced(entry, names, dtype, same=(), nonzero=()):
    """(inputs, result) of the sum of some rules of an entry on symbols of one dtype."""
    expression = Expression()
    xp = ExpressionNamespace(expression, _composed)
    symbols = {"g": expression.input("g", dtype)}
    conjugate = entry.holomorphic and dtype.startswith("complex")  # the rule multiplies by the derivative itself
    if conjugate:
        symbols["g"] = xp.conj(symbols["g"])
    results = []
    for name in names:
        rule = entry.rules[name]
        for asked in rule.__code__.co_varnames[: rule.__code__.co_argcount]:
            if asked in ("xp", "g"):
                continue
            if asked != "ans" and asked not in entry.rules:
                raise Untraceable(f"its rule asks for {asked}")
            if asked in same:
                if same[0] not in symbols:
                    symbols[same[0]] = expression.input(same[0], dtype)
                symbols[asked] = symbols[same[0]]
            elif asked not in symbols:
                symbols[asked] = expression.input(asked, dtype, nonzero=asked in nonzero)
        asked = rule.__code__.co_varnames[: rule.__code__.co_argcount]
        results.append(rule(*[xp if a == "xp" else symbols[a] for a in asked]))
    result = results[0]
    for other in results[1:]:
        result = result + other
    if not isinstance(result, Symbol) or result.dtype != symbols["g"].dtype:
        raise Untraceable("its rule gives no array of the gradient's dtype")
    return expression.inputs, xp.conj(result) if conjugate else result


# Kernels besides those of single rules: (operation, name) -> the rules whose sum it is, parameters that are one array
# there, and parameters that are never zero.
_VARIANTS = {
    ("multiply", "both"): (("x1", "x2"), ("x1", "x2"), ()),  # x * x, both edges together
    ("pow", "number"): (("x1",), (), ("x2",)),
    ("pow", "base"): (("x2",), (), ("x1",)),
}

# Other functions of the table's files: (operation, name) -> the function, and its operands.
_FUNCTIONS = {
    ("std", "scaled"): (over_nonzero, ("g", "ans")),
    **{("pow", f"number_{k}"): (function, ("g", "x")) for k, function in enumerate(POW_NUMBERS.values())},
}


def _kernel(entry, name, rules, same=(), nonzero=()):
    """The Kernel of some rules of an entry. Raises Untraceable where there can be none."""
    return _kernel_of(entry.name, name, lambda dtype: _traced(entry, rules, dtype, same, nonzero))


def _kernel_of(operation, name, trace):
    found = []
    for dtype in ("float32", "float64"):
        inputs, result = trace(dtype)
        if result.operation == "input" and result.name == "g":
            return Kernel(operation, name, ["g"], None)
        read, steps = _steps(result, inputs)
        found.append(([x.name for x in read], [(s.ufunc, s.operands, s.text) for s in steps], steps))
    if found[0][:2] != found[1][:2]:
        raise Untraceable("its rule computes something else for float32 than for float64")
    return Kernel(operation, name, found[0][0], found[0][2])


def _complex_kernel(entry, name):
    """The Kernel of a rule for complex dtypes, if it is one step of arithmetic. Raises Untraceable otherwise."""
    for dtype in ("complex64", "complex128"):
        inputs, result = _traced(entry, (name,), dtype)
        values = in_order([result])
        if not (entry.holomorphic or result.operation == "conj"):
            raise Untraceable("complex numbers have no such function")
        # NumPy's complex products are fused on some processors: only that of `multiply` itself may round otherwise.
        if entry.name != "multiply" and any(v.operation == "multiply" for v in values):
            raise Untraceable("it multiplies")
        if result.operation == "input" or any(v.operation not in _COMPLEX for v in values):
            raise Untraceable("its complex rule is not arithmetic")
        read = _read(inputs, values)
        operands, text, _, size, ufunc = _statements(result, [(x.name, x) for x in read])
    return Kernel(entry.name, name, [x.name for x in read], [Step(ufunc, operands, text, size=size)], is_complex=True)


def _function_kernel(operation, name, function, operands):
    """The Kernel of a function of `xp` and arrays of one dtype, of which the first is called g."""
    names = ["g", *operands[1:]]

    def trace(dtype):
        expression = Expression()
        result = function(ExpressionNamespace(expression, _composed), *[expression.input(n, dtype) for n in names])
        if not isinstance(result, Symbol) or result.dtype != expression.inputs[0].dtype:
            raise Untraceable("it gives no array of its operand's dtype")
        return expression.inputs, result

    return _kernel_of(operation, name, trace)


def _forward_kernel(entry):
    """The Kernel of an operation's value. Raises Untraceable where there can be none, or it composes nothing."""
    kernel = _function_kernel(entry.name, "forward", _COMPOSED.get(entry.name, entry.forward), ("x",))
    if kernel.steps is None or all(step.text is None for step in kernel.steps) or sum(s.size for s in kernel.steps) < 2:
        raise Untraceable("it composes nothing")
    if any(step.text is None and len(step.operands) > 1 for step in kernel.steps):
        raise Untraceable("a loop of two operands may look at how they go through memory")
    return kernel


def kernels():
    """All kernels, and (operation, parameter) -> why its rule has none."""
    for path in sorted(Path(__file__).parents[2].joinpath("ops").glob("[a-z]*.py")):
        importlib.import_module(f"arraygrad.ops.{path.stem}")
    made, reasons = [], {}
    for _, entry in sorted(TABLE.items()):  # whatever the chapters' order
        if not _has_kernels(entry):
            continue
        wanted = {parameter: ((parameter,),) for parameter in entry.rules}
        wanted.update({name: variant for (operation, name), variant in _VARIANTS.items() if operation == entry.name})
        for name, variant in wanted.items():
            try:
                made.append(_kernel(entry, name, *variant))
            except Exception as error:  # whatever a rule does to symbols that they cannot
                reasons[entry.name, name] = str(error)
            if variant == ((name,),):
                with contextlib.suppress(Exception):  # the table's rule serves complex gradients
                    made.append(_complex_kernel(entry, name))
        if entry.forward is not None and entry.signature == "x, /":
            try:
                made.append(_forward_kernel(entry))
            except Exception as error:
                reasons[entry.name, "forward"] = str(error)
    made += [_function_kernel(*key, *function) for key, function in _FUNCTIONS.items()]
    return made, reasons


def source():
    """The text of table_kernels.cpp."""
    made, _ = kernels()
    if not made:
        raise RuntimeError("the table has no elementwise rule: its chapters were not found")
    loops = sorted({ufunc for kernel in made if kernel.steps for ufunc in kernel.loops})
    lines = ["// Written by setup.py out of the table (backends/numpy/kernels.py): the formulas stand there.", ""]
    lines += [
        "#define ARRAYGRAD_DEFINES_SUMS 1  // inner_loops.hpp",
        '#include "rules.hpp"',
        "",
        "namespace arraygrad {",
        "",
    ]
    rows = []
    for kernel in made:
        if kernel.steps is None:
            rows.append(f'    {{"{kernel.operation}", "{kernel.name}", {{"g"}}, 1, nullptr, 0, 0, 0, 0}},')
            continue
        steps = []
        for k, step in enumerate(kernel.steps):
            functions, any_of = "nullptr, nullptr", 0
            if step.text is not None:
                name = f"{kernel.identifier}_{k}"
                names = [(kernel.reads + [f"t{i}" for i in range(k)])[place] for place in step.operands]
                text, any_of = step.macro(name, names, kernel.is_complex)
                lines.append(text)
                functions = f"{name}_c64, {name}_c128" if kernel.is_complex else f"{name}_f32, {name}_f64"
            loop = loops.index(step.ufunc) if step.text is None else -1
            places = ", ".join(map(str, step.operands))
            steps.append(
                f'{{"{step.ufunc}", {functions}, {loop}, {len(step.operands)}, {{{places}}}, '
                f"{int(step.quiet)}, {any_of}}}"
            )
        lines += [f"static const Step steps_of_{kernel.identifier}[] = {{{', '.join(steps)}}};", ""]
        reads = ", ".join(f'"{name}"' for name in kernel.reads)
        pairs = int(any(step.text is None and len(step.operands) > 1 for step in kernel.steps))
        dear = int(sum(step.size for step in kernel.steps) > _FEW)
        rows.append(
            f'    {{"{kernel.operation}", "{kernel.name}", {{{reads}}}, {len(kernel.reads)}, '
            f"steps_of_{kernel.identifier}, {len(kernel.steps)}, {pairs}, {dear}, {int(kernel.is_complex)}}},"
        )
    lines += ["const RuleKernel table_kernels[] = {", *rows, "};"]
    lines += [f"const int n_table_kernels = {len(rows)}, n_table_loops = {len(loops)};"]
    lines += [f'static_assert({len(loops)} <= MOST_LOOPS, "too many loops");']
    names = ", ".join(f'"{name}"' for name in loops)
    lines += [f"const char* const table_loops[] = {{{names}}};"]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    lines += [f'const char* const table_digest = "{digest}";', "", "}  // namespace arraygrad", ""]
    return "\n".join(lines)
