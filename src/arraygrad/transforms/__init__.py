"""Functions of functions: gradients, products with Jacobians, Hessians.

May import: core, ops, autograd, numpy_api. Begin with `gradients.py` (the public functions), then `tracked_call.py`.
"""

from arraygrad.transforms.gradients import (
    elementwise_grad,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from arraygrad.transforms.trees import (
    ravel_tree,
    register_container,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_unflatten,
)

__all__ = [
    "elementwise_grad",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linearize",
    "ravel_tree",
    "register_container",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_unflatten",
    "value_and_grad",
    "vjp",
]
