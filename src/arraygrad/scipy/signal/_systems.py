"""Linear systems: their responses in time and frequency, in what describes them, the input and the initial state.

May import: arraygrad, scipy._declare, scipy.linalg, scipy.signal, numpy, SciPy.

A response in time is a recursion whose step is a matrix exponential (Van Loan 1978); the times and frequencies that
SciPy chooses are constants. A system is a tuple, an object of SciPy's, or one of the classes here.
"""

import math
import warnings

import numpy as np
from scipy import signal

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import REGISTRY, raw
from arraygrad.scipy._guards import Fixed, NotDifferentiable, holds_tensor
from arraygrad.scipy.linalg import _functions as _declared  # noqa: F401 (declares expm)
from arraygrad.scipy.linalg._chapter import NAMES as LINALG
from arraygrad.scipy.signal._chapter import CHAPTER, NAMES, shape_of
from arraygrad.scipy.signal._conversions import normalized_whole, number, poly_value, vector

__all__ = ["System"]

VAN_LOAN = "Van Loan (1978)"
mm = ag.matmul


# -- what a system is -------------------------------------------------------------------------------------------------


def _parts(system):
    """The arrays that describe a system: 2 of a transfer function, 3 of zeros and poles, 4 of a state space."""
    if isinstance(system, System):
        return system.parts
    if isinstance(system, (signal.lti, signal.dlti)):
        if isinstance(system, signal.TransferFunction):
            return system.num, system.den
        if isinstance(system, signal.ZerosPolesGain):
            return system.zeros, system.poles, system.gain
        return system.A, system.B, system.C, system.D
    system = tuple(system)
    return _parts(system[0]) if len(system) == 1 else system


def _discrete(system):
    """(parts, time step) of a discrete system."""
    if isinstance(system, signal.dlti):
        return _parts(system), system.dt
    *parts, dt = system
    if holds_tensor(dt, grad=True):
        raise NotDifferentiable(
            "arraygrad.scipy.signal: the time step of a discrete system requires grad, but has no rule"
        )
    return tuple(parts), dt


def _state_space(parts):
    """(A, B, C, D), by SciPy's conversions."""
    if len(parts) == 2:
        num, den = parts
        num = num if np.ndim(raw(num)) else ag.reshape(ag.asarray(num), (1,))
        return tuple(ag.asarray(m) for m in NAMES["tf2ss"](num, den))
    if len(parts) == 3:
        return tuple(ag.asarray(m) for m in NAMES["zpk2ss"](*parts))
    return tuple(ag.astype(ag.asarray(m), ag.float64) for m in NAMES["abcd_normalize"](*parts))


def _at(parts, s):
    """The transfer function at the points s."""
    s = ag.asarray(s)
    if len(parts) == 2:
        b, a = (vector(c) for c in parts)
        return poly_value(b, s) / poly_value(a, s)
    if len(parts) == 3:
        z, p, k = parts
        z, p = (ag.reshape(ag.asarray(v), (-1, 1)) for v in (z, p))
        return k * ag.prod(s - z, axis=0) / ag.prod(s - p, axis=0)
    a, b, c, d = _state_space(parts)
    n = shape_of(a)[0]
    inner = ag.linalg.solve(s[:, None, None] * np.eye(n) - a, ag.astype(b, ag.complex128))
    return (mm(c, inner) + d)[:, 0, 0]


# -- responses in time ------------------------------------------------------------------------------------------------


def _hold(a, b, dt, linear):
    """(step of the state, of the input before, of the input after) with the input held, or linear between times."""
    n, m = shape_of(b)
    rows = [ag.concat([a * dt, b * dt], axis=1), ag.asarray(np.zeros((m, n + m)))]
    if linear:
        rows = [ag.pad(row, ((0, 0), (0, m))) for row in rows]
        rows[1] = np.concatenate([np.zeros((m, n + m)), np.eye(m)], axis=1)
        rows.append(np.zeros((m, n + 2 * m)))
    whole = LINALG["expm"](ag.concat([ag.asarray(row) for row in rows], axis=0))
    inner, before = whole[:n, :n], whole[:n, n : n + m]
    after = whole[:n, n + m :] if linear else None
    return (inner, before - after, after) if linear else (inner, before, None)


