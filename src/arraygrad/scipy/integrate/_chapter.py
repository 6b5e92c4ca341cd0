"""The chapter that functions of scipy.integrate are declared in.

May import: scipy._declare, SciPy.
"""

from scipy import integrate

from arraygrad.scipy._declare import Chapter

__all__ = ["CHAPTER", "NAMES"]

CHAPTER = Chapter("integrate", integrate)
NAMES = CHAPTER.names
CHAPTER.no_rule("it has no rule; discretise the problem and use arraygrad.implicit.root", "solve_bvp")
CHAPTER.constants("lebedev_rule")
CHAPTER.classes("the steps of a solver have no rule; solve_ivp(fun, (t0, t_bound), y0, args=...) has one",
                "OdeSolver", "OdeSolution", "DenseOutput",
                "RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA", "ode", "complex_ode")  # fmt: skip
