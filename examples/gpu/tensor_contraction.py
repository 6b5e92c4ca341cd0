"""cuTENSOR in a primitive: a contraction of two tensors, and its gradients, which are contractions too.

Needs cuTENSOR besides CuPy (pip install cutensor-cu12). Without it use `ag.einsum` or `ag.tensordot`.
"""

import cupy
import numpy as np

import arraygrad as ag

A, B, C = ("i", "k", "l"), ("l", "k", "j"), ("i", "j")


def contract(a, modes_a, b, modes_b, modes_c):
    """The sum of a * b over the modes that `modes_c` does not have."""
    from cupyx import cutensor

    lengths = {**dict(zip(modes_a, a.shape, strict=True)), **dict(zip(modes_b, b.shape, strict=True))}
    out = cupy.empty([lengths[m] for m in modes_c], dtype=a.dtype)
    modes = [cutensor.create_mode(*m) for m in (modes_a, modes_b, modes_c)]
    a, b = cupy.ascontiguousarray(a), cupy.ascontiguousarray(b)
    return cutensor.contraction(1.0, a, modes[0], b, modes[1], 0.0, out, modes[2])


@ag.primitive
def product(a, b):
    """c[i, j] = sum over k and l of a[i, k, l] b[l, k, j]."""
    return contract(a, A, b, B, C)


product.defvjp(
    lambda ans, a, b: lambda g: contract(g, C, b, B, A),
    lambda ans, a, b: lambda g: contract(a, A, g, C, B),
)


def loss(a, b):
    """Any function of arraygrad's around it."""
    return ag.sum(ag.sin(product(a, b)))


def check():
    """Whether the gradients are those of finite differences."""
    rng = np.random.default_rng(0)
    arrays = cupy.asarray(rng.normal(size=(2, 3, 4))), cupy.asarray(rng.normal(size=(4, 3, 2)))
    return ag.gradcheck(loss, tuple(ag.asarray(a, requires_grad=True) for a in arrays))


if __name__ == "__main__":
    print("gradients agree with finite differences:", check())