def _states(a, b, u, times, x0, linear):
    """The state at every time, row by row."""
    n = shape_of(a)[0]
    x = ag.asarray(np.zeros(n)) if x0 is None else ag.reshape(ag.asarray(x0) + 0.0, (-1,))
    at = np.asarray(raw(times))
    if at[0]:
        x = mm(LINALG["expm"](a * times[0]), x)
    rows = [x]
    if at.size > 1:
        inner, before, after = _hold(a, b, times[1] - times[0], linear)
        driven = 0.0
        if u is not None:
            driven = mm(u[:-1], ag.matrix_transpose(before))
            driven = driven + mm(u[1:], ag.matrix_transpose(after)) if linear else driven
        for i in range(at.size - 1):
            x = mm(inner, x) if u is None else mm(inner, x) + driven[i]
            rows.append(x)
    return ag.stack(rows)


def _driving(U):
    """The input as (times, inputs), None where there is none."""
    if U is None or (np.ndim(raw(U)) == 0 and not isinstance(U, Tensor) and not U):
        return None
    U = ag.asarray(U)
    return ag.astype(ag.reshape(U, (-1, 1)) if U.ndim < 2 else U, ag.float64)


def _simulated(parts, U, times, X0, linear):
    a, b, c, d = _state_space(parts)
    u = _driving(U)
    x = _states(a, b, u, times, X0, linear)
    y = mm(x, ag.matrix_transpose(c))
    return (y if u is None else y + mm(u, ag.matrix_transpose(d))), x


def _squeezed(found):
    """Without axes of one element."""
    return ag.reshape(found, tuple(n for n in shape_of(found) if n != 1))


@CHAPTER.by_composition("lsim", "system U X0", VAN_LOAN)
def _lsim(system, U, T, X0=None, interp=True):
    y, x = _simulated(_parts(system), U, np.atleast_1d(np.asarray(raw(T), dtype=float)), X0, interp)
    return None, _squeezed(y), _squeezed(x)


def _times(name, system, T, N):
    """The times of a response; without T they reach to seven time constants of the slowest mode, and are recorded."""
    if T is not None:
        return np.asarray(raw(T), dtype=float)
    parts = _parts(system)
    times = getattr(signal, name)(tuple([np.asarray(raw(p)) for p in parts]), N=N)[0]
    modes = ag.asarray(parts[1]) if len(parts) == 3 else LINALG["eigvals"](_state_space(parts)[0])
    rates = ag.abs(ag.real(modes))
    if not rates.size or not np.min(np.asarray(raw(rates))):  # SciPy takes one for the rate then
        return times
    rate = ag.min(rates)
    return ag.asarray(times) * (np.asarray(raw(rate)) / rate)


@CHAPTER.by_composition("step", "system X0", VAN_LOAN)
def _step(system, X0=None, T=None, N=None):
    times = _times("step", system, T, N)
    found = _simulated(_parts(system), np.ones(np.size(raw(times))), times, X0, False)[0]
    return times if T is None else None, _squeezed(found)


@CHAPTER.by_composition("impulse", "system X0", VAN_LOAN)
def _impulse(system, X0=None, T=None, N=None):
    times = _times("impulse", system, T, N)
    parts = _state_space(_parts(system))
    start = ag.reshape(parts[1], (-1,)) if X0 is None else ag.reshape(parts[1] + X0, (-1,))
    return times if T is None else None, _squeezed(_simulated(parts, None, times, start, False)[0])


