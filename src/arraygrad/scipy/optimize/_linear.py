"""Linear problems: assignments, programs at a vertex, least squares with signs or bounds.

May import: arraygrad, core.tensor, scipy._declare, scipy._callbacks, scipy.optimize._chapter, numpy, SciPy. Which
constraints are active is taken as locally constant.
"""

import numpy as np
from scipy import optimize

import arraygrad as ag
from arraygrad.core.tensor import Tensor
from arraygrad.scipy._callbacks import tracked
from arraygrad.scipy._declare import raw
from arraygrad.scipy._guards import NotDifferentiable, helping
from arraygrad.scipy.optimize._chapter import AT_BOUND, CHAPTER, TOLERANCE, Unconverged, recorded_result

__all__ = []

VERTEX = "the active constraints as equations"
ACTIVE = 1e-8

CHAPTER.constants("linear_sum_assignment")


@CHAPTER.composition("quadratic_assignment", "A B", "by selection")
def _quadratic_assignment(A, B, method="faq", options=None):
    result = optimize.quadratic_assignment(raw(A), raw(B), method, options)
    order = result.col_ind
    moved = ag.take(ag.take(ag.asarray(B), order, axis=0), order, axis=1)
    result.fun = ag.sum(ag.asarray(A) * moved)
    return result


def _dense(name, A):
    """A matrix as one array, recorded where it is; SciPy's solvers take sparse ones, too."""
    if hasattr(A, "matvec") and not hasattr(A, "toarray"):
        raise NotDifferentiable(
            f"arraygrad.scipy.optimize.{name}: the derivative needs the elements of the matrix, but a LinearOperator "
            "was found: pass an array or a sparse matrix"
        )
    return ag.asarray(A.toarray() if hasattr(A, "toarray") else A)


def _pseudo_solved(a, b):
    return ag.matmul(ag.linalg.pinv(a), b)


@CHAPTER.by_composition("nnls", "A b", "normal equations of the free elements", inert="atol")
def _nnls(A, b, maxiter=None):
    A, b = ag.asarray(A), ag.asarray(b)
    x, _ = optimize.nnls(raw(A), raw(b))
    free = np.flatnonzero(x > 0)
    found = _pseudo_solved(ag.take(A, free, axis=1), b)
    spread = np.zeros((x.size, free.size))
    spread[free, np.arange(free.size)] = 1.0
    left = ag.matmul(ag.take(A, free, axis=1), found) - b
    return ag.matmul(ag.asarray(spread), found), ag.sqrt(ag.sum(left * left))


@CHAPTER.composition("lsq_linear", "A b bounds", "normal equations of the free elements")
def _lsq_linear(A, b, bounds=(-np.inf, np.inf), **options):
    result = optimize.lsq_linear(helping(A), raw(b), raw(bounds), **options)
    sparse = hasattr(A, "toarray")
    A, b = _dense("lsq_linear", A), ag.asarray(b)
    x = result.x
    low, high = (bounds.lb, bounds.ub) if hasattr(bounds, "lb") else bounds
    low, high = (b if isinstance(b, Tensor) else ag.asarray(b) for b in (low, high))
    active = _at_bounds(result, np.asarray(raw(low)), np.asarray(raw(high)))
    fixed = ag.where(active < 0, low, ag.where(active > 0, high, 0.0))
    free = np.flatnonzero(active == 0)
    spread = np.zeros((x.size, free.size))
    spread[free, np.arange(free.size)] = 1.0
    right = b - ag.matmul(A, fixed)
    found = ag.matmul(ag.asarray(spread), _pseudo_solved(ag.take(A, free, axis=1), right)) + fixed
    # SciPy's value, with the gradient of the solution where it is one.
    moved = _away(x, raw(found), [raw(A), raw(b), raw(low), raw(high)], active)
    if moved:
        found = Unconverged.apply("lsq_linear", x, moved, *[t for t in (A, b, low, high) if isinstance(t, Tensor)])
    else:
        found = found + (x - raw(found))
    found = ag.astype(found, x.dtype)
    fun = ag.astype(ag.matmul(A, found) - b, result.fun.dtype)
    further = {}
    if options.get("lsq_solver") in (None, "exact") and not sparse:
        further["unbounded_sol"] = _unbounded(A, b, result.unbounded_sol)
    return recorded_result(
        result, kept=("active_mask",), x=found, fun=fun, cost=0.5 * ag.sum(fun * fun), **further
    )  # fmt: skip


