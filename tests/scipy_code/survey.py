"""Which SciPy functions a Tensor passes with a right gradient: `python survey.py` prints the outcomes as JSON.

`python survey.py --page` writes the table in docs/scipy.md. Other arguments choose samples by how their names begin.

May import: arraygrad, numpy, scipy, samples. It has to run with SCIPY_ARRAY_API=1 in its environment, which SciPy reads
when it is imported: hence a process of its own.

Outcomes:

differentiated  the gradient is that of central differences
constant        no gradient, rightly: the result does not change, or is no floating-point number
refused         the library leaves for compiled code, and the conversion raises a TypeError that says what to do
number          the result is a Python float, made by float(tensor): a number has no gradient
"""

import importlib
import importlib.util
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from samples import NOT_SAMPLED, SAMPLES

import arraygrad as ag
from arraygrad.core.containers import flatten

# What our refusals say.
OURS = (
    "requires grad would drop its gradient silently",
    "is not differentiated by arraygrad",
    "has no derivative with respect to it",
    "can't be written into",
    "could not convert b, a, and x to a common type",  # scipy.signal's compiled filter instead of ours
)

OUTCOMES = ("differentiated", "constant", "number", "refused")
MODULES = (
    "cluster.hierarchy cluster.vq constants differentiate fft integrate interpolate linalg ndimage optimize "
    "optimize.elementwise signal signal.windows special stats"
).split()
STRICT = "array_api_strict"

PAGE = Path(__file__).parents[2] / "docs" / "scipy.md"
BEGIN, END = "<!-- table: python tests/scipy_code/survey.py --page -->", "<!-- end of table -->"

STEP = 1e-6
TOLERANCE = 2e-5