def _recursion(parts, dt, u, t, x0):
    """(times, y, x) of a discrete system."""
    a, b, c, d = _state_space(parts)
    u = ag.astype(ag.asarray(u), ag.float64)
    u = ag.reshape(u, (-1, 1)) if u.ndim < 2 else u
    if t is None:
        count = shape_of(u)[0]
        stop = (count - 1) * dt
    else:
        t = np.asarray(raw(t), dtype=float)
        stop, count = t[-1], int(np.floor(t[-1] / dt)) + 1
    times = np.linspace(0.0, stop, num=count)
    if t is not None and t.size == 1:  # SciPy has nan of an input at one time
        u = u * np.nan
    elif t is not None:  # the input between the times that it is given at
        weights = np.stack([np.interp(times, t, unit) for unit in np.eye(t.size)], axis=1)
        u = mm(ag.asarray(weights), u)
    x = ag.asarray(np.zeros(shape_of(a)[0])) if x0 is None else ag.reshape(ag.asarray(x0) + 0.0, (-1,))
    rows, driven = [x], mm(u, ag.matrix_transpose(b))
    for i in range(count - 1):
        x = mm(a, x) + driven[i]
        rows.append(x)
    x = ag.stack(rows)
    return times, mm(x, ag.matrix_transpose(c)) + mm(u[:count], ag.matrix_transpose(d)), x


@CHAPTER.by_composition("dlsim", "system u x0", "definition (the recursion)", same=False)
def _dlsim(system, u, t=None, x0=None):
    parts, dt = _discrete(system)
    _, y, x = _recursion(parts, number(dt), u, t, x0)
    return (None, y, x) if len(parts) == 4 else (None, y)


def _responses(system, x0, t, n, drive):
    parts, dt = _discrete(system)
    dt = number(dt)
    if holds_tensor(t, grad=True):
        raise NotDifferentiable("arraygrad.scipy.signal: times require grad, but have no rule here")
    count = 100 if n is None else n
    t = np.linspace(0.0, count * dt, count, endpoint=False) if t is None else np.asarray(raw(t), dtype=float)
    inputs = shape_of(_state_space(parts)[1])[1]
    found = [_recursion(parts, dt, drive(t.size, np.eye(inputs)[i]), t, x0) for i in range(inputs)]
    return found[0][0], tuple(one[1] for one in found)


@CHAPTER.composition("dimpulse", "system x0", "definition (the recursion)")
def _dimpulse(system, x0=None, t=None, n=None):
    return _responses(system, x0, t, n, lambda count, unit: np.eye(count, 1) * unit)


@CHAPTER.composition("dstep", "system x0", "definition (the recursion)")
def _dstep(system, x0=None, t=None, n=None):
    return _responses(system, x0, t, n, lambda count, unit: np.ones((count, 1)) * unit)


# -- responses in frequency -------------------------------------------------------------------------------------------


def _plain_of(parts, *further):
    return (*[np.asarray(raw(p)) for p in parts], *further)


@CHAPTER.by_composition("freqresp", "system", "definition", refuse={"w": "it has no rule"})
def _freqresp(system, w=None, n=10000):
    parts = _parts(system)
    w = signal.freqresp(_plain_of(parts), w, n)[0]
    return None, _at(parts, 1j * w)


def _phase(h):
    """The angle without jumps: what is added is constant."""
    found = ag.atan2(ag.imag(h), ag.real(h))
    values = np.asarray(raw(found))
    return found + (np.unwrap(values) - values)


def _decibel(h):
    return 10.0 / math.log(10.0) * ag.log(ag.real(h) ** 2 + ag.imag(h) ** 2)


@CHAPTER.by_composition("bode", "system", "definition", refuse={"w": "it has no rule"})
def _bode(system, w=None, n=100):
    _, h = _freqresp(system, w, n)
    return None, _decibel(h), _phase(h) * (180.0 / math.pi)


@CHAPTER.by_composition("dfreqresp", "system", "definition", refuse={"w": "it has no rule"})
def _dfreqresp(system, w=None, n=10000, whole=False):
    parts, dt = _discrete(system)
    w = signal.dfreqresp(_plain_of(parts, number(dt)), w, n, whole)[0]
    return None, _at(parts, np.exp(1j * w))


@CHAPTER.by_composition("dbode", "system", "definition", refuse={"w": "it has no rule"})
def _dbode(system, w=None, n=100):
    _, h = _dfreqresp(system, w, n)
    return None, _decibel(h), _phase(h) * (180.0 / math.pi)


