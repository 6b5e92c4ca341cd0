"""Mistakes that a type checker finds: each line below that ends in `error` has one, and no other line has."""

import numpy as np
from numpy.typing import NDArray

import arraygrad as ag
import arraygrad.numpy as anp
from arraygrad.scipy import special, stats


def loss(w: NDArray[np.float64], scale: float) -> float:
    return float(np.sum(w)) * scale


w = np.ones(3)
ag.grad(loss)(w)  # error
ag.grad(loss)(w, "two")  # error
ag.value_and_grad(loss)(w, 1.0)[2]  # error
ag.grad(3.0)  # error
ag.sin(None)  # error
t = ag.tensor([1.0])
t.unsqueeze(0)  # error
t.sum(dim=0)  # error
t.backwards()  # error
t.requires_grad = "yes"  # error
t.grad = np.ones(1)  # error
ag.cat([t, t])  # error
np.sum(t).backwards()  # error
np.sum(t).item(0)
t.numpy().requires_grad = True  # error
anp.linalg.norm(t).norm()  # error
anp.interp(t, t)  # error
special.gammaln(t).unsqueeze(0)  # error
stats.norm.logpdf(t).add(1.0)  # error
anp.array([1.0]).cuda()  # error
ag.sum(t, axis="rows")  # error
t.mean(axis="rows")  # error
ag.tensor([1.0], require_grad=True)  # error
ag.grad(loss, argnum=1)  # error
ag.grad(loss, argnums="w")  # error
ag.value_and_grad(loss)(w, 1.0).sum()  # error
t.backward(retain=True)  # error
ag.matmul(t)  # error
ag.hessian(loss)(w, 1.0).backward()  # error
ag.jvp(loss, (w, 1.0))  # error
ag.where(t > 0, t)  # error
ag.stack([t], dim=0)  # error
total: str = t.sum()  # error
t.requires_grad_("no")  # error
ag.grad(loss)(w, 1.0).backward()  # error
with ag.no_grad:  # error
    pass
ag.jacobian(loss, w)  # error
ag.concat(t, t)  # error
np.linalg.norm(t).unsqueeze(0)  # error
t.reshape(2, "3")  # error
t.reshape((2, np.int64(3)))
t.transpose("xy")  # error
t.transpose(None)
t.item("x")  # error
t.swapaxes("x", "y")  # error
ag.gradcheck(loss, w, eps="small")  # error
ag.zeros("3")  # error