def function_of(name):
    """The object that a dotted name below scipy names: a function, a class, or a method."""
    parts = name.split(".")
    if parts[0] != "sklearn":
        parts.insert(0, "scipy")
    for n in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        for part in parts[n:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def leaves_of(result):
    """Numbers and arrays in a result: containers and SciPy's result objects are taken apart."""
    found = []
    for leaf in flatten(result)[0]:
        if isinstance(leaf, (ag.Tensor, np.ndarray, np.generic, float, int, complex)):
            found.append(leaf)
        elif hasattr(leaf, "__dict__"):
            found += leaves_of([value for key, value in vars(leaf).items() if not key.startswith("_")])
    return found


def values_of(sample, f, arrays):
    """The floating-point values of a plain call, as one real vector."""
    parts = [np.zeros(0)]
    for leaf in leaves_of(sample.call(f, *arrays)):
        value = np.asarray(leaf.numpy() if isinstance(leaf, ag.Tensor) else leaf)
        if value.dtype.kind == "c":
            parts += [value.real.ravel(), value.imag.ravel()]
        elif value.dtype.kind == "f":
            parts.append(value.ravel())
    return np.concatenate(parts)


def differences(sample, f, arrays, weights):
    """Per array the central differences of weights . values."""
    gradients = []
    for k, array in enumerate(arrays):
        gradient = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            for part in (1.0, 1j) if array.dtype.kind == "c" else (1.0,):
                ends = []
                for sign in (1.0, -1.0):
                    moved = [a.copy() for a in arrays]
                    moved[k][index] += sign * STEP * part
                    ends.append(np.nan_to_num(values_of(sample, f, moved), posinf=0.0, neginf=0.0))
                if ends[0].shape != ends[1].shape:
                    return None
                gradient[index] += part * np.dot(weights, ends[0] - ends[1]) / (2.0 * STEP)
        gradients.append(gradient)
    return gradients


def outcome(sample):
    """(outcome, detail) of a sample; an outcome that is none of the documented ones is a fault."""
    try:
        f = function_of(sample.name)
    except AttributeError:
        return "missing", "this version does not have it"
    tensors = [ag.tensor(a, requires_grad=True) for a in sample.arrays]
    try:
        leaves = leaves_of(sample.call(f, *tensors))
    except Exception as error:
        if any(text in str(error) for text in OURS):
            return "refused", ""
        return type(error).__name__, str(error)
    try:
        plain = values_of(sample, f, [a.copy() for a in sample.arrays])
    except Exception as error:
        return f"plain call: {type(error).__name__}", str(error)
    rng = np.random.default_rng(0)
    weights, total, position = np.zeros(plain.size), None, 0
    detached = 0
    for leaf in leaves:
        value = np.asarray(leaf.numpy() if isinstance(leaf, ag.Tensor) else leaf)
        if value.dtype.kind not in "fc":
            continue
        recorded = isinstance(leaf, ag.Tensor) and leaf.requires_grad
        parts = [ag.real(leaf), ag.imag(leaf)] if recorded and value.dtype.kind == "c" else [leaf]
        if value.dtype.kind == "c" and not recorded:
            parts = [leaf.real, leaf.imag]
        for part in parts:
            w = np.asarray(rng.uniform(0.5, 1.5, size=value.shape) * np.isfinite(value))
            weights[position : position + value.size] = w.ravel()
            position += value.size
            if recorded:
                term = ag.sum(ag.where(ag.asarray(np.asarray(w != 0.0)), part, 0.0) * w)
                total = term if total is None else total + term
            else:
                detached += value.size
    if position != plain.size or not plain.size:
        return ("constant", "") if not plain.size else ("another result", f"{position} values, plainly {plain.size}")
    try:
        expected = differences(sample, f, sample.arrays, weights)
    except Exception as error:
        return f"plain call: {type(error).__name__}", str(error)
    if expected is None:
        return "another result", "its shape changes with the values"
    found = [np.zeros_like(a) for a in sample.arrays]
    if total is not None:
        total.backward()
        found = [t.grad.numpy() if t.grad is not None else z for t, z in zip(tensors, found, strict=True)]
    size = max(1.0, *[float(np.max(np.abs(e))) for e in expected])
    error = max(float(np.max(np.abs(g - e))) for g, e in zip(found, expected, strict=True)) / size
    if not error <= TOLERANCE and all(type(leaf) is float for leaf in leaves):
        return "number", ""
    if not error <= TOLERANCE:
        what = "detached" if detached else "wrong gradient"
        return what, f"off by {error:.2g}: {[g.tolist() for g in found]}, differences {[e.tolist() for e in expected]}"
    if total is None or not any(np.any(g) for g in found):
        return "constant", ""
    return "differentiated", ""


def listed():
    """Names of the functions that SciPy says take arrays of any library, without those of objects' methods."""
    try:
        from scipy._lib._array_api import xp_capabilities_table
    except ImportError:  # before SciPy 1.17
        return []
    found = []
    for module in MODULES:
        owner = importlib.import_module(f"scipy.{module}")
        for name in sorted(getattr(owner, "__all__", dir(owner))):
            function = getattr(owner, name, None)
            try:
                said = xp_capabilities_table.get(function)
            except TypeError:  # not hashable
                continue
            if said is None or (said["np_only"] and STRICT not in said["exceptions"]):
                continue
            if STRICT not in [library for library, _ in said["skip_backends"]]:
                found.append(f"{module}.{name}")
    return found


def table(outcomes):
    """The table of the page: a line per module and outcome."""
    modules = {}
    for name, (outcome, _) in outcomes.items():
        module = ".".join(part for part in name.split(".")[:-1] if not part[0].isupper())
        modules.setdefault(module, {}).setdefault(outcome, []).append(name.removeprefix(f"{module}."))
    lines = ["| module | outcome | functions |", "|---|---|---|"]
    for module in sorted(modules):
        for outcome in OUTCOMES:
            if names := sorted(modules[module].get(outcome, [])):
                lines.append(f"| {module} | {outcome} | {' '.join(names)} |")
    return "\n".join(lines)


def write_page(outcomes):
    """Put the table of these outcomes into docs/scipy.md."""
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(outcomes)}\n{END}{rest.split(END)[1]}")


def main():
    page = "--page" in sys.argv
    wanted = [argument for argument in sys.argv[1:] if argument != "--page"]
    if importlib.util.find_spec("sklearn") is not None:
        import sklearn

        sklearn.set_config(array_api_dispatch=True)
    outcomes = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in SAMPLES:
            if not wanted or any(sample.name.startswith(prefix) for prefix in wanted):
                outcomes[sample.name] = outcome(sample)
    if page:
        write_page(outcomes)
    else:
        json.dump({"outcomes": outcomes, "listed": listed(), "left_out": NOT_SAMPLED}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
