"""JAX on several devices: four pretended CPU devices, in a process of its own.

Imports the public names of arraygrad there.
"""

import os
import subprocess
import sys
import textwrap

from libraries import require

START = """
import threading
import jax, numpy as np, arraygrad as ag
xp, devices = ag.jax, jax.devices()
"""


def run(code):
    """What a program prints that has four devices and 64 bits."""
    require("jax")
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", START + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **flags},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def test_to_device_is_recorded_and_nodes_run_on_their_devices_thread():
    assert run("""
        x = ag.asarray(jax.device_put(np.arange(3.0), devices[0]), requires_grad=True)
        a = x.to_device(devices[1])
        b = a * a
        seen = []
        b.register_hook(lambda g: seen.append((threading.current_thread() is threading.main_thread(), g.device.id)))
        xp.sum(xp.exp(b.to_device(devices[2]))).to_device(devices[0]).backward()
        print(x.grad.device.id, seen, np.allclose(x.grad.numpy(), 2 * np.arange(3.0) * np.exp(np.arange(3.0) ** 2)))
    """) == ["0 [(False, 1)] True"]


def test_gradient_of_a_spread_array_is_spread_as_it_is():
    assert run("""
        mesh = jax.make_mesh((4,), ("i",))
        spread = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i"))
        x = ag.asarray(jax.device_put(np.arange(8.0), spread), requires_grad=True)
        y = xp.sum(xp.exp(x * 0.1) * x)
        y.backward()
        v = np.arange(8.0)
        print(x.grad.array.sharding == spread, np.allclose(x.grad.numpy(), np.exp(0.1 * v) * (1 + 0.1 * v)))
        (g,) = ag.autograd.grad(xp.sum(xp.exp(x * 0.1) * x), x, create_graph=True)
        (h,) = ag.autograd.grad(xp.sum(g), x)
        print(np.allclose(h.numpy(), np.exp(0.1 * v) * (0.2 + 0.01 * v)))
    """) == ["True True", "True"]
