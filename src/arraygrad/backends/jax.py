"""Backend of jax.Array: immutable arrays, so a write makes a new one.

May import: backends.generic, backends.repaired, jax.

Arrays are concrete: inside jax.jit, jax.grad and the like JAX hands out tracers, which have no values. Those are
refused; `arraygrad.interop.as_jax` is the way to use arraygrad there.
"""

import jax
import jax.numpy as jnp

from arraygrad.backends import attach
from arraygrad.backends.generic import GenericBackend
from arraygrad.backends.repaired import RepairedNamespace, one_triangle

__all__ = ["JaxBackend", "raw_namespace", "register"]


class JaxBackend(GenericBackend):
    """jax.Array: never written in place; float64 only where jax_enable_x64 is set."""

    def device_key(self, device):
        """None for the first CPU device, ("jax", platform, number) for others, with all numbers for a sharding."""
        if isinstance(device, jax.Device):
            return None if device.platform == "cpu" and not device.id else ("jax", device.platform, device.id)
        if isinstance(device, jax.sharding.Sharding):
            devices = sorted(device.device_set, key=lambda d: d.id)
            return ("jax", devices[0].platform, tuple([d.id for d in devices]))
        return None if device is None else ("jax", str(device))

    def device_of(self, array):
        """The array's device; its Sharding where it lies on several."""
        return array.device

    def conform(self, meta, grad, realify):
        """As for any library; a gradient spread over the same devices in another way is spread as the value was."""
        spread = meta.device
        if isinstance(spread, jax.sharding.Sharding) and isinstance(grad, jax.Array):
            if grad.shape != meta.shape:
                grad = self._sum_to(meta, grad, grad.shape)
            if grad.sharding.device_set == spread.device_set:
                grad = jax.device_put(grad, spread)
        return super().conform(meta, grad, realify)

    def clone(self, array, like):
        """The array itself: nobody can write into it."""
        return array

    def asarray(self, obj, dtype, device):
        """An array, moved to `device` where one is named; a scalar beside a sharded array goes where it is needed."""
        array = obj if isinstance(obj, jax.Array) and dtype in (None, obj.dtype) else jnp.asarray(obj, dtype=dtype)
        if device is None or (isinstance(device, jax.sharding.Sharding) and not array.ndim):
            return array
        return jax.device_put(array, device)

    def to_device(self, array, device):
        """`array` on `device`."""
        return jax.device_put(array, device)

    def write(self, raw, key, value):
        """A copy of `raw` with `value`, cast to its dtype, at `key`."""
        return raw.at[key].set(jnp.asarray(value).astype(raw.dtype))


# JAX's own would take the mean of both triangles.
_raw = RepairedNamespace(jnp, {}, linalg=one_triangle(jnp, mirror=True))


def raw_namespace():
    """jax.numpy, with functions of Hermitian matrices that read one triangle as NumPy's do."""
    return _raw


with jax.ensure_compile_time_eval():  # this module may be imported while JAX traces a function
    _array_type = type(jnp.zeros(0))

BACKEND = JaxBackend("jax", _raw, _array_type, False)
attach(BACKEND, "jax", _array_type)


def register(obj):
    """The backend of concrete arrays; tracers are refused with the way out."""
    if isinstance(obj, jax.core.Tracer):
        raise TypeError(
            f"{type(obj).__name__} stands for an array while JAX transforms a function (jit, grad, vmap, ...) and has "
            "no values, so arraygrad can't record it: give the function to arraygrad.interop.as_jax(f), and that to JAX"
        )
    return BACKEND
