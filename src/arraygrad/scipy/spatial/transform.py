"""scipy.spatial.transform: rotations whose quaternions are Tensors.

May import: arraygrad, core.tensor, scipy._declare, scipy._guards, scipy._values, numpy, SciPy.

A rotation of plain arrays is SciPy's own object. One of Tensors is a `Recorded`: a unit quaternion (x, y, z, w) and
recorded operations. Sources: Shuster (1993), A survey of attitude representations; Shoemake (1985) for Slerp.
"""

import copy
import functools
import math

import numpy as np
from scipy.spatial import transform as _transform

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._declare import Chapter, mirror, raw
from arraygrad.scipy._guards import NotDifferentiable, holds_tensor, taken_down
from arraygrad.scipy._values import at_value, undefined_where

__all__ = ["Recorded", "Rotation", "Slerp"]

_CHAPTER = Chapter("spatial.transform", _transform)
SHUSTER = "Shuster (1993)"


def _floating(a):
    a = ag.asarray(a)
    return a if raw(a).dtype == np.float64 else ag.astype(a, ag.float64)


def _norm(v):
    """The length of the last axis, kept; its gradient is zero where it is."""
    return ag.linalg.vector_norm(v, axis=-1, keepdims=True)


def _half_sine(square):
    """sin(a / 2) / a as a function of a^2, smooth at zero."""
    small = np.asarray(raw(square)) < 1e-3
    angle = ag.sqrt(ag.where(small, 1.0, square))
    series = 0.5 + square * (-1.0 / 48.0 + square * (1.0 / 3840.0 - square / 645120.0))
    return ag.where(small, series, ag.sin(0.5 * angle) / angle)


def _product(p, q):
    """The product of quaternions: p after q."""
    (a, s), (b, t) = ((v[..., :3], v[..., 3:]) for v in (p, q))
    a, b = ag.broadcast_arrays(a, b)
    cross = ag.linalg.cross(a, b)
    return ag.concat([s * b + t * a + cross, s * t - ag.sum(a * b, axis=-1, keepdims=True)], axis=-1)


def _unit(q):
    """SciPy normalises products; of unit quaternions that changes the derivative alone."""
    return q / _norm(q)


def _leading(form, vector):
    """The eigenvector of the largest eigenvalue of symmetric matrices, near `vector`, which is it.

    By two steps of Rayleigh quotient iteration (Parlett 1998, section 4.6), recorded: the first has the derivatives up
    to the second. Unlike the rule of eigh they need a gap at this eigenvalue alone.
    """
    sizes = np.linalg.eigvalsh(np.asarray(raw(form)))
    if np.any(sizes[..., -1] - sizes[..., -2] <= 1e-14 * sizes[..., -1]):
        return ag.linalg.eigh(form)[1][..., -1]
    v = ag.asarray(vector)
    ends = np.zeros((*v.shape, 1))[..., :1, :], np.append(np.zeros(4), 1.0)[:, None]
    for _ in range(2):
        quotient = ag.sum(v * ag.matmul(form, v[..., None])[..., 0], axis=-1) / ag.sum(v * v, axis=-1)
        shifted = form - quotient[..., None, None] * np.eye(4)
        above = ag.concat([shifted, v[..., :, None]], axis=-1)
        below = ag.concat([v[..., None, :], ag.asarray(ends[0])], axis=-1)
        v = ag.linalg.solve(ag.concat([above, below], axis=-2), ends[1])[..., :4, 0]
    return _unit(v)