@CHAPTER.by_composition("group_delay", "system", "definition", refuse={"w": "it has no rule"})
def _group_delay(system, w=512, whole=False, fs=2.0 * math.pi):
    b, a = (vector(c) for c in system)
    w = signal.group_delay((raw(b), raw(a)), w, whole, number(fs))[0]
    turn = np.exp(-2j * math.pi * w / number(fs))

    def delay(c):
        n = shape_of(c)[0]
        c = ag.flip(ag.astype(c, ag.complex128))
        return ag.real(poly_value(c * np.arange(n - 1.0, -1.0, -1.0), turn) / poly_value(c, turn))

    return None, delay(b) - delay(a)


# -- to discrete time -------------------------------------------------------------------------------------------------

_SHARES = {"bilinear": 0.5, "tustin": 0.5, "euler": 0.0, "forward_diff": 0.0, "backward_diff": 1.0}


@CHAPTER.by_composition("cont2discrete", "system dt alpha", VAN_LOAN)
def _cont2discrete(system, dt, method="zoh", alpha=None):
    parts = _parts(system)
    a, b, c, d = _state_space(parts)
    eye, dt = np.eye(shape_of(a)[0]), ag.asarray(dt)
    if method == "gbt" or method in _SHARES:
        alpha = _SHARES.get(method, alpha)
        left = eye - alpha * dt * a
        ad, bd = ag.linalg.solve(left, eye + (1.0 - alpha) * dt * a), ag.linalg.solve(left, dt * b)
        cd = ag.matrix_transpose(ag.linalg.solve(ag.matrix_transpose(left), ag.matrix_transpose(c)))
        dd = d + alpha * mm(c, bd)
    elif method in ("zoh", "foh"):
        ad, bd, after = _hold(a, b, dt, method == "foh")
        cd, dd = c, d
        if method == "foh":
            bd, dd = bd + mm(ad, after), d + mm(c, after)
    else:
        ad = LINALG["expm"](a * dt)
        bd, cd, dd = mm(ad, b) * dt, c, mm(c, b) * dt
    if len(parts) == 2:
        return (*NAMES["ss2tf"](ad, bd, cd, dd), dt)
    if len(parts) == 3:
        with warnings.catch_warnings():  # SciPy's own call has warned of leading zeros
            warnings.simplefilter("ignore")
            return (*NAMES["ss2zpk"](ad, bd, cd, dd), dt)
    return ad, bd, cd, dd, dt


# -- objects ----------------------------------------------------------------------------------------------------------


def _unwrapped(name):
    """The function `name` takes systems of the classes here, too."""
    inner = NAMES.get(name)
    if inner is None:
        return

    def call(system, *args, **kwargs):
        if isinstance(system, System):
            system = system.parts if system.dt is None else (*system.parts, system.dt)
        found = inner(system, *args, **kwargs)
        chosen = name in ("step", "impulse") and kwargs.get("T", args[1] if len(args) > 1 else None) is None
        if chosen or name == "cont2discrete" or type(found) is not tuple or not isinstance(found[0], Tensor):
            return found
        return (found[0].detach(), *found[1:])  # times and frequencies that were given, or are constants

    call.__wrapped__ = inner
    call.__name__ = call.__qualname__ = name
    call.__module__, call.__doc__ = inner.__module__, inner.__doc__
    NAMES[name] = REGISTRY[f"signal.{name}"].function = call


for _name in ("lsim", "step", "impulse", "dlsim", "dimpulse", "dstep", "freqresp", "bode", "dfreqresp", "dbode",
              "cont2discrete"):  # fmt: skip
    _unwrapped(_name)

_FIELDS = {2: ("num", "den"), 3: ("zeros", "poles", "gain"), 4: ("A", "B", "C", "D")}