def _at_bounds(result, low, high):
    """-1 or 1 where an element is at its lower or upper bound, else 0. All raw.

    SciPy's own mask leaves out those that are farther from it than the tolerance of the search, even by rounding.
    """
    mask = np.asarray(result.active_mask)
    if result.status == 3:  # the solution without bounds
        return mask
    with np.errstate(invalid="ignore"):
        below = np.abs(result.x - low) <= AT_BOUND * (1.0 + np.abs(low))
        above = np.abs(result.x - high) <= AT_BOUND * (1.0 + np.abs(high))
    return np.where(mask != 0, mask, above.astype(int) - below)


def _away(x, exact, given, active):
    """How far the result x is from the solution; 0 where it is one, as `minimize` looks at it. All raw.

    A solution lies within the bounds, and at an active one the residual falls towards that bound.
    """
    A, b, low, high = (np.asarray(v) for v in given)
    size = 1.0 + np.max(np.abs(x), initial=0.0)
    moved = np.max(np.abs(x - exact), initial=0.0)
    beyond = np.max(np.maximum(np.maximum(low - exact, exact - high), 0.0), initial=0.0)
    slope = A.T @ (A @ exact - b)
    steep = np.max(active * slope, initial=0.0) / (1.0 + np.max(np.abs(slope), initial=0.0))
    return max(moved, beyond, steep) if moved > TOLERANCE * size or beyond > ACTIVE * size or steep > TOLERANCE else 0.0


def _unbounded(A, b, plain):
    """What np.linalg.lstsq returns: solution, residue, rank and singular values."""
    x = _pseudo_solved(A, b)
    left = ag.matmul(A, x) - b
    residue = plain[1] if not np.size(plain[1]) else ag.reshape(ag.sum(left * left), (1,))
    return x, residue, plain[2], ag.linalg.svdvals(A)


@CHAPTER.composition("linprog", "c A_ub b_ub A_eq b_eq", VERTEX)
def _linprog(c, A_ub=None, b_ub=None, A_eq=None, b_eq=None, bounds=(0, None), method="highs", callback=None,
             options=None, x0=None, integrality=None):  # fmt: skip
    if integrality is not None and np.any(integrality):
        raise NotDifferentiable("arraygrad.scipy.optimize.linprog: integers have no derivative")
    if tracked((bounds,)):
        raise NotDifferentiable(
            "arraygrad.scipy.optimize.linprog: bounds require grad: pass them as rows of A_ub, b_ub"
        )
    bounds = raw(bounds)
    result = optimize.linprog(
        raw(c), helping(A_ub), raw(b_ub), helping(A_eq), raw(b_eq), bounds, method, callback, options, x0
    )
    if not result.success:
        return result
    A_ub, A_eq = (None if A is None else _dense("linprog", A) for A in (A_ub, A_eq))
    x = result.x
    pairs = np.asarray([(None, None)] if bounds is None else bounds, dtype=object).reshape(-1, 2)
    pairs = np.broadcast_to(pairs, (x.size, 2))
    rows, right = [], []
    if A_ub is not None:
        slack = np.abs(np.asarray(raw(b_ub)) - np.asarray(raw(A_ub)) @ x)
        tight = np.flatnonzero(slack <= ACTIVE * (1.0 + np.abs(np.asarray(raw(b_ub)))))
        rows.append(ag.take(A_ub, tight, axis=0))
        right.append(ag.take(ag.asarray(b_ub), tight))
    if A_eq is not None:
        rows.append(A_eq)
        right.append(ag.asarray(b_eq))
    for i, (low, high) in enumerate(pairs):
        for bound in (low, high):
            if bound is not None and np.isfinite(bound) and abs(x[i] - bound) <= ACTIVE * (1.0 + abs(bound)):
                rows.append(ag.asarray(np.eye(x.size)[i : i + 1]))
                right.append(ag.asarray(np.array([float(bound)])))
                break
    count = sum(np.shape(raw(r))[0] for r in rows)
    whole = ag.concat([ag.astype(r, ag.float64) for r in rows], axis=0) if rows else None
    if count != x.size or np.linalg.matrix_rank(raw(whole)) < x.size:
        raise NotDifferentiable(
            f"arraygrad.scipy.optimize.linprog: {count} constraints are active at the solution of {x.size} elements: "
            "it is no simple vertex, and not differentiable"
        )
    x = ag.linalg.solve(whole, ag.concat([ag.astype(r, ag.float64) for r in right]))
    fields = {"x": x, "fun": ag.sum(ag.asarray(c) * x)}
    for name, matrix, side in (("slack", A_ub, b_ub), ("con", A_eq, b_eq)):
        if matrix is not None:
            fields[name] = ag.asarray(side) - ag.matmul(matrix, x)
    return recorded_result(result, **fields)


