"""What kernels compute, for the stand-in for CuPy: their text evaluated over NumPy, statement by statement.

Elementwise kernels and sums are read from their text, and so is what a kernel over rows computes before and after its
rows. A kernel over rows is the table's operation of its name. Arrays are told by their addresses. Imported by stand_in.
"""

import ctypes
import re

import numpy as np

TYPES = {
    "float": np.float32, "double": np.float64, "bool": np.bool_, "complex<float>": np.complex64,
    "complex<double>": np.complex128, "long long": np.int64, "int": np.int32,
}  # fmt: skip

_FUNCTIONS = {
    "rint": np.rint, "fabs": np.abs, "pow": np.power, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "atan2": np.arctan2, "ag_sign": np.sign,
    "ag_maximum": np.maximum, "ag_minimum": np.minimum, "ag_remainder": np.remainder,
    "ag_floor_divide": np.floor_divide, "ag_power_of_zero": np.power,
    "ag_infinity": np.inf, "ag_nan": np.nan, "true": True, "false": False,
}  # fmt: skip


def evaluated(text, values):
    """One statement's right side, in Python."""
    text = re.sub(r"static_cast<(complex<\w+>|[\w ]+)>", r"\1", text)
    text = re.sub(r"ag_(infinity|nan)<\w+>\(\)", r"ag_\1", text)
    choice = re.fullmatch(r"(\w+) \? (.+) : (.+)", text)
    if choice:
        condition, a, b = (evaluated(part, values) for part in choice.groups())
        return np.where(condition, a, b)
    text = text.replace("&&", "&").replace("||", "|").replace(".real()", ".real").replace(".imag()", ".imag")
    text = re.sub(r"!(?!=)", "~", text)
    for kind in sorted(TYPES, key=len, reverse=True):
        text = re.sub(rf"(?<![\w<]){re.escape(kind)}\(", f"_T[{kind!r}](", text)
    names = {**{n: getattr(np, n) for n in dir(np)}, **_FUNCTIONS, **values}
    names["_T"] = {kind: lambda a, b=None, t=t: _typed(t, a, b) for kind, t in TYPES.items()}
    return eval(text, names)


def _typed(dtype, a, b):
    """A value, or a complex one of two parts, of a dtype."""
    return np.asarray(a if b is None else np.asarray(a) + 1j * np.asarray(b)).astype(dtype)


def array_at(address, n, dtype):
    """The array of n elements at an address."""
    dtype = np.dtype(dtype)
    return np.frombuffer((ctypes.c_char * (n * dtype.itemsize)).from_address(int(address)), dtype=dtype)


def run_elementwise(code, values, kinds):
    """A prepared kernel: its statements, over what its parameters point to."""
    for (_, target), result in zip(*_computed(code, values, kinds, int(values.pop("n_"))), strict=True):
        target[:] = result.astype(target.dtype)