class System(Fixed):
    """A linear system whose description holds Tensors; the names are those of SciPy's classes.

    Attributes
    ----------
    parts : tuple
        What describes it.
    dt : number or None
        The time step of a discrete system.
    """

    def __init__(self, *parts, dt=None):
        if len(parts) not in _FIELDS:
            raise ValueError(f"a system has 2, 3 or 4 arrays, and not {len(parts)}")
        self.parts, self.dt = parts, dt

    def __getattr__(self, name):
        fields = _FIELDS[len(self.__dict__["parts"])] if "parts" in self.__dict__ else ()
        if name == "num" and "num" in fields:
            return NAMES["normalize"](*self.parts)[0]
        if name in fields:
            return self.parts[fields.index(name)]
        if name in ("inputs", "outputs") and fields:
            return self._counts()[name == "inputs"]
        if name in ("zeros", "poles") and fields:
            return getattr(self.to_zpk(), name)
        raise AttributeError(f"a system of {', '.join(fields)} has no attribute {name!r}")

    def _counts(self):
        """(number of outputs, number of inputs), as SciPy's classes count them."""
        if len(self.parts) == 4:
            return shape_of(self.parts[2])[0], shape_of(self.parts[1])[-1]
        shape = np.shape(raw(self.parts[0] if len(self.parts) == 3 else self.num))
        return shape if len(shape) > 1 else (1, 1)

    # Two state spaces are connected in a row by *, and side by side by +; a number or a matrix scales, or is added.

    def _other(self, other):
        """The matrices of another state space, None of a number or a matrix; NotImplemented of anything else."""
        if isinstance(other, (System, signal.lti, signal.dlti)):
            parts = _parts(other)
            if len(parts) != 4 or len(self.parts) != 4:
                return NotImplemented
            if other.dt != self.dt:
                raise TypeError(
                    f"arraygrad.scipy.signal: systems of the time steps {self.dt} and {other.dt} cannot be combined"
                )
            return tuple(ag.asarray(m) for m in parts)
        number = isinstance(other, (Tensor, np.ndarray, int, float, complex, np.generic))
        return None if number and len(self.parts) == 4 else NotImplemented

    def _combined(self, *parts):
        return System(*parts, dt=self.dt)

    def _in_a_row(self, first, second):
        """The output of the second is the input of the first."""
        (a, b, c, d), (e, f, g, h) = first, second
        none = np.zeros((shape_of(e)[0], shape_of(a)[0]))
        rows = [ag.concat([a, mm(b, g)], axis=1), ag.concat([ag.asarray(none), e], axis=1)]
        return self._combined(ag.concat(rows), ag.concat([mm(b, h), f]), ag.concat([c, mm(d, g)], axis=1), mm(d, h))

    def __mul__(self, other):
        found = self._other(other)
        if found is NotImplemented:
            return found
        if found is not None:
            return self._in_a_row(self.parts, found)
        a, b, c, d = self.parts
        scaled = mm if np.ndim(raw(other)) else ag.multiply
        other = ag.asarray(other)
        return self._combined(a, scaled(b, other), c, scaled(d, other))

    def __rmul__(self, other):
        found = self._other(other)
        if found is NotImplemented:
            return found
        if found is not None:
            return self._in_a_row(found, self.parts)
        a, b, c, d = self.parts
        scaled = mm if np.ndim(raw(other)) else ag.multiply
        other = ag.asarray(other)
        return self._combined(a, b, scaled(other, c), scaled(other, d))

    def _beside(self, first, second):
        (a, b, c, d), (e, f, g, h) = first, second
        n, m = shape_of(a)[0], shape_of(e)[0]
        whole = ag.concat([ag.pad(a, ((0, 0), (0, m))), ag.pad(e, ((0, 0), (n, 0)))])
        return self._combined(whole, ag.concat([b, f]), ag.concat([c, g], axis=1), d + h)

    def __add__(self, other):
        found = self._other(other)
        if found is NotImplemented:
            return found
        if found is not None:
            return self._beside(self.parts, found)
        a, b, c, d = self.parts
        if np.ndim(raw(other)) and np.atleast_2d(raw(other)).shape != shape_of(d):
            raise ValueError(
                f"arraygrad.scipy.signal: a matrix of shape {shape_of(d)} can be added, found {np.shape(raw(other))}"
            )
        return self._combined(a, b, c, d + other)

    def __radd__(self, other):
        found = self._other(other)
        if found is NotImplemented:
            return found
        return self + other if found is None else self._beside(found, self.parts)

    def __neg__(self):
        if len(self.parts) != 4:
            return NotImplemented
        a, b, c, d = self.parts
        return self._combined(a, b, -c, -d)

    def __sub__(self, other):
        return NotImplemented if self._other(other) is NotImplemented else self + -other

    def __rsub__(self, other):
        return NotImplemented if self._other(other) is NotImplemented else (-self).__radd__(other)

    def __truediv__(self, other):
        if self._other(other) is not None or np.ndim(raw(other)):
            return NotImplemented
        return self * (1.0 / other)

    __array_priority__ = 100.0  # NumPy's operators leave it to these, and so do ours
    __array_ufunc__ = None

    def to_ss(self):
        """The system as a state space."""
        return System(*_state_space(self.parts), dt=self.dt)

    def to_tf(self):
        """The system as a transfer function."""
        if len(self.parts) == 2:
            return self
        convert = NAMES["zpk2tf"] if len(self.parts) == 3 else NAMES["ss2tf"]
        return System(*convert(*self.parts), dt=self.dt)

    def to_zpk(self):
        """The system as zeros, poles and gain."""
        if len(self.parts) == 3:
            return self
        convert = NAMES["tf2zpk"] if len(self.parts) == 2 else NAMES["ss2zpk"]
        return System(*convert(*self.parts), dt=self.dt)

    def to_discrete(self, dt, method="zoh", alpha=None):
        """The system in discrete time."""
        *parts, _ = NAMES["cont2discrete"](self.parts, dt, method, alpha)
        return System(*parts, dt=dt)

    def impulse(self, *args, **kwargs):
        """The response to an impulse."""
        return NAMES["impulse" if self.dt is None else "dimpulse"](self, *args, **kwargs)

    def step(self, *args, **kwargs):
        """The response to a step."""
        return NAMES["step" if self.dt is None else "dstep"](self, *args, **kwargs)

    def output(self, *args, **kwargs):
        """The response to an input."""
        return NAMES["lsim" if self.dt is None else "dlsim"](self, *args, **kwargs)

    def bode(self, *args, **kwargs):
        """Magnitude and phase by frequency."""
        return NAMES["bode" if self.dt is None else "dbode"](self, *args, **kwargs)

    def freqresp(self, *args, **kwargs):
        """The response by frequency."""
        return NAMES["freqresp" if self.dt is None else "dfreqresp"](self, *args, **kwargs)