class Recorded:
    """A rotation, or a stack of them, of a Tensor of quaternions; the methods are those of SciPy's Rotation."""

    def __init__(self, quaternions):
        self._q = quaternions

    single = property(lambda self: self._q.ndim == 1)
    scipy_object = property(lambda self: _transform.Rotation.from_quat(np.asarray(raw(self._detached()))))

    @property
    def _value(self):
        """SciPy's rotation of the plain quaternions, for what is constant."""
        return _transform.Rotation(np.asarray(raw(self._q)), normalize=False)

    def _detached(self):
        if self._q.requires_grad:
            raise TypeError("arraygrad.scipy.spatial.transform: the rotation requires grad, and this has no rule here")
        return self._q

    def __len__(self):
        if self.single:
            raise TypeError("Single rotation has no len().")
        return self._q.shape[0]

    def __getitem__(self, index):
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Recorded(self._q[index])

    def __mul__(self, other):
        return Recorded(_unit(_product(self._q, _quaternions(other))))

    def __rmul__(self, other):
        return Recorded(_unit(_product(_quaternions(other), self._q)))

    def __pow__(self, n, modulus=None):
        if modulus is not None:
            return self._value.__pow__(n, modulus)  # SciPy says that it takes none
        power = np.asarray(raw(n))
        if power.size == 1 and power in (-1, 0, 1):
            # SciPy takes these as they are: other powers have the quaternion of the smallest angle.
            whole = {-1: self.inv, 0: self._identity, 1: lambda: self}[int(power.item())]()
            if power == 0 or not holds_tensor(n, grad=True):
                return whole
            found = Rotation.from_rotvec(self.as_rotvec() * n)._q
            turned = np.sum(np.asarray(raw(found)) * np.asarray(raw(whole._q)), axis=-1, keepdims=True) < 0
            return Recorded(found * np.where(turned, -1.0, 1.0))
        return Rotation.from_rotvec(self.as_rotvec() * n)

    def _identity(self):
        return Recorded(self._q * 0.0 + np.array([0.0, 0.0, 0.0, 1.0]))

    def inv(self):
        """The inverse."""
        return Recorded(self._q * np.array([-1.0, -1.0, -1.0, 1.0]))

    def apply(self, vectors, inverse=False):
        """The rotated vectors."""
        matrix = self.as_matrix()
        matrix = ag.matrix_transpose(matrix) if inverse else matrix
        return ag.matmul(matrix, _floating(vectors)[..., None])[..., 0]

    def as_quat(self, canonical=False, *, scalar_first=False):
        """Quaternions."""
        q = self._canonical() if canonical else self._q
        return ag.roll(q, 1, axis=-1) if scalar_first else q

    def _canonical(self):
        """Of the two quaternions the one whose first element from the last that is not zero is positive."""
        values = np.asarray(raw(self._q))[..., [3, 0, 1, 2]]
        first = np.take_along_axis(values, np.argmax(values != 0, axis=-1)[..., None], axis=-1)
        return self._q * np.where(first < 0, -1.0, 1.0)

    def as_matrix(self):
        """Matrices."""
        x, y, z, w = (self._q[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
            [2.0 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2.0 * (y * z - x * w)],
            [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return ag.stack([ag.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees=False):
        """Rotation vectors."""
        q = self._canonical()
        v, w = q[..., :3], q[..., 3:]
        square = ag.sum(v * v, axis=-1, keepdims=True)
        small = np.asarray(raw(square)) < 1e-6
        length = ag.sqrt(ag.where(small, 1.0, square))
        ratio = square / (w * w)  # of the small ones, whose w is near 1
        series = (2.0 - ratio * (2.0 / 3.0 - ratio * 0.4)) / w
        scale = ag.where(small, ag.where(small, series, 0.0), 2.0 * ag.atan2(length, w) / length)
        return v * scale * (180.0 / math.pi if degrees else 1.0)

    def as_mrp(self):
        """Modified Rodrigues parameters."""
        q = self._q * np.where(np.asarray(raw(self._q))[..., 3:] < 0, -1.0, 1.0)
        return q[..., :3] / (1.0 + q[..., 3:])

    def as_euler(self, seq, degrees=False, **further):
        """Angles about three axes; at a gimbal lock they have no derivative: nan, with the warning of SciPy."""
        value = self._value.as_euler(seq, degrees=degrees, **further)  # SciPy's own checks too
        inner = seq.isupper()
        axes = ["xyz".index(letter) for letter in seq.lower()]
        i, j, k = axes if inner else axes[::-1]
        second = value[..., 1:2] * (math.pi / 180.0 if degrees else 1.0) + (0.0 if i == k else 0.5 * math.pi)
        locked = np.abs(np.sin(second)) <= 1.1e-7  # SciPy's bound of the angle is 1e-7
        generic = np.array([0.1, 0.2, 0.3, 0.86**0.5])
        matrix = (Recorded(ag.where(locked, generic, self._q)) if np.any(locked) else self).as_matrix()
        m = lambda a, b: matrix[..., a, b]
        third = 3 - i - j
        e = 1.0 if (j - i) % 3 == 1 else -1.0
        if i != k:
            a = ag.atan2(-e * m(j, k), m(k, k))
            b = ag.atan2(e * m(i, k), ag.sqrt(m(i, i) ** 2 + m(i, j) ** 2))
            c = ag.atan2(-e * m(i, j), m(i, i))
        else:
            a = ag.atan2(m(j, i), -e * m(third, i))
            b = ag.atan2(ag.sqrt(m(i, j) ** 2 + m(i, third) ** 2), m(i, i))
            c = ag.atan2(m(i, j), e * m(i, third))
        found = ag.stack([a, b, c] if inner else [c, b, a], axis=-1)
        found = found * (180.0 / math.pi if degrees else 1.0)
        if np.any(locked):
            what = "a gimbal lock, where SciPy sets the third angle to zero"
            every = np.broadcast_to(locked, value.shape)
            none = ag.broadcast_to(ag.sum(self._q, axis=-1, keepdims=True), value.shape)
            found = ag.where(every, undefined_where(every, none, "spatial.transform.Rotation.as_euler", what), found)
        return at_value(found, value)

    def as_davenport(self, *_, **__):
        """Davenport angles: they have no rule here."""
        self._without("as_davenport", "as_euler")

    def approx_equal(self, other, atol=None, degrees=False):
        """Whether the rotation is another one, which is constant."""
        return self._value.approx_equal(_valued(other), atol, degrees)

    def reduce(self, left=None, right=None, return_indices=False):
        """The rotation times those of two groups that make its angle smallest; which they are is constant."""
        if left is None and right is None:
            chosen, found = (None, None), self
        else:
            groups = [None if one is None else _valued(one) for one in (left, right)]
            _, *chosen = self._value.reduce(*groups, return_indices=True)
            found = self if left is None else _at(left, chosen[0], self.single) * self
            found = found if right is None else found * _at(right, chosen[1], self.single)
        return (found, *chosen) if return_indices else found

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        getattr(self._value, name)  # SciPy's own error of a name that it lacks
        self._without(name, "as_matrix")

    def _without(self, name, instead):
        raise NotDifferentiable(
            f"arraygrad.scipy.spatial.transform.Rotation.{name}: the rotation holds a Tensor, and this has no rule "
            f"here: compose it of {instead}, or take the rotation of the Tensor's detach().numpy() if no gradient is "
            "wanted"
        )

    def magnitude(self):
        """Angles of rotation."""
        w = ag.abs(self._q[..., 3])
        return 2.0 * ag.atan2(_norm(self._q[..., :3])[..., 0], w)

    def mean(self, weights=None, axis=None):
        """The mean in the sense of Markley et al. (2007)."""
        # SciPy's own checks come first, and the sign of its result.
        mean = self._value.mean(raw(weights), *(() if axis is None else (raw(axis),))).as_quat()
        q = self._q[None, :] if self.single else self._q
        ndim = q.ndim - 1
        axes = range(ndim) if axis is None else {a % ndim for a in np.atleast_1d(axis).tolist()}
        form = q[..., :, None] * q[..., None, :]
        if weights is not None:
            form = form * ag.asarray(weights)[..., None, None]
        form = ag.sum(form, axis=tuple(sorted(axes))) if axes else form
        return Recorded(_leading(form, mean))

    def __repr__(self):
        return f"Rotation.from_quat({self._q!r})"


class _Fixed(_transform.Rotation):
    """SciPy's rotation of constants, which a Tensor may meet: vectors, exponents and rotations that hold one."""

    def apply(self, vectors, inverse=False):
        """The rotated vectors."""
        if holds_tensor(vectors):
            return Recorded(_quaternions(self)).apply(vectors, inverse)
        return super().apply(vectors, inverse)

    def inv(self):
        """The inverse."""
        return _fixed(super().inv())

    def __mul__(self, other):
        return NotImplemented if isinstance(other, Recorded) else _fixed(super().__mul__(other))

    def __pow__(self, n, modulus=None):
        if holds_tensor(n):
            return Recorded(_quaternions(self)) ** n
        return _fixed(super().__pow__(n, modulus))

    def __getitem__(self, index):
        return _fixed(super().__getitem__(index))

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])


def _fixed(rotation):
    """SciPy's rotation as one that a Tensor may meet."""
    if type(rotation) is not _transform.Rotation:
        return rotation
    return _Fixed(rotation.as_quat(), normalize=False)


def _valued(rotation):
    """SciPy's rotation of the values of one of ours."""
    return rotation._value if isinstance(rotation, Recorded) else rotation


def _at(group, index, single):
    """Members of a group of rotations, chosen by constant indices."""
    q = _quaternions(group)
    q = q if q.ndim > 1 else q[None, :]
    index = np.ravel(index)
    return Recorded(q[index[0]] if single else ag.take(q, index, axis=0))


def _quaternions(rotation):
    """The quaternions of a rotation of ours or of SciPy's."""
    return rotation._q if isinstance(rotation, Recorded) else ag.asarray(rotation.as_quat())


class Rotation:
    """scipy.spatial.transform.Rotation: SciPy's own of plain arrays, a `Recorded` of Tensors."""

    def __new__(cls, quat, normalize=True, copy=True, scalar_first=False):
        if not normalize and holds_tensor(quat):
            q = _floating(quat)
            return Recorded(ag.roll(q, -1, axis=-1) if scalar_first else q)
        return cls.from_quat(quat, **({"scalar_first": True} if scalar_first else {}))

    @staticmethod
    def _made(name, args, kwargs, make):
        if not holds_tensor((args, kwargs)):
            return _fixed(getattr(_transform.Rotation, name)(*args, **kwargs))
        # SciPy's own checks come first. They get copies: of stacks with several axes from_matrix writes the nearest
        # rotation matrices into its argument.
        copied = [copy.deepcopy(raw(a)) for a in args], {k: copy.deepcopy(raw(v)) for k, v in kwargs.items()}
        getattr(_transform.Rotation, name)(*copied[0], **copied[1])
        return Recorded(make(*args, **kwargs))

    @classmethod
    def from_quat(cls, *args, **kwargs):
        """Of quaternions (x, y, z, w), normalised."""

        def make(quat, *, scalar_first=False):
            q = _floating(quat)
            q = ag.roll(q, -1, axis=-1) if scalar_first else q
            return q / _norm(q)

        return cls._made("from_quat", args, kwargs, make)

    @classmethod
    def from_matrix(cls, *args, **kwargs):
        """Of rotation matrices; of one that is not orthogonal the nearest, as SciPy has it."""

        def make(matrix, *, assume_valid=False):
            m = _floating(matrix)
            return _of_matrix(m if assume_valid or not _takes_the_nearest() else _nearest(m))

        return cls._made("from_matrix", args, kwargs, make)

    @classmethod
    def from_rotvec(cls, *args, **kwargs):
        """Of rotation vectors."""

        def make(rotvec, degrees=False):
            v = _floating(rotvec) * (math.pi / 180.0 if degrees else 1.0)
            square = ag.sum(v * v, axis=-1, keepdims=True)
            half = 0.5 * _norm(v)
            small = np.asarray(raw(square)) < 1e-3
            cosine = ag.where(small, 1.0 - square * (0.125 - square * (1.0 / 384.0 - square / 46080.0)), ag.cos(half))
            return ag.concat([v * _half_sine(square), cosine], axis=-1)

        return cls._made("from_rotvec", args, kwargs, make)

    @classmethod
    def from_mrp(cls, *args, **kwargs):
        """Of modified Rodrigues parameters."""

        def make(mrp):
            p = _floating(mrp)
            square = ag.sum(p * p, axis=-1, keepdims=True)
            return ag.concat([2.0 * p, 1.0 - square], axis=-1) / (1.0 + square)

        return cls._made("from_mrp", args, kwargs, make)

    @classmethod
    def from_euler(cls, *args, **kwargs):
        """Of angles about axes."""

        def make(seq, angles, degrees=False):
            angles = _floating(angles) * (math.pi / 180.0 if degrees else 1.0)
            if len(seq) == 1:
                angles = angles[..., None] if angles.ndim == 0 or angles.shape[-1] != 1 else angles
            inner, found = seq.isupper(), None
            for i, letter in enumerate(seq.lower()):
                half = 0.5 * angles[..., i : i + 1]
                axis = np.eye(3)["xyz".index(letter)]
                q = ag.concat([ag.sin(half) * axis, ag.cos(half)], axis=-1)
                found = q if found is None else _product(found, q) if inner else _product(q, found)
            return found

        return cls._made("from_euler", args, kwargs, make)

    @classmethod
    def concatenate(cls, rotations):
        """One stack of several."""
        if not any(isinstance(one, Recorded) for one in rotations):
            return _transform.Rotation.concatenate(rotations)
        parts = [_quaternions(one) for one in rotations]
        return Recorded(ag.concat([q if q.ndim > 1 else q[None, :] for q in parts], axis=0))

    @staticmethod
    def identity(*args, **kwargs):
        """The rotation by nothing."""
        return _fixed(_transform.Rotation.identity(*args, **kwargs))

    @staticmethod
    def random(*args, **kwargs):
        """Rotations drawn at random, which are constants."""
        return _fixed(_transform.Rotation.random(*args, **kwargs))

    @staticmethod
    def create_group(*args, **kwargs):
        """The rotations of a group."""
        return _fixed(_transform.Rotation.create_group(*args, **kwargs))

    @staticmethod
    def align_vectors(a, b, *args, **kwargs):
        """The rotation that turns one set of vectors best to another; it has no rule."""
        if holds_tensor((a, b, args, kwargs), grad=True):
            raise NotDifferentiable(
                "arraygrad.scipy.spatial.transform.Rotation.align_vectors: an argument requires grad, but it has no "
                "rule here: compose the rotation of arraygrad.linalg.svd of a.T @ b (Kabsch 1976), or pass detach()"
            )
        found = _transform.Rotation.align_vectors(raw(a), raw(b), *raw(args), **raw(kwargs))
        return (_fixed(found[0]), *found[1:])


@functools.cache
def _takes_the_nearest():
    """Whether this SciPy takes the nearest rotation of a matrix; older ones take the quaternion of its elements."""
    probe = np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3) ** 0.5
    u, _, v = np.linalg.svd(probe)
    return bool(np.allclose(_transform.Rotation.from_matrix(probe).as_matrix(), u @ v, atol=1e-9))


_FURTHER = 2  # steps from the limit: derivatives up to the seventh


def _nearest(m):
    """The orthogonal factor of the polar decomposition, by Newton's iteration (Higham 1986).

    The iteration is recorded, as the singular vectors of an orthogonal matrix have no derivative, but this factor has.
    An error of order n in a change of the matrix has the order 2 n after a step. So at the limit itself one step has
    the first derivative, and each further one twice as many, and one.
    """
    steps = _FURTHER
    for _ in range(100):
        before = np.asarray(raw(m))
        m = 0.5 * (m + ag.matrix_transpose(ag.linalg.inv(m)))
        if np.max(np.abs(np.asarray(raw(m)) - before), initial=0.0) < 1e-9:  # the next error is its square
            steps -= 1
            if steps < 0:
                break
    return m


def _of_matrix(m):
    """Quaternions of rotation matrices, by the largest of their elements (Shepperd 1978)."""
    at = lambda i, j: m[..., i, j]
    trace = at(0, 0) + at(1, 1) + at(2, 2)
    found, sizes = [], []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts = [None] * 4
        parts[i] = 1.0 + 2.0 * at(i, i) - trace
        parts[j], parts[k], parts[3] = at(j, i) + at(i, j), at(k, i) + at(i, k), at(k, j) - at(j, k)
        found.append(ag.stack(parts, axis=-1))
        sizes.append(at(i, i))
    found.append(ag.stack([at(2, 1) - at(1, 2), at(0, 2) - at(2, 0), at(1, 0) - at(0, 1), 1.0 + trace], axis=-1))
    sizes.append(trace)
    chosen = np.argmax(np.stack([np.asarray(raw(s)) for s in sizes]), axis=0)
    q = 0.0
    for i, one in enumerate(found):
        q = q + ag.where((chosen == i)[..., None], one, 0.0)
    return q / _norm(q)


class _FixedSlerp(_transform.Slerp):
    """SciPy's interpolation of constant rotations, which may be asked for at times that are Tensors."""

    def __init__(self, times, rotations):
        super().__init__(times, rotations)
        self._given = (taken_down(times), rotations)

    def __call__(self, times):
        if holds_tensor(times):
            return Slerp(self._given[0], Recorded(_quaternions(self._given[1])))(times)
        return _fixed(super().__call__(times))


class Slerp:
    """scipy.spatial.transform.Slerp, differentiable in the rotations and in the times of evaluation."""

    def __new__(cls, times, rotations):
        if not isinstance(rotations, Recorded):
            return _FixedSlerp(times, rotations)
        return super().__new__(cls)

    def __init__(self, times, rotations):
        if isinstance(times, Tensor) and times.requires_grad:
            raise NotDifferentiable("arraygrad.scipy.spatial.transform.Slerp: times of the rotations have no rule")
        _transform.Slerp(raw(times), rotations._value)  # SciPy's own checks
        self.times = np.array(raw(times), dtype=float)
        self.rotations = rotations[:-1]
        self._steps = (rotations[:-1].inv() * rotations[1:]).as_rotvec()

    def __call__(self, times):
        t = _floating(times)
        values = np.asarray(raw(t))
        if np.any((values < self.times[0]) | (values > self.times[-1])):
            raise ValueError("interpolation times must be within the range of the rotations' times")
        place = np.clip(np.searchsorted(self.times, values, side="right") - 1, 0, self.times.size - 2)
        share = (t - self.times[place]) / (self.times[place + 1] - self.times[place])
        return self.rotations[place] * Rotation.from_rotvec(self._steps[place] * share[..., None])


_CHAPTER.object("Rotation", "quat matrix rotvec angles mrp vectors", SHUSTER)(Rotation)
_CHAPTER.object("Slerp", "rotations times", "Shoemake (1985)")(Slerp)

__getattr__, __dir__ = mirror(globals(), _transform)
