"""How a program is made: statement after statement, each tried on plain NumPy. Imports nothing of arraygrad."""

import random
import re
from math import prod

import numpy as np

from .catalogue import DOUBLE_ONLY, ENTRIES
from .machines import NumpyMachine
from .program import Invalid, Program, Step

ENTRY, WEIGHT = zip(*ENTRIES, strict=True)
BACKWARDS = re.compile(r":[^\],:]*:-\d")
LARGEST = 48  # elements of one array
# What NumPy raises for a statement that makes no sense; the generator then tries another.
NONSENSE = (
    Invalid,
    ValueError,
    IndexError,
    TypeError,
    ZeroDivisionError,
    np.exceptions.AxisError,
    np.linalg.LinAlgError,
)


def owner(array):
    """The array whose memory this one shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return id(array)


class Generator:
    """Makes one program from one seed."""

    def __init__(self, seed, length=None):
        self.rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.seed = seed
        self.length = length or self.rng.choice([3, 5, 8, 12, 18, 25])
        self.backwards = self.rng.random() < 0.4  # negative steps, which PyTorch does not have
        kind = self.rng.random()
        self.dtypes = (
            ("float64",) if kind < 0.6
            else ("float64", "complex128") if kind < 0.8
            else ("float32",) if kind < 0.87
            else ("float32", "complex64") if kind < 0.92
            else ("float32", "float64", "complex64", "complex128")
        )  # fmt: skip

    # -- the program -------------------------------------------------------------------------------------------------

    def program(self):
        """The program, or None where the dice gave nothing to differentiate."""
        rng = self.rng
        self.count = 0
        self.leaves = {f"x{i}": self.array() for i in range(rng.randint(1, 3))}
        self.constants = {f"c{i}": self.array() for i in range(rng.randint(0, 1))}
        self.steps, self.locked = [], set()
        self.start()
        attempts = 0
        while len(self.steps) < self.length and attempts < 6 * self.length:
            attempts += 1
            self.names = []
            self.pending = ()
            entry = rng.choices(ENTRY, WEIGHT)[0]
            try:
                step = entry(self)
            except Invalid:
                continue
            if step is not None:
                self.attempt(step)
        return self.finish()

    def array(self):
        shape = tuple(self.rng.choice([1, 2, 2, 3, 3, 4]) for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3])))
        if shape and self.rng.random() < 0.04:
            shape = (*shape[1:], 0)
        dtype = np.dtype(self.rng.choice(self.dtypes))
        value = self.numbers.uniform(-2, 2, shape)
        if dtype.kind == "c":
            value = value + 1j * self.numbers.uniform(-2, 2, shape)
        return np.asarray(value).astype(dtype)

    def start(self):
        """Runs what there is, from the beginning."""
        self.machine = NumpyMachine("native", checked=True)
        program = Program(self.leaves, self.constants, tuple(self.steps), {})
        self.env = self.machine.run(program)
        self.registers = [*self.leaves, *self.constants, *dict.fromkeys(n for s in self.steps for n in s.outs)]
        self.unwritable = {owner(self.env[name]) for name in (*self.leaves, *self.constants)}

    def attempt(self, step):
        env, machine = self.env, self.machine
        code, need = step.compiled
        try:
            with np.errstate(all="ignore"):
                machine.before(need, env)
                exec(code, env)
                for name in step.outs:
                    env[name] = machine.after(name, env[name])
                    if env[name].size > LARGEST or env[name].ndim > 4 or env[name].dtype.kind not in "fc":
                        raise Invalid("too big")
                if self.written is not None:
                    for name in self.registers:
                        machine.after(name, env[name])
        except NONSENSE:
            if self.written is not None:
                self.start()
            return False
        self.steps.append(step)
        self.registers += [name for name in step.outs if name not in self.registers]
        if self.pending:
            self.locked.update((*self.pending, *step.outs))
        return True

    def finish(self):
        rng = self.rng
        read = {name for step in self.steps for name in self.registers if name in self.words(step.code, step.outs)}
        made = [n for n in self.registers if n not in self.leaves and n not in self.constants]
        sinks = [n for n in made if n not in read and self.env[n].size] or [n for n in made if self.env[n].size]
        if not sinks:
            return None
        roots = sinks if rng.random() < 0.5 else rng.sample(sinks, min(len(sinks), rng.randint(1, 3)))
        weights = {}
        for name in roots[-4:]:
            value = self.env[name]
            weight = self.numbers.uniform(0.5, 1.5, value.shape) * self.numbers.choice([-1, 1], value.shape)
            if value.dtype.kind == "c":
                weight = weight + 1j * self.numbers.uniform(-1, 1, value.shape)
            weights[name] = np.asarray(weight).astype(value.dtype)
        # A register that a statement hands on under the same name is observed nowhere: which of them would be meant?
        once = [n for n in made if sum(n in s.outs for s in self.steps) == 1 and self.env[n].size]
        code = "\n".join(s.code for s in self.steps)
        # Nor is one whose node has a hook: it scales what leaves the node, not what is caught before.
        once = [n for n in once if f"{n} = Double_" not in code and f"node_hook({n}," not in code]
        # Of two results of one statement the second is computed from the first, which differences can't move between.
        once = [n for n in once if not any("kept(" in s.code and n in s.outs for s in self.steps)]
        once = [n for n in once if self.env[n].base is None]
        observed = rng.sample(once, min(len(once), 2))
        return Program(self.leaves, self.constants, tuple(self.steps), weights, tuple(observed), self.seed)

    @staticmethod
    def words(code, outs):
        text = "".join(c if c.isalnum() or c == "_" else " " for c in code).split()
        for name in outs:
            if name in text:
                text.remove(name)
        return set(text)

    # -- what entries ask --------------------------------------------------------------------------------------------

    def step(self, code, *ops, need="True", writes=None, locks=(), double=False):
        if not self.backwards and BACKWARDS.search(code):
            return None
        count = code.count("{}")
        outs = tuple(f"r{self.count + i}" for i in range(count))
        self.count += count
        self.written, self.pending = writes, locks
        if double:
            ops = (*ops, "double")
        return Step(code.format(*outs) if count else code, ops, outs, need)

    def value(self, name):
        return self.env[name]

    def pick(self, kinds="fc", broadcasts_with=None, shape=None, min_ndim=0, test=None):
        """A register, recent ones sooner; None where none fits and some condition was given."""
        found = []
        for name in self.registers:
            v = self.env[name]
            if v.dtype.kind not in kinds or v.ndim < min_ndim or (shape is not None and v.shape != shape):
                continue
            if broadcasts_with is not None:
                try:
                    if prod(np.broadcast_shapes(v.shape, self.env[broadcasts_with].shape)) > LARGEST:
                        continue
                except ValueError:
                    continue
            if test is None or test(v):
                found.append(name)
        if not found:
            if test is None and min_ndim == 0:
                # Only kinds can fail then: a real one is made on the spot.
                name = f"xp.real({self.pick()})"
                if not self.attempt(self.step(f"{{}} = {name}", "real")):
                    raise Invalid("no real register")
                return self.registers[-1]
            return None
        weights = [1 + i for i in range(len(found))]
        return self.rng.choices(found, weights)[0]

    def writable(self, views=True):
        """A register that may be written: no leaf's memory, and nothing detached shares it."""
        locked = self.unwritable | {owner(self.env[n]) for n in self.locked}

        def allowed(v):
            return v.flags.writeable and owner(v) not in locked and (views or v.base is None)

        name = self.pick(test=allowed)
        if name is None:
            self.attempt(self.step(f"{{}} = {self.pick()} * 1", "multiply"))
            name = self.registers[-1]
            return name if allowed(self.env[name]) else None
        return name

    def axis(self, name):
        ndim = self.env[name].ndim
        return self.rng.randrange(-ndim, ndim) if ndim else None

    def axes(self, name):
        ndim = self.env[name].ndim
        kind = self.rng.random()
        if ndim == 0 or kind < 0.3:
            return None
        if kind < 0.7:
            return self.axis(name)
        return tuple(sorted(self.rng.sample(range(ndim), self.rng.randint(1, ndim))))

    def keepdims(self):
        return self.rng.choice(["", ", keepdims=True"])

    def factors(self, size):
        shapes = [(size,), (-1,), (1, size), (size, 1)]
        shapes += [(n, size // n) for n in (2, 3, 4) if size % n == 0] + [
            (n, -1) for n in (2, 3) if size and size % n == 0
        ]
        return self.rng.choice(shapes)

    def indices(self, length, unique=False):
        if length == 0:
            return []
        if unique:
            return self.rng.sample(range(length), self.rng.randint(1, length))
        return [self.rng.randrange(-length, length) for _ in range(self.rng.randint(1, 4))]

    def dtype_for(self, value):
        names = [d for d in self.dtypes if value.dtype.kind == "f" or d.startswith("complex")]
        return "xp." + self.rng.choice(names or [value.dtype.name])

    def key(self, name, unique=False):
        """Text of an index; `unique`: that names no element twice."""
        shape, rng = self.env[name].shape, self.rng
        if shape and rng.random() < 0.08:
            mask = (self.numbers.random(shape) < 0.5).tolist()
            return f"np.array({mask}, dtype=bool)" if prod(shape) else "..."
        parts, fancy = [], False
        for length in shape[: rng.randint(0, len(shape))] if shape else ():
            kind = rng.random()
            if kind < 0.3 and length:
                parts.append(str(rng.randrange(-length, length)))
            elif kind < 0.42 and length and not fancy:
                fancy = True
                parts.append(f"np.array({self.indices(length, unique)}, dtype=np.int64)")
            elif kind < 0.5 and length and not fancy:
                fancy = True
                parts.append(f"np.array({(self.numbers.random(length) < 0.6).tolist()}, dtype=bool)")
            elif kind < 0.56:
                parts.append("None")
                parts.append(":")
            else:
                bounds = [rng.choice(["", str(rng.randint(-length - 1, length + 1))]) for _ in range(2)]
                parts.append(f"{bounds[0]}:{bounds[1]}{rng.choice(['', '', ':2', ':-1', ':-2'])}")
        return ", ".join([*parts, "..."])

    def part(self, name, key):
        return self.env[name] if key is None else eval(f"{name}[{key}]", self.env)

    @staticmethod
    def fits(shape, target):
        try:
            return np.broadcast_shapes(shape, target) == target
        except ValueError:
            return False


def uses_double(program):
    """Whether some statement has no longdouble in NumPy."""
    return any(op == "double" or op.startswith("special.") or op in DOUBLE_ONLY for op in program.ops)
