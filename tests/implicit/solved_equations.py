"""Initial value problems, solved by SciPy's names or by ours."""

import numpy as np

__all__ = ["solved"]


def solved(library, method, f, at, end=1.0, **options):
    """solve(y0, k): values (n, m) at the times `at` of dy/dt = f(t, y, k), by solve_ivp's `method` or by odeint."""
    if method == "odeint":
        how = {key: options[key] for key in ("rtol", "atol") if key in options}
        return lambda y0, k: library.odeint(f, y0, np.append(0.0, at), (k,), tfirst=True, **how)[1:].T
    return lambda y0, k: library.solve_ivp(f, (0.0, end), y0, method, at, args=(k,), **options).y