@CHAPTER.by_composition("rosen", "x", "definition")
def _rosen(x):
    x = ag.asarray(x)
    return ag.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2, axis=0)


@CHAPTER.by_composition("rosen_der", "x", "definition")
def _rosen_der(x):
    x = ag.asarray(x)
    left = x[1:] - x[:-1] ** 2
    zero = ag.zeros_like(x[:1])
    first = ag.concat([-400.0 * x[:-1] * left - 2.0 * (1.0 - x[:-1]), zero], axis=0)
    return first + ag.concat([zero, 200.0 * left], axis=0)


@CHAPTER.by_composition("rosen_hess", "x", "definition")
def _rosen_hess(x):
    x = ag.asarray(x)
    n = raw(x).shape[0]
    one = ag.asarray(np.zeros(1))
    diagonal = ag.concat([1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0, one]) + np.where(np.arange(n) > 0, 200.0, 0.0)
    beside = ag.concat([-400.0 * x[:-1], one])
    upper = beside[:, None] * np.eye(n, k=1)
    return diagonal[:, None] * np.eye(n) + upper + ag.matrix_transpose(upper)


@CHAPTER.by_composition("rosen_hess_prod", "x p", "definition")
def _rosen_hess_prod(x, p):
    return ag.matmul(_rosen_hess(x), ag.asarray(p))


@CHAPTER.composition("isotonic_regression", "y weights", "weighted means of the blocks; by selection")
def _isotonic_regression(y, *, weights=None, increasing=True):
    y = ag.asarray(y)
    result = optimize.isotonic_regression(raw(y), weights=raw(weights), increasing=increasing)
    blocks = np.repeat(np.arange(result.blocks.size - 1), np.diff(result.blocks))
    members = ag.asarray((blocks[None, :] == np.arange(result.blocks.size - 1)[:, None]).astype(float))
    w = ag.asarray(np.ones(blocks.size)) if weights is None else ag.asarray(weights)
    result.weights = ag.matmul(members, w)
    result.x = ag.take(ag.matmul(members, w * y) / result.weights, blocks)
    return result


_STEP = float(np.sqrt(np.finfo(float).eps))


@CHAPTER.composition("approx_fprime", "xk closure", "definition (differences)")
def _approx_fprime(xk, f, epsilon=_STEP, *args):
    x = ag.astype(ag.asarray(xk), ag.float64)
    steps = ag.broadcast_to(ag.astype(ag.asarray(epsilon), ag.float64), raw(x).shape)
    middle = f(x, *args)
    moved = [(ag.asarray(f(x + unit * step, *args)) - middle) / step
             for unit, step in zip(np.eye(x.shape[0]), (steps[i] for i in range(x.shape[0])), strict=True)]  # fmt: skip
    return ag.stack(moved, axis=-1)


CHAPTER.constants("linprog_verbose_callback", "show_options")
CHAPTER.no_rule("integers have no derivative", "milp")
CHAPTER.no_rule("it compares with differences, which is a check and no value", "check_grad")
CHAPTER.no_rule("it has no rule: it is a step of a search, and what is found does not depend on it", "line_search",
                "bracket")  # fmt: skip
CHAPTER.classes("it holds settings or results of a search, and computes nothing of them", "OptimizeResult",
                "RootResults")  # fmt: skip
CHAPTER.classes("an approximation that a search makes of its own steps", "BFGS", "SR1", "HessianUpdateStrategy",
                "BroydenFirst", "InverseJacobian", "KrylovJacobian", "LbfgsInvHessProduct")  # fmt: skip
