"""Checks for tests: gradients against finite differences, and arrays against Tensors.

May import: core, autograd. Begin with `gradients.py`.
"""

from arraygrad.testing.gradients import GradcheckError, assert_allclose, gradcheck, gradgradcheck

__all__ = ["GradcheckError", "assert_allclose", "gradcheck", "gradgradcheck"]