def _itself(part, normalized):
    """The array that a matrix was given as, or a view of it, where SciPy's object holds that and no copy."""
    plain = raw(part)
    if not isinstance(plain, np.ndarray) or plain.dtype != raw(normalized).dtype or plain.size != normalized.size:
        return normalized
    part = ag.asarray(part)
    return part if part.shape == normalized.shape else ag.reshape(part, normalized.shape)


def _class(name, discrete=False):
    theirs = getattr(signal, name)

    class Made(System):
        def __new__(cls, *system, **kwargs):
            ours = len(system) == 1 and isinstance(system[0], System)
            if not ours and not holds_tensor((system, kwargs)):
                return theirs(*system, **kwargs)
            if ours:
                convert = {"TransferFunction": "to_tf", "ZerosPolesGain": "to_zpk", "StateSpace": "to_ss"}.get(name)
                return getattr(system[0], convert)() if convert else system[0]
            if holds_tensor(kwargs, grad=True):
                raise NotDifferentiable(f"arraygrad.scipy.signal.{name}: dt requires grad, but has no rule here")
            theirs(*[raw(part) for part in system], **{key: raw(value) for key, value in kwargs.items()})  # its checks
            if len(system) == 2:
                system = normalized_whole(*system)
            elif len(system) == 3:
                system = (*[ag.reshape(ag.asarray(part), (-1,)) for part in system[:2]], system[2])
            elif len(system) == 4:
                normalized = [ag.asarray(part) for part in NAMES["abcd_normalize"](*system)]
                system = [_itself(part, made) for part, made in zip(system, normalized, strict=True)]
            dt = kwargs.get("dt", True if discrete else None)
            return System(*system, dt=raw(dt) if dt is not True else 1.0)

    Made.__name__ = Made.__qualname__ = name
    Made.__doc__ = f"scipy.signal.{name}: SciPy's own of plain arrays, a `System` of Tensors.\n\n{theirs.__doc__ or ''}"
    CHAPTER.object(name, "system", "as the functions")(Made)


for _name in ("lti", "dlti", "TransferFunction", "ZerosPolesGain", "StateSpace"):
    _class(_name, _name == "dlti")