def run_sum(code, values, kinds):
    """The same for one that adds up its output over rows."""
    rows, count, inner = (int(values.pop(f"{name}_")) for name in ("rows", "count", "inner"))
    (parameter,) = [p for p in kinds if f"{p}[row_] = " in code]
    target = array_at(values.pop(parameter), rows, kinds.pop(parameter))
    name = parameter.removeprefix("p_")
    kept = values.pop("kept_", None)
    if kept is not None:
        code = code.replace(f"    kept_[i_] = {name};\n", "")
        kept = array_at(kept, rows * count, kinds.pop("kept_"))
    loop = code[: code.index("  const", code.index(f"total_ += {name};"))].replace(f"total_ += {name};", "")
    loop = loop.replace("for (long long j_ = threadIdx.y, i_", "for (long long i_")
    _, (result,) = _computed(loop, values, kinds, rows * count, [name])
    whole = np.broadcast_to(result, rows * count).astype(target.dtype).reshape(rows // inner, count, inner)
    target[:] = whole.sum(axis=1, dtype=np.float64).ravel()
    if kept is not None:
        kept[:] = whole.ravel()


def _computed(code, values, kinds, n, names=None):
    """([(name, memory) of the outputs], the value of each); `names`: of these instead."""
    shape, strides = (n,), {}
    if "layout_" in values:
        ndim = int(re.search(r"extents\[(\d+)\]", code).group(1))
        strided = re.findall(r"long long at_(\w+) = 0;", code)
        numbers = array_at(values.pop("layout_"), ndim * (1 + len(strided)), np.int64)
        shape = tuple(int(m) for m in numbers[:ndim])
        strides = {name: numbers[ndim * (k + 1) : ndim * (k + 2)] for k, name in enumerate(strided)}
        assert np.prod(shape) == n
    outputs = []
    for parameter, dtype in kinds.items():
        name, size = parameter.removeprefix("p_"), np.dtype(dtype).itemsize
        address = values.pop(parameter)
        if f"{parameter}[i_] = " in code:
            outputs.append((name, array_at(address, n, dtype)))
        elif f"{parameter}[0]" in code:
            values[name] = array_at(address, 1, dtype)[0]
        elif name in strides:
            reach = 1 + sum(max(0, int(s) * (m - 1)) for s, m in zip(strides[name], shape, strict=True))
            back = sum(min(0, int(s) * (m - 1)) for s, m in zip(strides[name], shape, strict=True))
            memory = array_at(int(address) + back * size, reach - back, dtype)[-back:]
            view = np.lib.stride_tricks.as_strided(memory, shape, [int(s) * size for s in strides[name]])
            values[name] = view.reshape(n)
        else:
            values[name] = array_at(address, n, dtype)
    with np.errstate(all="ignore"):
        for line in code[code.index("for (long long i_") :].splitlines()[1:]:
            left, sign, right = line.strip().rstrip(";").partition(" = ")
            if sign and not re.search(r"p_\w+\[|_$|layout_|rest_", line):
                values[left.split()[-1]] = evaluated(right, values)
    return outputs, [np.asarray(values[name]) for name in names or [name for name, _ in outputs]]


def run_updates(code, addresses):
    """The kernel of many updates; gives (addresses that it read, addresses that it wrote)."""
    kind, most = re.search(r"struct ag_pairs { (\w+)\* targets\[(\d+)\]", code).groups()
    dtype, most = TYPES[kind], int(most)
    factor, count = array_at(addresses[0], 1, dtype)[0], int(array_at(addresses[1], 1, np.int32)[0])
    targets, terms, sizes = array_at(addresses[2], 3 * most, np.int64).reshape(3, most)[:, :count]
    for target, term, n in zip(targets, terms, sizes, strict=True):
        array_at(target, int(n), dtype)[:] += factor * array_at(term, int(n), dtype)
    return [int(address) for address in terms], [int(address) for address in targets]


def run_product(values, dtype):
    """The kernel of products of matrices."""
    rows, columns, depth = (int(values[name]) for name in ("rows", "columns", "depth"))
    size = np.dtype(dtype).itemsize

    def matrix(name, shape):
        steps = [int(values[f"{name}_{part}"]) for part in ("row", "column")]
        reach = 1 + sum(s * (n - 1) for s, n in zip(steps, shape, strict=True))
        memory = array_at(values[name], reach, dtype)
        return np.lib.stride_tricks.as_strided(memory, shape, [s * size for s in steps])

    product = matrix("a", (rows, depth)) @ matrix("b", (depth, columns))
    array_at(values["out"], rows * columns, dtype)[:] = product.ravel()


def run_gather(name, values, kinds):
    """The kernels of indexing by integer arrays: rows that are taken, and rows that are added."""
    size, inner, apart = (int(values[key]) for key in ("size", "inner", "apart"))
    lengths = [int(values[f"n{k}"]) for k in range(sum(key[0] == "i" and key[1:].isdigit() for key in values))]
    at = np.zeros(size // inner, dtype=np.int64)
    for k, length in enumerate(lengths):
        at = at * length + array_at(values[f"i{k}"], at.size, kinds[f"i{k}"]) % length
    places = (at[:, None] * inner + np.arange(inner)).ravel()
    full, dtype = int(np.prod(lengths)) * inner, kinds["out"]
    if name == "arraygrad_gather":
        array_at(values["out"], size, dtype)[:] = array_at(values["x"], full, dtype)[places]
    else:
        added = array_at(values["x"], size if apart else 1, dtype)
        np.add.at(array_at(values["out"], full, dtype), places, np.broadcast_to(added, size))


def run_mapped(code, values, kinds):
    """A kernel over rows that computes its elements first: a map, or indices that name places."""
    (first,) = {"kept_", "p_o0"} & set(values)
    rows, n = int(values["rows"]), int(values["n"])
    kept = array_at(values[first], rows * n, kinds[first])
    if first == "p_o0":
        start = code.index("for (long long j_ = threadIdx.y, i_", code.index("#define EACH"))
        loop = code[start : code.index("#undef EACH")].split("\n  }\n")[0]
        head = code[code.rindex("struct ag_layout", 0, start) : start] if "layout_" in values else ""
        loop = head + loop.replace("for (long long j_ = threadIdx.y, i_", "for (long long i_")
        picked = {p: values[p] for p in values if re.fullmatch(r"p_\w+|a\d|g|layout_", p)}
        pointers = {p: kind for p, kind in kinds.items() if p in picked}
        ((_, target),), (result,) = _computed(loop, picked, pointers, rows * n)
        target[:] = np.broadcast_to(result, target.shape).astype(target.dtype)
    else:
        size = int(values.get("size_", n))
        last = [n] if "size_" in values else []
        parts = [key for key in values if re.fullmatch(r"i\d", key)]
        lengths = [int(values[f"n{k}"]) for k in range(len(parts) - len(last))] + last
        at = np.zeros(size, dtype=np.int64)
        for part, length in zip(parts, lengths, strict=True):
            at = at * length + array_at(values[part], size, kinds[part]) % length
        if "size_" in values:
            added = array_at(values["from_"], size if int(values["apart_"]) else 1, kinds["from_"])
            kept[:] = 0
            np.add.at(kept, at, np.broadcast_to(added, size))
        else:
            kept[:] = array_at(values["from_"], int(np.prod(lengths)), kinds["from_"])[at]
    if "out" in values:
        _reduce_mapped(code, first, values, kinds)


def _reduce_mapped(code, first, values, kinds):
    """What follows the elements of such a kernel: its rows, and maps of one result."""
    from arraygrad.backends.cuda.rows import KERNELS

    kind = {np.float32: "float", np.float64: "double"}[kinds[first]]
    bodies = {name: body.replace("REAL", kind) for name, (_, body) in KERNELS.items()}
    row = max((name for name, body in bodies.items() if body in code), key=lambda name: len(bodies[name]))
    names = [p.split()[-1].lstrip("*") for p in KERNELS[row][0].split(",")]
    renamed = {name: values[first if k == 0 else name] for k, name in enumerate(names) if name != "apart"}
    types = dict.fromkeys(renamed, kinds[first])
    if "apart" in names:
        renamed["apart"] = 1
    run_row_pointers(row, {**renamed, **{key: values[key] for key in ("rows", "n", "inner")}}, types)
    found = {"s_": array_at(values["out"], 1, kinds[first])[0], **{k: v for k, v in values.items() if k[0] == "q"}}
    for line in code.partition("s_ = out[row];")[2].splitlines():
        left, sign, right = line.strip().rstrip(";").partition(" = ")
        if sign and left.endswith("[0]"):
            array_at(values[left[:-3]], 1, kinds[first])[:] = evaluated(right, found)
        elif sign:
            found[left.split()[-1]] = evaluated(right, found)


def run_row_pointers(name, values, kinds):
    """A kernel over rows, given addresses."""
    rows, n = int(values["rows"]), int(values["n"])
    if name in ("sum_part", "mean_of_parts"):
        inner, dtype = int(values["inner"]), kinds["out"]
        x = array_at(values["x"], rows * n, dtype).reshape(rows // inner, n, inner).astype(np.float64)
        share = int(values.get("share", n))
        sums = [x[:, first : first + share].sum(1) for first in range(0, n, share)]
        whole = np.stack(sums, axis=1) / float(values.get("freedom", 1.0))
        array_at(values["out"], rows * len(sums), dtype)[:] = whole.ravel()
        return
    if name.endswith("_added"):
        target = array_at(values["out"], rows * n, kinds["out"])
        before = target.copy()
        run_row_pointers(name.removesuffix("_added"), values, kinds)
        target += before
        return
    reduced = {"out"} if name in ("sum", "mean", "logsumexp", "var", "std") else set()
    if name in ("logsumexp_backward", "var_backward", "std_backward", "extremum_backward"):
        reduced = {"g", "ans"}
    args, apart = [], int(values.get("apart", 1))
    for parameter, value in values.items():
        if parameter in kinds:
            size = rows if parameter in reduced else rows * n
            value = array_at(value, size if apart or parameter != "g" else 1, kinds[parameter])
            value = value if value.size == size else np.broadcast_to(value, size)
        args.append(np.float64(value) if parameter == "freedom" else value)
    run_rows(name, args)


def run_rows(name, args):
    from arraygrad.core.tensor import backend_of
    from arraygrad.ops import OPS

    xp = backend_of(np.ones(1)).rule_xp
    *args, rows, n, inner = args
    freedom = float(args.pop()) if np.ndim(args[-1]) == 0 and isinstance(args[-1], np.float64) else None
    if name.endswith("_backward"):
        args.pop()  # whether the gradient is one number, which it was made an array of
    *arrays, out = args
    full = (int(rows // inner), int(n), int(inner))
    shaped = [a.reshape(full if a.size == rows * n else (full[0], 1, full[2])) for a in arrays]
    target = out.reshape(full if out.size == rows * n else (full[0], 1, full[2]))
    with np.errstate(all="ignore"):
        op = OPS["max" if name == "extremum_backward" else name.removesuffix("_backward")]
        correction = None if freedom is None else n - freedom
        if not name.endswith("_backward"):
            if freedom is not None:
                value = getattr(np, name)(shaped[0], axis=1, keepdims=True, correction=correction)
            elif name in ("sum", "mean"):
                value = getattr(np, name)(shaped[0], axis=1, keepdims=True, dtype=np.float64)
            else:
                value = op.entry.forward(xp, shaped[0], *((1, True) if name == "logsumexp" else (1,)))
        elif name in ("softmax_backward", "log_softmax_backward"):
            value = op.rules[0](xp, *shaped, 1)
        elif name == "var_backward":
            value = op.rules[0](xp, *shaped, 1, correction, True)
        elif name == "std_backward":
            value = op.rules[0](xp, *shaped, 1, correction, True)
        else:
            value = op.rules[0](xp, *shaped, 1, True)
        target[...] = value
