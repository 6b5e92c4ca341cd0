"""Gradients through solved problems: roots, minima, fixed points, linear systems and initial value problems.

May import: core, engine, ops, transforms. Begin with `problems.py`.
"""

from arraygrad.implicit.problems import ConvergenceError, fixed_point, linear_solve, minimize, root, solve_ivp

__all__ = ["ConvergenceError", "fixed_point", "linear_solve", "minimize", "root", "solve_ivp"]
