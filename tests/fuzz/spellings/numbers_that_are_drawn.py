"""Numbers that generators draw by recorded parameters, and recorded elements that they move.

The class: NumPy's generators of both kinds, held by a name, an attribute or numpy.random; laws by location, scale and
other smooth parameters, by position and by name, of one number or several, that broadcast with a size; draws one after
the other; `choice`, `permutation`, `shuffle` of vectors and rows; numbers of SciPy's distributions.
"""

import linecache

import arraygrad as ag

from .spelling import Spelling

CALLS = 40
STARTS = {
    "rng = np.random.default_rng({})": "rng",
    "rng = np.random.RandomState({})": "rng",
    "o = Holder(); o.rng = np.random.default_rng({})": "o.rng",
    "np.random.seed({})": "np.random",
}
NUMBERS = ("x[0]", "x[1] + 0.5", "x[2] * x[0]", "x", "x[:1]", "1.25", "[x[0], x[1], 0.75]")
LAWS = {
    "normal": ("loc", "scale"), "laplace": ("loc", "scale"), "logistic": ("loc", "scale"), "gumbel": ("loc", "scale"),
    "exponential": ("scale",), "rayleigh": ("scale",), "lognormal": ("mean", "sigma"), "weibull": ("a",),
    "pareto": ("a",), "gamma": (None, "scale"), "uniform": (None, "high"),
}  # fmt: skip
HEAVY = ("pareto", "weibull", "lognormal", "rvs")  # of numbers near 1e8 a cosine turns within a step of differences
MOVES = (
    "{}.choice(x, 4)", "{}.choice(x, 2, replace=False)", "{}.permutation(x * x)",
    "{}.permutation(np.outer(x, x))[0]", "{}.choice(x)", "shuffled({}, [x[0], x[1] * x[2], x[2]])",
    "shuffled({}, [x, x * x, 2.0 * x])", "shuffled({}, x * x)", "shuffled({}, np.outer(x, x))",
    "{}.permutation([x[2], x[0] * x[1], x[1]])",
)  # fmt: skip
HEAD = "import numpy as np\nfrom scipy import stats\nclass Holder: pass\n"
HEAD += "def shuffled(rng, y):\n    rng.shuffle(y)\n    return np.array(y) * np.arange(1.0, 4.0)\n"


def one_of(rng, choices):
    return str(rng.choice(list(choices)))


def law(rng, generator):
    name = one_of(rng, LAWS)
    given = []
    by_name = False
    for key in LAWS[name]:
        value = ("0.0" if name == "uniform" else "2.0") if key is None else one_of(rng, NUMBERS)
        by_name = key is not None and (by_name or rng.random() < 0.3)
        given.append(f"{key}={value}" if by_name else value)
    size = one_of(rng, ("", "", "size=3", "size=(2, 3)"))
    return f"{generator}.{name}({', '.join([*given, *filter(None, [size])])})"


def draw(rng):
    start = one_of(rng, STARTS)
    generator, seed = STARTS[start], int(rng.integers(1000))
    lines = [f"    {start.format(seed)}", "    total = 0.0"]
    for _ in range(int(rng.integers(1, 4))):
        kind = rng.random()
        if kind < 0.7:
            drawn = law(rng, generator)
        elif kind < 0.9:
            drawn = one_of(rng, MOVES).format(generator)
        else:
            drawn = f"stats.{one_of(rng, ('norm', 'expon', 'cauchy'))}.rvs(x[0], x[1], size=3, random_state={seed})"
        function = one_of(rng, ("np.cos", "np.square", "np.tanh"))
        if function == "np.cos" and any(f".{name}(" in drawn for name in HEAVY):
            function = "np.arctan"
        lines.append(f"    total = total + np.sum({function}({drawn}))")
    text = f"def f(x):\n{chr(10).join(lines)}\n    return total + {generator}.normal() * x[0]\n"
    file = f"drawn_{seed}_{abs(hash(text))}.py"
    whole = HEAD + text
    linecache.cache[file] = len(whole), None, whole.splitlines(keepends=True), file
    names = {"__name__": "drawn"}
    exec(compile(whole, file, "exec"), names)
    f = names["f"]
    return Spelling(text, lambda x: ag.adopt(f)(x), f, (rng.uniform(0.4, 1.2, 3),), order=2, dtypes=False)
