"""Transforms of functions that run as their caller does: adopted in an adopted call, as they are elsewhere.

May import: transforms.gradients, the standard library.

Solvers and rules differentiate functions that a program has handed to them, often once for each evaluation. Such a
function follows the call that it belongs to (Note [Called later] in adoption/exchange.pyx), so nothing is searched or
exchanged for it.
"""

import functools

from arraygrad.transforms import gradients

__all__ = ["grad", "jacobian", "jvp", "value_and_grad", "vjp"]

grad = functools.partial(gradients.grad, adopt=False)
jacobian = functools.partial(gradients.jacobian, adopt=False)
jvp = functools.partial(gradients.jvp, adopt=False)
value_and_grad = functools.partial(gradients.value_and_grad, adopt=False)
vjp = functools.partial(gradients.vjp, adopt=False)
