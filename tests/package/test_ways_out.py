# ruff: noqa: E501 -- a row of the table is one program beside another
"""Mistakes of newcomers, and the way out that the error or the warning of each names, followed to the word.

A row holds what was written, what is raised or warned, a piece of code that the message names, and the program with that
piece in it. It gives the right derivative, which stands beside it as a formula of the arguments.
"""

import linecache
import struct
import warnings

import numpy
import pytest

import arraygrad as ag

X = numpy.array([1.0, 2.0, 3.0])
SETUP = """
import copy, csv, dataclasses, io, json, math, pickle, random, statistics, struct
from decimal import Decimal
import numpy, numpy as np
import arraygrad, arraygrad as ag
x3 = np.array([1.0, 2.0, 3.0])
def f(x): return np.sum(x**2)
class P:
    def __init__(self): self.w = x3
class Cube(ag.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3
t = ag.tensor(x3, requires_grad=True)
"""
CUBE = "@staticmethod\ndef backward(ctx, g):\n    (x,) = ctx.saved_tensors\n    {}g * 3.0 * x**2\nCube.backward = backward\n"

# Name, the mistake, error or warning, what its message names and the program then has, that program, its derivative.
ROWS = [
    # Arguments
    ("list arithmetic", "ag.grad(lambda x: np.sum(x * 2.0))([1.0, 2.0])", TypeError, "numpy.array(x)",
     "r = ag.grad(lambda x: np.sum(numpy.array(x) * 2.0))([1.0, 2.0])", [2, 2]),
    ("integers", "ag.grad(f)(np.array([1, 2, 3]))", TypeError, "floating-point value", "r = ag.grad(f)(np.array([1.0, 2.0, 3.0]))  # a floating-point value", 2 * X),
    ("a Python int", "ag.grad(f)(3)", TypeError, "floating-point value", "r = ag.grad(f)(3.0)  # a floating-point value", 6),
    ("text", "ag.grad(f)('3.0')", TypeError, "floating-point number", "r = ag.grad(f)(float('3.0'))  # a floating-point number", 6),
    ("None", "ag.grad(lambda y, x: f(x))(None, x3)", TypeError, "argnums", "r = ag.grad(lambda y, x: f(x), argnums=1)(None, x3)", 2 * X),
    ("objects", "ag.grad(f)(x3.astype(object))", TypeError, ".astype(float)", "r = ag.grad(f)(x3.astype(object).astype(float))", 2 * X),
    ("by keyword", "ag.grad(f)(x=x3)", TypeError, "argnames='x'", "r = ag.grad(f, argnames='x')(x=x3)", 2 * X),
    ("argnums too large", "ag.grad(lambda a, b: np.sum(a * b), argnums=2)(x3, 2.0 * x3)", TypeError, "argnames='a'",
     "r = ag.grad(lambda a, b: np.sum(a * b), argnames='a')(a=x3, b=2.0 * x3)", 2 * X),
    ("argnums, a name", "ag.grad(lambda a, b: np.sum(a * b), argnums='b')(x3, x3)", TypeError, "argnames='b'",
     "r = ag.grad(lambda a, b: np.sum(a * b), argnames='b')(x3, b=x3)", X),
    ("grad(f, x)", "ag.grad(f, x3)", TypeError, "grad(f)(x)", "x = x3\nr = ag.grad(f)(x)", 2 * X),
    ("an object", "ag.grad(lambda p: np.sum(p.w**2))(P())", TypeError, "arraygrad.register_container(P)",
     "arraygrad.register_container(P)\nr = ag.grad(lambda p: np.sum(p.w**2))(P()).w", 2 * X),
    ("a method", "class M:\n    @ag.grad\n    def loss(self, x): return f(x)\nM().loss(x3)", TypeError, "argnums",
     "class M:\n    def loss(self, x): return f(x)\n    gradient = ag.grad(loss, argnums=1)\nr = M().gradient(x3)", 2 * X),
    ("a generator", "ag.grad(lambda v: sum(a * a for a in v))(a for a in x3)", TypeError, "list(x)",
     "x = (float(a) for a in x3)\nr = ag.grad(lambda v: sum(a * a for a in v))(list(x))", 2 * X),
    ("dates", "ag.grad(f)(np.array(['2020-01-01', '2020-01-02'], 'M8[D]'))", TypeError, "(raw - raw.flat[0]) / numpy.timedelta64(1, 's')",
     "raw = np.array(['2020-01-01', '2020-01-02'], 'M8[D]')\nr = ag.grad(f)((raw - raw.flat[0]) / numpy.timedelta64(1, 's'))", [0, 172800]),
    # Results
    ("a vector", "ag.grad(lambda x: x**2)(x3)", ValueError, "elementwise_grad", "r = ag.elementwise_grad(lambda x: x**2)(x3)", 2 * X),
    ("a gradient's gradient", "ag.grad(ag.grad(f))(x3)", ValueError, "hessian", "r = ag.hessian(f)(x3)", 2 * numpy.eye(3)),
    ("no return", "def g(x):\n    f(x)\nag.grad(g)(x3)", TypeError, "return", "def g(x):\n    return f(x)\nr = ag.grad(g)(x3)", 2 * X),
    ("a dict", "ag.grad(lambda x: {'loss': f(x)})(x3)", TypeError, "item", "r = ag.grad(lambda x: {'loss': f(x)}['loss'])(x3)  # the item", 2 * X),
    ("a pair", "ag.grad(lambda x: (f(x), x))(x3)", TypeError, "has_aux=True", "r = ag.grad(lambda x: (f(x), x), has_aux=True)(x3)[0]", 2 * X),
    ("a truth value", "ag.grad(lambda x: f(x) > 1)(x3)", TypeError, "numbers that are compared", "r = ag.grad(lambda x: f(x))(x3)  # the numbers that are compared", 2 * X),
    ("text", "ag.grad(lambda x: f'{f(x):.3f}')(x3)", TypeError, "return the number", "r = ag.grad(lambda x: f(x))(x3)  # return the number", 2 * X),
    ("complex", "ag.grad(lambda x: np.sum(np.fft.fft(x)))(x3)", TypeError, "real", "r = ag.grad(lambda x: np.sum(np.fft.fft(x)).real)(x3)", [3, 0, 0]),
    ("a generator function", "def g(x):\n    yield f(x)\nag.grad(g)(x3)", TypeError, "returns", "def g(x):  # returns\n    return f(x)\nr = ag.grad(g)(x3)", 2 * X),
    # Step by step
    ("backward twice", "l = (t * t).sum()\nl.backward()\nl.backward()", RuntimeError, "retain_graph=True",
     "l = (t * t).sum()\nl.backward(retain_graph=True)\nt.grad = None\nl.backward()\nr = t.grad", 2 * X),
    ("backward of a vector", "(t * t).backward()", RuntimeError, ".sum().backward()", "(t * t).sum().backward()\nr = t.grad", 2 * X),
    ("a leaf in place", "t += 1.0", RuntimeError, "arraygrad.no_grad()", "with arraygrad.no_grad():\n    t += 1.0\n(t * t).sum().backward()\nr = t.grad", 2 * (X + 1)),
    ("item of a leaf", "t[0] = 5.0", RuntimeError, "copy", "u = t.copy()\nu[0] = 5.0\n(u * u).sum().backward()\nr = t.grad", [0, 4, 6]),
    ("grad of what is computed", "y = t * 2.0\ny.sum().backward()\ny.grad", UserWarning, ".retain_grad()",
     "y = t * 2.0\ny.retain_grad()\n(y * y).sum().backward()\nr = y.grad", 4 * X),
    ("w = w - step", "w = t\nfor _ in range(2):\n    (w * w).sum().backward()\n    s = w.grad\n    w = w - 0.5", UserWarning, "w -= step under arraygrad.no_grad()",
     "w, step = t, 0.5\nfor _ in range(2):\n    w.grad = None\n    (w * w).sum().backward()\n    r = w.grad.copy()\n    with arraygrad.no_grad():\n        w -= step  # w -= step under arraygrad.no_grad()", 2 * (X - 0.5)),
    ("no requires_grad", "ag.tensor(x3).sum().backward()", RuntimeError, "requires_grad=True", "t = ag.tensor(x3, requires_grad=True)\n(t * t).sum().backward()\nr = t.grad", 2 * X),
    ("detached", "(t.detach() ** 2).sum().backward()", RuntimeError, "without detach()", "(t ** 2).sum().backward()  # without detach()\nr = t.grad", 2 * X),
    ("float(t)", "float((t * t).sum())", UserWarning, "arraygrad.grad(f)", "r = arraygrad.grad(f)(x3)", 2 * X),
    ("math.sin(t)", "math.sin(t[0])", UserWarning, "numpy.sin", "numpy.sin(t[0]).backward()\nr = t.grad", [numpy.cos(1.0), 0, 0]),
    ("an integer leaf", "ag.tensor([1, 2, 3], requires_grad=True)", RuntimeError,
     "arraygrad.tensor(data, dtype=arraygrad.float64, requires_grad=True)",
     "data = [1, 2, 3]\nt = arraygrad.tensor(data, dtype=arraygrad.float64, requires_grad=True)\n(t * t).sum().backward()\nr = t.grad",
     2 * X),
    ("t.data", "t.data -= 0.5", AttributeError, "t -= step under arraygrad.no_grad()",
     "step = 0.5\nwith arraygrad.no_grad():\n    t -= step  # t -= step under arraygrad.no_grad()\n(t * t).sum().backward()\nr = t.grad", 2 * (X - 0.5)),
    ("np.array of Tensors", "np.array([t[0], t[1] * t[1]])", TypeError, "arraygrad.asarray([", "arraygrad.asarray([t[0], t[1] * t[1]]).sum().backward()\nr = t.grad", [1, 4, 0]),
    ("np.mean of Tensors", "np.mean([v * v for v in t])", TypeError, "arraygrad.asarray([", "np.mean(arraygrad.asarray([v * v for v in t])).backward()\nr = t.grad", 2 * X / 3),
    ("an array += t", "a = np.zeros(3)\na += t * t", TypeError, "x = arraygrad.asarray(x, copy=True)", "x = np.zeros(3)\nx = arraygrad.asarray(x, copy=True)\nx += t * t\nx.sum().backward()\nr = t.grad", 2 * X),
    ("an array's item = t", "a = np.zeros(3)\na[0] = t[0]", ValueError, "x = arraygrad.asarray(x, copy=True)", "x = np.zeros(3)\nx = arraygrad.asarray(x, copy=True)\nx[0] = t[0] * t[0]\nx.sum().backward()\nr = t.grad", [2, 0, 0]),
    ("deepcopy", "copy.deepcopy(t * t)", RuntimeError, ".copy()", "(t * t).copy().sum().backward()\nr = t.grad", 2 * X),
    ("pickle", "pickle.dumps(t * t)", UserWarning, "t.detach()", "pickle.dumps((t * t).detach())  # t.detach()\n(t * t).sum().backward()\nr = t.grad", 2 * X),
    ("grad by an array", "ag.autograd.grad((t * t).sum(), x3)", RuntimeError, "requires_grad=True", "t = ag.tensor(x3, requires_grad=True)\n(r,) = ag.autograd.grad((t * t).sum(), t)", 2 * X),
    ("grad(loss, t)", "ag.grad((t * t).sum(), t)", TypeError, "arraygrad.autograd.grad(", "(r,) = arraygrad.autograd.grad((t * t).sum(), t)", 2 * X),
    ("an unused input", "ag.autograd.grad(t.sum(), ag.tensor(x3, requires_grad=True))", RuntimeError, "allow_unused=True",
     "r, none = ag.autograd.grad((t * t).sum(), [t, ag.tensor(x3, requires_grad=True)], allow_unused=True)", 2 * X),
    ("t.grad = array", "t.grad = np.ones(3)", TypeError, "arraygrad.asarray(value)", "value = np.ones(3)\nt.grad = arraygrad.asarray(value)\n(t * t).sum().backward()\nr = t.grad", 2 * X + 1),
    ("a constant that changes", "a = np.ones(3)\nl = (t * a).sum()\na[:] = 0.0\nl.backward()", RuntimeError, "array.copy()",
     "array = np.ones(3)\nl = (t * array.copy()).sum()\narray[:] = 0.0\nl.backward()\nr = t.grad", [1, 1, 1]),
    # In a function
    ("ag.tensor(x)", "ag.grad(lambda x: f(ag.tensor(x)))(x3)", UserWarning, "copy=True", "r = ag.grad(lambda x: f(arraygrad.asarray(x, copy=True)))(x3)", 2 * X),
    ("text and back", "ag.grad(lambda x: float(str(x)) ** 2)(3.0)", UserWarning, "Tensor itself", "r = ag.grad(lambda x: x ** 2)(3.0)  # the Tensor itself", 6),
    ("%.3f", "ag.grad(lambda x: x * len('%.3f' % x), adopt=False)(3.0)", TypeError, "f'{x:.3f}'", "r = ag.grad(lambda x: x * len(f'{x:.3f}'), adopt=False)(3.0)", 5),
    ("Decimal", "ag.grad(lambda x: float(Decimal(x)))(3.0)", TypeError, "float(arraygrad.stop_gradient(x))",
     "r = ag.grad(lambda x: x * float(Decimal(float(arraygrad.stop_gradient(x)))))(3.0)", 3),
    ("a file", "ag.grad(lambda x: np.save(io.BytesIO(), x) or f(x))(x3)", TypeError, "numpy.asarray(arraygrad.stop_gradient(t))",
     "r = ag.grad(lambda t: np.save(io.BytesIO(), numpy.asarray(arraygrad.stop_gradient(t))) or f(t))(x3)", 2 * X),
    ("pickle within", "ag.grad(lambda x: f(pickle.loads(pickle.dumps(x))))(x3)", TypeError, ".copy()", "r = ag.grad(lambda x: f(x.copy()))(x3)", 2 * X),
    ("bytes", "ag.grad(lambda x: f(np.frombuffer(x.tobytes())))(x3)", TypeError, ".copy()", "r = ag.grad(lambda x: f(x.copy()))(x3)", 2 * X),
    ("a random mean", "ag.grad(lambda m: np.mean(np.random.default_rng(0).normal(m, 2.0, 9)), adopt=False)(1.0)", TypeError, "mu + sigma * rng.normal(size=",
     "rng, sigma = np.random.default_rng(0), 2.0\nr = ag.grad(lambda mu: np.mean(mu + sigma * rng.normal(size=9)))(1.0)", 1),
    ("a random count", "ag.grad(lambda m: m * np.random.default_rng(0).poisson(m))(3.0)", TypeError, "arraygrad.stop_gradient(t)",
     "r = ag.grad(lambda t: t * np.random.default_rng(0).poisson(arraygrad.stop_gradient(t)))(3.0)", numpy.random.default_rng(0).poisson(3.0)),
    ("x.at[0].set", "ag.grad(lambda x: f(x.at[0].set(1.0)))(x3)", AttributeError, "copy[index] = value",
     "index, value = 0, 1.0\ndef g(x):\n    copy = x.copy()\n    copy[index] = value\n    return f(copy)\nr = ag.grad(g)(x3)", [0, 4, 6]),
    ("a key", "table = {3.0: 9.0}\nag.grad(lambda x: x * table[x])(3.0)", TypeError, "table[float(arraygrad.stop_gradient(x))]",
     "table = {3.0: 9.0}\nr = ag.grad(lambda x: x * table[float(arraygrad.stop_gradient(x))])(3.0)", 9),
    ("statistics.variance", "ag.grad(lambda x: statistics.variance(x.tolist()))(x3)", TypeError, "numpy.var(x, ddof=1)", "r = ag.grad(lambda x: numpy.var(x, ddof=1))(x3)", X - 2),
    ("statistics.mean", "ag.grad(lambda x: statistics.mean(x.tolist()))(x3)", TypeError, "numpy.mean", "r = ag.grad(lambda x: numpy.mean(x))(x3)", [1 / 3] * 3),
    ("array.array", "import array\nag.grad(lambda x: sum(array.array('d', x)))(x3)", TypeError, "numpy.array(x)", "r = ag.grad(lambda x: sum(numpy.array(x)))(x3)", [1, 1, 1]),
    ("struct", "ag.grad(lambda x: x * struct.unpack('d', struct.pack('d', x))[0])(3.0)", struct.error, "float(arraygrad.stop_gradient(x))",
     "r = ag.grad(lambda x: x * struct.unpack('d', struct.pack('d', float(arraygrad.stop_gradient(x))))[0])(3.0)", 3),
    ("json", "ag.grad(lambda x: json.dumps({'x': x}) and f(x))(x3)", TypeError, "numpy.asarray(arraygrad.stop_gradient(x)).tolist()",
     "r = ag.grad(lambda x: json.dumps({'x': numpy.asarray(arraygrad.stop_gradient(x)).tolist()}) and f(x))(x3)", 2 * X),
    ("digits", "ag.grad(lambda x: f(np.round(x, 2)))(x3)", UserWarning, "Leave the rounding out", "r = ag.grad(lambda x: f(x))(x3)  # Leave the rounding out", 2 * X),
    ("csv", "def g(x):\n    b = io.StringIO()\n    csv.writer(b).writerow(x)\n    return sum(float(v) for v in b.getvalue().split(','))\nag.grad(g)(x3)", UserWarning,
     "arraygrad.stop_gradient(x)", "def g(x):\n    csv.writer(io.StringIO()).writerow(arraygrad.stop_gradient(x))\n    return sum(x)\nr = ag.grad(g)(x3)", [1, 1, 1]),
    ("a structured array", "def g(x):\n    a = np.zeros(3, [('v', float)])\n    a['v'] = x\n    return f(a['v'])\nag.grad(g)(x3)", TypeError, "one array for each field",
     "def g(x):\n    v = np.zeros(3)  # one array for each field\n    v[:] = x\n    return f(v)\nr = ag.grad(g)(x3)", 2 * X),
    ("an array of integers", "def g(x):\n    a = np.zeros(3, int)\n    a[:] = x\n    return np.sum(a * x)\nag.grad(g)(x3)", UserWarning, "floating-point dtype",
     "def g(x):\n    a = np.zeros(3, float)  # a floating-point dtype\n    a[:] = x\n    return np.sum(a * x)\nr = ag.grad(g)(x3)", 2 * X),
    ("ctypes", "import ctypes\nag.grad(lambda x: x * ctypes.c_double(x).value)(3.0)", TypeError, "arraygrad.stop_gradient(t)",
     "import ctypes\nr = ag.grad(lambda t: t * ctypes.c_double(float(arraygrad.stop_gradient(t))).value)(3.0)", 3),
    ("ctypes, a function", "import ctypes\nag.grad(lambda x: ctypes.CDLL(None).abs(ctypes.c_double(x)) * x)(3.0)", TypeError, "arraygrad.primitive",
     "import ctypes, ctypes.util\ncos = ctypes.CDLL(ctypes.util.find_library('m')).cos\ncos.restype, cos.argtypes = ctypes.c_double, [ctypes.c_double]\np = arraygrad.primitive(lambda x: np.float64(cos(float(x))))\np.defvjp(lambda ans, x: lambda g: -g * np.sin(x))\nr = ag.grad(lambda x: p(x))(3.0)", -numpy.sin(3.0)),
    ("format_float_positional", "ag.grad(lambda x: x * len(np.format_float_positional(x)))(3.0)", TypeError, "f'{x:.6g}'", "r = ag.grad(lambda x: x * len(f'{x:.6g}'))(3.0)", 1),
    ("savetxt", "ag.grad(lambda x: np.savetxt(io.StringIO(), x) or f(x))(x3)", TypeError, "numpy.asarray(arraygrad.stop_gradient(t))",
     "r = ag.grad(lambda t: np.savetxt(io.StringIO(), numpy.asarray(arraygrad.stop_gradient(t))) or f(t))(x3)", 2 * X),
    ("savez", "ag.grad(lambda x: np.savez(io.BytesIO(), x=x) or f(x))(x3)", TypeError, "mistake.py:",
     "r = ag.grad(lambda t: np.savez(io.BytesIO(), x=numpy.asarray(arraygrad.stop_gradient(t))) or f(t))(x3)  # mistake.py:", 2 * X),
    ("an array of text", "ag.grad(lambda x: f(x) * len(x.astype(str)))(x3)", TypeError, "numpy.asarray(arraygrad.stop_gradient(t)).astype(str)",
     "r = ag.grad(lambda t: f(t) * len(numpy.asarray(arraygrad.stop_gradient(t)).astype(str)))(x3)", 6 * X),
    ("wrt", "ag.grad(lambda a, b: np.sum(a * b), wrt='a')(x3, x3)", TypeError, "argnames=", "r = ag.grad(lambda a, b: np.sum(a * b), argnames='a')(a=x3, b=x3)  # argnames=", X),
    ("no parameters", "ag.grad(lambda: f(x3))()", TypeError, "lambda x:", "r = ag.grad(lambda x: f(x))(x3)", 2 * X),
    ("hvp, the vector second", "ag.hvp(lambda x, k: k * np.sum(x**3))(x3, np.ones(3), 2.0)", ValueError, "hvp(f)(*args, vector)",
     "args, vector = (x3, 2.0), np.ones(3)\nr = ag.hvp(lambda x, k: k * np.sum(x**3))(*args, vector)  # hvp(f)(*args, vector)", 12 * X),
    ("hvp with args=", "ag.hvp(lambda x, k: k * np.sum(x**3))(x3, np.ones(3), args=(2.0,))", TypeError, "hvp(f)(x, 2.0, v)",
     "x, v = x3, np.ones(3)\nr = ag.hvp(lambda x, k: k * np.sum(x**3))(x, 2.0, v)  # hvp(f)(x, 2.0, v)", 12 * X),
    ("auxiliary data of jvp", "ag.jvp(lambda x: (f(x), x), (x3,), (np.ones(3),), has_aux=True)", TypeError, "lambda x: f(x)[0]",
     "g, f = f, lambda x: (g(x), x)\nr = ag.jvp(lambda x: f(x)[0], (x3,), (np.ones(3),))[1]", 12),
    ("a polynomial over a Tensor", "p = np.poly1d([1.0, 3.0, 2.0])\nag.grad(lambda x: (p / x[0])(1.5))(x3)", TypeError, "p * (1.0 / t)",
     "p = np.poly1d([1.0, 3.0, 2.0])\ndef g(x):\n    t = x[0]\n    return (p * (1.0 / t))(1.5)\nr = ag.grad(g)(x3)", [-8.75, 0, 0]),
    ("a masked array first", "m = np.ma.array(x3, mask=[0, 1, 0])\nag.grad(lambda x: np.sum(m * x))(x3)", TypeError, "x * m.filled(0.0)",
     "m = np.ma.array(x3, mask=[0, 1, 0])\nr = ag.grad(lambda x: np.sum(x * m.filled(0.0)))(x3)", [1, 0, 3]),
    ("a masked array last", "m = np.ma.array(x3, mask=[0, 1, 0])\nag.grad(lambda x: np.sum(x - m))(x3)", TypeError, "numpy.where(mask, 0.0, x).sum()",
     "m = np.ma.array(x3, mask=[0, 1, 0])\nmask = m.mask\nr = ag.grad(lambda t: (lambda x: numpy.where(mask, 0.0, x).sum())(t - m.data))(x3)", [1, 0, 1]),
    ("copyto", "a = np.zeros(3)\nnp.copyto(a, t)", TypeError, "x = arraygrad.asarray(x, copy=True)", "x = np.zeros(3)\nx = arraygrad.asarray(x, copy=True)\nnp.copyto(x, t)\n(x * x).sum().backward()\nr = t.grad", 2 * X),
    ("a number by float.hex", "ag.grad(lambda x: x * float.fromhex(float.hex(x)))(3.0)", AttributeError, "float(arraygrad.stop_gradient(t)).hex()",
     "r = ag.grad(lambda t: t * float.fromhex(float(arraygrad.stop_gradient(t)).hex()))(3.0)", 3),
    ("exec", "def g(x):\n    names = {}\n    exec(f'v = {x}', names)\n    return x * names['v']\nag.grad(g)(3.0)", UserWarning, "Tensor itself", "r = ag.grad(lambda x: x * x)(3.0)  # the Tensor itself", 6),
    ("a filled cache", "cache = {}\ndef g(x):\n    k = int(x * 1e6)\n    if k not in cache:\n        cache[k] = x * x\n    return cache[k]\ng(3.0)\nag.grad(g)(3.0)", UserWarning, "Empty the cache where the function begins",
     "cache = {}\ndef g(x):\n    cache.clear()  # Empty the cache where the function begins\n    k = int(x * 1e6)\n    if k not in cache:\n        cache[k] = x * x\n    return cache[k]\ng(3.0)\nr = ag.grad(g)(3.0)", 6),
    ("another program", "import subprocess\nag.grad(lambda x: x * float(subprocess.run(['echo', str(x)], capture_output=True, text=True).stdout))(3.0)", UserWarning, "arraygrad.stop_gradient(x)",
     "import subprocess\nr = ag.grad(lambda x: x * float(subprocess.run(['echo', str(arraygrad.stop_gradient(x))], capture_output=True, text=True).stdout))(3.0)", 3),
    ("digits by int", "ag.grad(lambda x: x * (int(x * 1e6) / 1e6))(3.0)", UserWarning, "Leave the rounding out", "r = ag.grad(lambda x: x * x)(3.0)  # Leave the rounding out", 6),
    # Transforms at a point
    ("jvp(f, x, v)", "ag.jvp(f, x3, x3)", TypeError, "jvp(f, (x,), (v,))", "x = v = x3\nr = ag.jvp(f, (x,), (v,))[1]", 28),
    ("vjp(f)(x)", "ag.vjp(f)(x3)", TypeError, "value, pull = vjp(f, x)", "from arraygrad import vjp\nx = x3\nvalue, pull = vjp(f, x)\nr = pull(1.0)", 2 * X),
    ("hvp(f)(x)", "ag.hvp(f)(x3)", TypeError, "hvp(f)(*args, vector)", "args, vector = (x3,), x3\nr = ag.hvp(f)(*args, vector)", 2 * X),
    ("a short tangent", "ag.jvp(f, (x3,), (np.ones(2),))", ValueError, "(3,)", "r = ag.jvp(f, (x3,), (np.ones((3,)),))[1]", 12),
    ("checkpoint(f(x))", "ag.checkpoint(f(x3))", TypeError, "checkpoint(f)(x)", "from arraygrad import checkpoint\nr = ag.grad(lambda x: checkpoint(f)(x))(x3)", 2 * X),
    ("vmap", "ag.vmap(f)", AttributeError, "arraygrad.stack([f(x) for x in xs])", "def g(w):\n    xs = w * np.array([[1.0, 2.0], [3.0, 4.0]])\n    return np.sum(arraygrad.stack([f(x) for x in xs]) ** 2)\nr = ag.grad(g)(2.0)", 4 * 8 * 650),
    ("0.1 * grad(f)", "0.1 * ag.grad(f)", TypeError, "grad(f)(x)", "from arraygrad import grad\nx = x3\nr = 0.1 * grad(f)(x)", 0.2 * X),
    ("a NumPy number * grad(f)", "np.float64(0.1) * ag.grad(f)", TypeError, "grad(f)(x)", "from arraygrad import grad\nx = x3\nr = np.float64(0.1) * grad(f)(x)", 0.2 * X),
    ("-grad(f)", "-ag.grad(f)", TypeError, "-grad(f)(x)", "from arraygrad import grad\nx = x3\nr = -grad(f)(x)", -2 * X),
    ("grad(f) + grad(f)", "ag.grad(f) + ag.grad(f)", TypeError, "grad(f)(x) +", "from arraygrad import grad\nx = x3\nr = grad(f)(x) + grad(f)(x)", 4 * X),
    ("hvp(f, x, v)", "ag.hvp(f, x3, x3)", TypeError, "hvp(f)(x", "from arraygrad import hvp\nx = v = x3\nr = hvp(f)(x, v)", 2 * X),
    ("hvp(f, 0, v)", "ag.hvp(f, 0, x3)", TypeError, "hvp(f)(x, vector)", "from arraygrad import hvp\nx = vector = x3\nr = hvp(f)(x, vector)", 2 * X),
    ("@grad(argnums=1)", "@ag.grad(argnums=1)\ndef g(a, b): return np.sum(a * b)", TypeError, "@functools.partial(grad, argnums=1)",
     "import functools\nfrom arraygrad import grad\n@functools.partial(grad, argnums=1)\ndef g(a, b): return np.sum(a * b)\nr = g(x3, x3)", X),
    ("vjp(f, (x,))", "ag.vjp(f, (x3,))", TypeError, "vjp(f, x)", "from arraygrad import vjp\nx = x3\nr = vjp(f, x)[1](1.0)", 2 * X),
    ("a gradient's gradient, step by step", "(g,) = ag.autograd.grad((t**3).sum(), t)\nag.autograd.grad(g.sum(), t)", RuntimeError, "create_graph=True",
     "(g,) = ag.autograd.grad((t**3).sum(), t, create_graph=True)\n(r,) = ag.autograd.grad(g.sum(), t)", 6 * X),
    ("backward(1.0)", "(t**2).backward(1.0)", TypeError, "arraygrad.full_like(t, 1.0)", "y, v = t**2, t\n(lambda t: t.backward(arraygrad.full_like(t, 1.0)))(y)\nr = v.grad", 2 * X),
    ("backward of another shape", "(t**2).backward(np.ones(2))", RuntimeError, "arraygrad.full_like(t, 1.0)", "y, v = t**2, t\n(lambda t: t.backward(arraygrad.full_like(t, 1.0)))(y)\nr = v.grad", 2 * X),
    ("grad_outputs=1.0", "ag.autograd.grad(t**2, t, grad_outputs=[1.0])", TypeError, "arraygrad.full_like(t, 1.0)", "y, v = t**2, t\n(r,) = (lambda t: ag.autograd.grad(y, v, arraygrad.full_like(t, 1.0)))(y)", 2 * X),
    # Memory read as other numbers
    ("view(complex)", "ag.grad(lambda x: np.sum(np.abs(np.array([x, x * x]).view(complex))))(2.0)", TypeError, "t[..., 0::2] + 1j * t[..., 1::2]",
     "def g(x):\n    t = np.array([x, x * x])\n    return np.sum(np.abs(t[..., 0::2] + 1j * t[..., 1::2]))\nr = ag.grad(g)(2.0)", 18 / 20**0.5),
    ("view(float)", "ag.grad(lambda x: np.sum(np.array([x + 1j * x * x]).view(float)))(2.0)", TypeError, "numpy.stack([t.real, t.imag], axis=-1).reshape(*t.shape[:-1], -1)",
     "def g(x):\n    t = np.array([x + 1j * x * x])\n    return np.sum(numpy.stack([t.real, t.imag], axis=-1).reshape(*t.shape[:-1], -1))\nr = ag.grad(g)(2.0)", 5),
    ("resize", "def g(x):\n    a = 2.0 * x\n    a.resize(5, refcheck=False)\n    return f(a)\nag.grad(g)(x3)", TypeError, "numpy.concatenate([t.ravel(), numpy.zeros(n)])",
     "def g(x):\n    t, n = 2.0 * x, 2\n    return f(numpy.concatenate([t.ravel(), numpy.zeros(n)]))\nr = ag.grad(g)(x3)", 8 * X),
    ("a view that is written", "def g(x):\n    v = np.ones(2, complex).view(float)\n    v[1] = x\n    return f(v)\nag.grad(g)(2.0)", TypeError, "x = numpy.array(x)",
     "def g(w):\n    x = np.ones(2, complex).view(float)\n    x = numpy.array(x)\n    x[1] = w\n    return f(x)\nr = ag.grad(g)(2.0)", 4),
    ("nditer that writes", "def g(x):\n    a = np.array([x, x])\n    for e in np.nditer(a, op_flags=['readwrite']):\n        e[...] = 3.0 * e\n    return f(a)\nag.grad(g)(2.0)", TypeError, "numpy.ndindex(x.shape)",
     "def g(w):\n    x = np.array([w, w])\n    for i in numpy.ndindex(x.shape):\n        x[i] = 3.0 * x[i]\n    return f(x)\nr = ag.grad(g)(2.0)", 72),
    ("a generator's out=", "def g(x):\n    b = np.zeros(3)\n    np.random.default_rng(0).standard_normal(out=b)\n    return f(b * x)\nag.grad(g)(2.0)", ValueError, "b[...] = rng.standard_normal(b.shape)",
     "rng = np.random.default_rng(0)\ndef g(x):\n    b = np.zeros(3)\n    b[...] = rng.standard_normal(b.shape)\n    return f(b * x)\nr = ag.grad(g)(2.0)", 4 * numpy.sum(numpy.random.default_rng(0).standard_normal(3) ** 2)),
    ("operator.add with a list", "import operator\na = np.ones(2)\nag.grad(lambda x: f(operator.add(a, [x, 1])))(2.0)", TypeError, "numpy.array([",
     "import operator\na = np.ones(2)\nr = ag.grad(lambda x: f(operator.add(a, numpy.array([x, 1]))))(2.0)", 6),
    ("spsolve with a list", "import scipy.sparse.linalg\ns = scipy.sparse.csr_array(2.0 * np.eye(2))\nag.grad(lambda x: f(scipy.sparse.linalg.spsolve(s, [x, 1])))(2.0)", TypeError, "numpy.array([",
     "import scipy.sparse.linalg\ns = scipy.sparse.csr_array(2.0 * np.eye(2))\nr = ag.grad(lambda x: f(scipy.sparse.linalg.spsolve(s, numpy.array([x, 1]))))(2.0)", 1),
    ("dijkstra of a sparse matrix", "import scipy.sparse.csgraph\nw = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])\nag.grad(lambda x: f(scipy.sparse.csgraph.dijkstra(scipy.sparse.csr_array(w * x))))(2.0)", TypeError, "numpy.asarray(arraygrad.stop_gradient(values))",
     "import scipy.sparse.csgraph\nw = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])\ndef g(x):\n    values = w * x\n    _, before = scipy.sparse.csgraph.dijkstra(scipy.sparse.csr_array(numpy.asarray(arraygrad.stop_gradient(values))), indices=0, return_predecessors=True)\n    i, total = 2, 0.0\n    while i != 0:\n        total, i = total + values[before[i], i], before[i]\n    return total\nr = ag.grad(g)(2.0)", 3),
    ("a smoothing spline", "from scipy.interpolate import UnivariateSpline\nz = np.linspace(0.0, 1.0, 9)\nag.grad(lambda a: UnivariateSpline(z, a * z**2)(0.3))(2.0)", TypeError, "LSQUnivariateSpline(x, y, t)",
     "from scipy.interpolate import LSQUnivariateSpline\nx, t = np.linspace(0.0, 1.0, 9), [0.5]\ndef g(a):\n    y = a * x**2\n    return LSQUnivariateSpline(x, y, t)(0.3)\nr = ag.grad(g)(2.0)", 0.09),
    ("harmonic_mean", "ag.grad(lambda x: statistics.harmonic_mean(x.tolist()))(x3)", TypeError, "numpy.size(x) / numpy.sum(1 / x)", "r = ag.grad(lambda x: numpy.size(x) / numpy.sum(1 / x))(x3)", 3 / X**2 / (11 / 6) ** 2),
    ("json, default=float", "ag.grad(lambda x: x if json.dumps(x, default=float) else x)(2.0)", TypeError, "default=lambda x: numpy.asarray(arraygrad.stop_gradient(x)).tolist()",
     "r = ag.grad(lambda x: x * x if json.dumps(x, default=lambda x: numpy.asarray(arraygrad.stop_gradient(x)).tolist()) else x)(2.0)", 4),
    # Other libraries
    ("torch.sin(x)", "import torch\nag.grad(lambda x: torch.sin(x).sum())(x3)", TypeError, "arraygrad.interop.from_torch(f)",
     "import torch\ndef f(x): return torch.sin(x).sum()\ng = arraygrad.interop.from_torch(f)\nr = ag.grad(g)(x3)", numpy.cos(X)),
    ("torch.tensor(x) inside", "import torch\ng = ag.interop.from_torch(lambda x: torch.sin(torch.from_numpy(x.detach().numpy())).sum())\nag.grad(g)(x3)", UserWarning, "compute with them as they are",
     "import torch\ng = ag.interop.from_torch(lambda x: torch.sin(x).sum())  # compute with them as they are\nr = ag.grad(g)(x3)", numpy.cos(X)),
    ("a constant of JAX's", "import jax\njax.config.update('jax_enable_x64', True)\ng = ag.interop.from_jax(lambda x: jax.numpy.sin(jax.lax.stop_gradient(x)).sum())\nag.grad(g)(x3)", UserWarning, "compute with them as they are",
     "import jax\njax.config.update('jax_enable_x64', True)\ng = ag.interop.from_jax(lambda x: jax.numpy.sin(x).sum())  # compute with them as they are\nr = ag.grad(g)(x3)", numpy.cos(X)),
    ("jax.lax.stop_gradient(x)", "import jax\nag.grad(lambda x: np.sum(x * jax.lax.stop_gradient(x)))(x3)", TypeError, "arraygrad.stop_gradient(x)",
     "r = ag.grad(lambda x: np.sum(x * arraygrad.stop_gradient(x)))(x3)", X),
    ("args=k of solve_ivp", "from scipy.integrate import solve_ivp\nag.grad(lambda k: solve_ivp(lambda t, y, k: -k * y, (0, 1), [1.0], args=k, rtol=1e-10).y[0, -1])(2.0)", TypeError, "args=(k,)",
     "from scipy.integrate import solve_ivp\nr = ag.grad(lambda k: solve_ivp(lambda t, y, k: 0.0 * y + k, (0, 1), [1.0], args=(k,)).y[0, -1])(2.0)", 1),
    # Functions with a rule of one's own
    ("no return in backward", CUBE.format("") + "Cube.apply(t).sum().backward()", UserWarning, "return", CUBE.format("return ") + "Cube.apply(t).sum().backward()\nr = t.grad", 3 * X**2),
    ("no static method", "class C(ag.autograd.Function):\n    def forward(self, ctx, x): return x\nC.apply(t)", TypeError, "@staticmethod",
     "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return 2.0 * x\n    @staticmethod\n    def backward(ctx, g): return 2.0 * g\nC.apply(t).sum().backward()\nr = t.grad", [2, 2, 2]),
    ("too few gradients", "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, n): return x * n\n    @staticmethod\n    def backward(ctx, g): return g\nC.apply(t, 2).sum().backward()",
     RuntimeError, "None", "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, n): return x * n\n    @staticmethod\n    def backward(ctx, g): return 2 * g, None\nC.apply(t, 2).sum().backward()\nr = t.grad", [2, 2, 2]),
    ("no rule", "p = ag.primitive(lambda x: x**3)\nag.grad(lambda x: np.sum(p(x)))(x3)", TypeError, "defvjp", "p = ag.primitive(lambda x: x**3)\np.defvjp(lambda ans, x: lambda g: g * 3 * x**2)\nr = ag.grad(lambda x: np.sum(p(x)))(x3)", 3 * X**2),
    ("a rule of x alone", "p = ag.primitive(lambda x: x**3)\np.defvjp(lambda x: 3 * x**2)\nag.grad(lambda x: np.sum(p(x)))(x3)", TypeError, "(ans, x)",
     "p = ag.primitive(lambda x: x**3)\ndef rule(ans, x): return lambda g: g * 3 * x**2  # rule(ans, x)\np.defvjp(rule)\nr = ag.grad(lambda x: np.sum(p(x)))(x3)", 3 * X**2),
    ("a Tensor in a primitive's closure", "def g(x):\n    p = ag.primitive(lambda y: y * x)\n    p.defvjp(lambda ans, y: lambda g: g * x)\n    return np.sum(p(x * 1.0))\nag.grad(g)(x3)", TypeError, "pass it as an argument",
     "p = ag.primitive(lambda y, x: y * x)  # pass it as an argument\np.defvjp(lambda ans, y, x: lambda g: g * x, lambda ans, y, x: lambda g: g * y)\nr = ag.grad(lambda x: np.sum(p(x * 1.0, x)))(x3)", 2 * X),
    ("numbers of a Tensor in a primitive's closure", "def g(x):\n    p = ag.primitive(lambda y: y * float(x[0]))\n    p.defvjp(lambda ans, y: lambda g: g)\n    return np.sum(p(x))\nag.grad(g)(x3)", TypeError, "read its detach()",
     "def g(x):\n    p = ag.primitive(lambda y: y * float(x.detach()[0]))  # read its detach()\n    p.defvjp(lambda ans, y: lambda g: g)\n    return np.sum(p(x))\nr = ag.grad(g)(x3)", [1, 1, 1]),
    ("a Tensor in forward's closure", "def g(x):\n    class C(ag.autograd.Function):\n        @staticmethod\n        def forward(ctx, y): return y * x\n        @staticmethod\n        def backward(ctx, g): return g\n    return np.sum(C.apply(x * 1.0))\nag.grad(g)(x3)",
     TypeError, "pass it as an argument", "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, y, x):  # pass it as an argument\n        ctx.save_for_backward(y, x)\n        return y * x\n    @staticmethod\n    def backward(ctx, g):\n        y, x = ctx.saved_tensors\n        return g * x, g * y\nr = ag.grad(lambda x: np.sum(C.apply(x * 1.0, x)))(x3)", 2 * X),
    ("a primitive's rule without return", "p = ag.primitive(lambda x: x**3)\np.defvjp(lambda ans, x: lambda g: None)\nag.grad(lambda x: np.sum(p(x)) + np.sum(x))(x3)", UserWarning, "return",
     "p = ag.primitive(lambda x: x**3)\ndef rule(ans, x):\n    def pull(g):\n        return g * 3 * x**2\n    return pull\np.defvjp(rule)\nr = ag.grad(lambda x: np.sum(p(x)) + np.sum(x))(x3)", 3 * X**2 + 1),
    ("a zero of a primitive's rule", "p = ag.primitive(np.floor)\np.defvjp(lambda ans, x: lambda g: None)\nag.grad(lambda x: np.sum(p(x)) + np.sum(x))(x3)", UserWarning, "None in the place of the rule",
     "p = ag.primitive(np.floor)\np.defvjp(None)  # None in the place of the rule\nr = ag.grad(lambda x: np.sum(p(x)) + np.sum(x))(x3)", [1, 1, 1]),
    ("autograd.grad in a transform", "def g(x):\n    (d,) = ag.autograd.grad(np.sum(x**3), x)\n    return np.sum(d**2) + np.sum(x)\nag.grad(g)(x3)", UserWarning, "create_graph=True",
     "def g(x):\n    (d,) = ag.autograd.grad(np.sum(x**3), x, create_graph=True)\n    return np.sum(d**2) + np.sum(x)\nr = ag.grad(g)(x3)", 36 * X**3 + 1),
    ("backward in a transform", "def g(x):\n    t = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)\n    ((t - x) ** 2).sum().backward()\n    return np.sum(t.grad * x)\nag.grad(g)(x3)", UserWarning, "arraygrad.grad(f)(x)",
     "def g(w):\n    def f(x): return np.sum((x - w) ** 2)\n    x = np.array([1.0, 2.0, 3.0])\n    return np.sum(arraygrad.grad(f)(x) * w)\nr = ag.grad(g)(x3)", -2 * X),
    ("a loop of backward in a transform", "def g(x):\n    t = ag.tensor([1.0, 2.0, 3.0], requires_grad=True)\n    ((t - x) ** 2).sum().backward()\n    with ag.no_grad(): t -= 0.1 * t.grad\n    return np.sum(t * x)\nag.grad(g)(x3)", UserWarning, "t = t - step * g",
     "def g(x):\n    t, step = np.zeros(3), 0.25\n    for _ in range(2):\n        g = ag.grad(lambda t: np.sum((t - x) ** 2))(t)\n        t = t - step * g\n    return np.sum(t)\nr = ag.grad(g)(x3)", [0.75] * 3),
    ("an integer in ravel_tree", "ag.ravel_tree({'V': 1, 'K': 2.0})", UserWarning, "write 1.0", "vector, back = ag.ravel_tree({'V': 1.0, 'K': 2.0})  # write 1.0\nr = ag.grad(lambda v: back(v)['V'] * back(v)['K'])(vector)", [2, 1]),
    ("integers alone in ravel_tree", "ag.ravel_tree({'a': 1, 'b': 2})", TypeError, "write 1.0", "vector, back = ag.ravel_tree({'a': 1.0, 'b': 2.0})  # write 1.0\nr = ag.grad(lambda v: back(v)['a'] * back(v)['b'])(vector)", [2, 1]),
    ("argnums of what is given by name", "ag.grad(lambda a, b: np.sum(a * b), argnums=1)(x3, b=2.0 * x3)", TypeError, "argnames='b'", "r = ag.grad(lambda a, b: np.sum(a * b), argnames='b')(x3, b=2.0 * x3)", X),
    ("argnums of a default", "ag.grad(lambda a, b, c=2.0: np.sum(a * b) * c, argnums=2)(x3, x3)", TypeError, "argnames='c'", "r = ag.grad(lambda a, b, c=2.0: np.sum(a * b) * c, argnames='c')(x3, x3)", 14),
    ("t.grad = 0", "t.grad = 0", TypeError, "t.grad = None", "(t * t).sum().backward()\nt.grad = None\n(t * t).sum().backward()\nr = t.grad", 2 * X),
    ("no_grad without a call", "with ag.no_grad:\n    t -= 0.5", TypeError, "with arraygrad.no_grad():", "with arraygrad.no_grad():\n    t -= 0.5\n(t * t).sum().backward()\nr = t.grad", 2 * (X - 0.5)),
    ("enable_grad without a call", "with ag.enable_grad:\n    pass", TypeError, "with arraygrad.enable_grad():", "with arraygrad.no_grad():\n    with arraygrad.enable_grad():\n        (t * t).sum().backward()\nr = t.grad", 2 * X),
    ("a jitted function", "import jax\nag.grad(jax.jit(lambda x: jax.numpy.sum(x * x)))(x3)", TypeError, "g = arraygrad.interop.from_jax(f)",
     "import jax\njax.config.update('jax_enable_x64', True)\nf = jax.jit(lambda x: jax.numpy.sum(x * x))\ng = arraygrad.interop.from_jax(f)\nr = ag.grad(g)(x3)", 2 * X),
    ("jnp.where", "import jax\nag.grad(lambda x: jax.numpy.where(x > 0, x, 0.0).sum())(x3)", TypeError, "g = arraygrad.interop.from_jax(f)",
     "import jax\njax.config.update('jax_enable_x64', True)\ndef f(x): return jax.numpy.where(x > 0, x, 0.0).sum()\ng = arraygrad.interop.from_jax(f)\nr = ag.grad(g)(x3)", [1, 1, 1]),
    ("time.sleep(x)", "import time\nag.grad(lambda x: time.sleep(x) or x * x)(0.001)", TypeError, "float(arraygrad.stop_gradient(x))",
     "import time\nr = ag.grad(lambda x: time.sleep(float(arraygrad.stop_gradient(x))) or x * x)(0.001)", 0.002),
    ("linearize(f, (x,))", "ag.linearize(np.sin, (x3,))", TypeError, "linearize(f, x)", "from arraygrad import linearize\nx = x3\nr = linearize(f, x)[1](np.ones(3))", 12),
    ("ag.Tensor in a function", "ag.grad(lambda x: f(ag.Tensor([x[0], x[1]])))(x3)", TypeError, "arraygrad.asarray(data)", "def g(x):\n    data = [x[0], x[1]]\n    return f(arraygrad.asarray(data))\nr = ag.grad(g)(x3)", [2, 4, 0]),
    ("a class with slots", "@ag.register_container\nclass S:\n    __slots__ = ('w',)", TypeError, "fields=('w',)",
     "class S:\n    __slots__ = ('w',)\narraygrad.register_container(S, fields=('w',))\ns = S()\ns.w = x3\nr = ag.grad(lambda s: f(s.w))(s).w", 2 * X),
    ("static_argnums", "ag.grad(lambda x, n: np.sum(x**n), static_argnums=1)(x3, 3)", TypeError, "passed as they are", "r = ag.grad(lambda x, n: np.sum(x**n))(x3, 3)  # passed as they are", 3 * X**2),
    ("create_graph of a transform", "ag.grad(f, create_graph=True)(x3)", TypeError, "grad(f) within grad", "r = ag.grad(lambda x: np.sum(ag.grad(f)(x) ** 2))(x3)  # grad(f) within grad", 8 * X),
    ("implicit.root(f, x0)", "ag.implicit.root(lambda x, a: x * x - a, 1.0)", TypeError, "implicit.root(f)(x0, *args)",
     "from arraygrad import implicit\ndef f(x, a): return x * x - a\ndef g(a):\n    x0, args = 1.0, (a,)\n    return implicit.root(f)(x0, *args)\nr = ag.grad(g)(4.0)", 0.25),
    ("a store by pandas", "import pandas\ndef g(x):\n    d = pandas.DataFrame({'a': [0.0, 0.0]})\n    d.loc[:, 'a'] = x\n    return d['a'].to_numpy().sum()\nag.grad(g)(np.ones(2))", TypeError, ".to_numpy()",
     "import pandas\nd = pandas.DataFrame({'a': [1.0, 2.0]})\nr = ag.grad(lambda x: np.sum(x * d['a'].to_numpy()))(np.ones(2))", [1, 2]),
    ("a generator under checkpoint", "rng = random.Random(0)\nag.grad(lambda x: np.sum(ag.checkpoint(lambda x: x * rng.random() * x)(x)))(x3)", RuntimeError, "draw others outside, and pass the numbers",
     "rng = random.Random(0)\nn = rng.random()  # draw others outside, and pass the numbers\nr = ag.grad(lambda x: np.sum(ag.checkpoint(lambda x, n: x * n * x)(x, n)))(x3) / n", 2 * X),
    ("a number for ctypes", "import ctypes, ctypes.util\nj0 = ctypes.CDLL(ctypes.util.find_library('m')).j0\nj0.restype, j0.argtypes = ctypes.c_double, [ctypes.c_double]\nag.grad(lambda x: j0(float(x[0])))(x3)", Exception, "arraygrad.primitive",
     "import ctypes, ctypes.util, scipy.special\nlibm = ctypes.CDLL(ctypes.util.find_library('m'))\nlibm.j0.restype, libm.j0.argtypes = ctypes.c_double, [ctypes.c_double]\nj0 = arraygrad.primitive(lambda x: libm.j0(float(x)))\nj0.defvjp(lambda ans, x: lambda g: -g * scipy.special.j1(x))\nr = ag.grad(lambda x: j0(x[0]))(x3)", [-0.44005058574493355, 0, 0]),
    ("implicit.root(f, args=)", "ag.implicit.root(lambda x, a: x * x - a, args=(4.0,))", TypeError, "implicit.root(f)(x0, *args)",
     "from arraygrad import implicit\ndef f(x, a): return x * x - a\ndef g(a):\n    x0, args = 1.0, (a,)\n    return implicit.root(f)(x0, *args)\nr = ag.grad(g)(4.0)", 0.25),
    ("implicit.minimize(f, method=)", "ag.implicit.minimize(lambda x, a: (x - a) ** 2, method='BFGS')", TypeError, "implicit.minimize(f, lambda fun, x0:",
     "import scipy.optimize\nfrom arraygrad import implicit\ndef f(x, a): return np.sum((x - a) ** 2)\nfit = implicit.minimize(f, lambda fun, x0: scipy.optimize.minimize(ag.value_and_grad(fun), x0, jac=True, method='BFGS'))\nr = ag.grad(lambda a: np.sum(fit(np.zeros(1), a)))(4.0)", 1),
    ("events of implicit.solve_ivp", "ag.implicit.solve_ivp(lambda t, y: -y, (0.0, 1.0), np.ones(1), events=lambda t, y: y[0] - 0.5)", TypeError, "arraygrad.scipy.integrate.solve_ivp",
     "import arraygrad.scipy.integrate\ndef reached(t, y, k): return y[0] - 0.5\nr = ag.grad(lambda k: arraygrad.scipy.integrate.solve_ivp(lambda t, y, k: 0.0 * y + k, (0.0, 1.0), np.zeros(1), events=reached, args=(k,)).t_events[0][0])(2.0)", -0.125),
    # Names and habits of other libraries
    ("t.permute", "(t.reshape((1, 3)) ** 2).permute((1, 0))", AttributeError, ".transpose(", "np.sum((t.reshape((1, 3)) ** 2).transpose(1, 0)).backward()\nr = t.grad", 2 * X),
    ("t.unsqueeze", "t.unsqueeze(0)", AttributeError, "t[None]", "np.sum(t[None] ** 2).backward()\nr = t.grad", 2 * X),
    ("t.to(dtype)", "t.to(np.float64)", AttributeError, "t.astype(", "np.sum(t.astype(np.float64) ** 2).backward()\nr = t.grad", 2 * X),
    ("t.cpu()", "t.cpu()", AttributeError, "arraygrad.to_backend(t, 'numpy')", "np.sum(arraygrad.to_backend(t, 'numpy') ** 2).backward()\nr = t.grad", 2 * X),
    ("t.clone()", "t.clone()", AttributeError, "t.copy()", "np.sum(t.copy() ** 2).backward()\nr = t.grad", 2 * X),
    ("t.exp()", "t.exp()", AttributeError, "arraygrad.exp", "np.sum(arraygrad.exp(t)).backward()\nr = t.grad", numpy.exp(X)),
    ("t.norm()", "t.norm()", AttributeError, "arraygrad.linalg.vector_norm(t)", "(arraygrad.linalg.vector_norm(t) ** 2).backward()\nr = t.grad", 2 * X),
    ("t.masked_fill", "t.masked_fill(t > 1, 0.0)", AttributeError, "arraygrad.where(mask, value, t)", "mask, value = t > 1.5, 0.0\nnp.sum(arraygrad.where(mask, value, t)).backward()\nr = t.grad", [1, 0, 0]),
    ("t.grad.zero_()", "f(t).backward(); t.grad.zero_()", AttributeError, "t.grad = None", "f(t).backward()\nt.grad = None\nf(t).backward()\nr = t.grad", 2 * X),
    ("t.add_(1)", "y = t * 1\ny.add_(1)", AttributeError, "t += other", "x, other = t, 1.0\nt = x * 1\nt += other\nf(t).backward()\nr = x.grad", 2 * X + 2),
    ("t.sum(dim=0)", "t.sum(dim=0)", TypeError, "axis=", "(t**2).sum(axis=0).backward()\nr = t.grad", 2 * X),
    ("t.expand", "t.expand((2, 3))", AttributeError, "arraygrad.broadcast_to(t, shape)", "shape = (2, 3)\nf(arraygrad.broadcast_to(t, shape)).backward()\nr = t.grad", 4 * X),
    ("t.view", "t.view(3, 1)", TypeError, "t.reshape(shape)", "shape = 3, 1\nf(t.reshape(shape)).backward()\nr = t.grad", 2 * X),
    ("t.softmax", "t.softmax(0)", AttributeError, "arraygrad.softmax", "arraygrad.softmax(t)[0].backward()\ns = np.exp(x3) / np.sum(np.exp(x3))\nr = t.grad / (s[0] * (np.eye(3)[0] - s))", [1, 1, 1]),
    ("ag.cat", "ag.cat([t, t])", AttributeError, "arraygrad.concat(arrays, axis=0)", "arrays = [t, t]\nf(arraygrad.concat(arrays, axis=0)).backward()\nr = t.grad", 4 * X),
    ("ag.mm", "ag.mm(t, t)", AttributeError, "a @ b", "a = b = t\n(a @ b).backward()\nr = t.grad", 2 * X),
    ("ag.Tensor", "ag.Tensor(x3)", TypeError, "arraygrad.asarray(data)", "def g(data): return f(arraygrad.asarray(data))\nr = ag.grad(g)(x3)", 2 * X),
    ("ag.from_numpy", "ag.from_numpy(x3)", AttributeError, "arraygrad.asarray(array)", "array = x3\nx = arraygrad.asarray(array)\nx.requires_grad = True\nf(x).backward()\nr = x.grad", 2 * X),
    ("ag.optim", "ag.optim.SGD([t])", AttributeError, "scipy.optimize.minimize(..., jac=True)",
     "import scipy.optimize\n# scipy.optimize.minimize(..., jac=True)\nr = 1.0 + scipy.optimize.minimize(ag.value_and_grad(f), x3, jac=True).x.round(6)", [1, 1, 1]),
    ("ag.multigrad", "ag.multigrad(f)", AttributeError, "arraygrad.grad(f, argnums=(0, 1))", "def f(a, b): return np.sum(a**2 * b)\nr = arraygrad.grad(f, argnums=(0, 1))(x3, x3)[1]", X**2),
    ("ag.GradientTape", "ag.GradientTape()", AttributeError, "arraygrad.grad(f)", "r = arraygrad.grad(f)(x3)", 2 * X),
    ("ag.gradients", "ag.gradients(f(t), t)", AttributeError, "arraygrad.autograd.grad(output, inputs)", "output, inputs = f(t), t\nr = arraygrad.autograd.grad(output, inputs)", 2 * X),
    ("ag.functional", "ag.functional.jacobian(f, x3)", AttributeError, "arraygrad.jacobian", "r = arraygrad.jacobian(f)(x3)", 2 * X),
    ("ag.func.grad", "ag.func.grad(f)", AttributeError, "arraygrad.grad", "r = arraygrad.grad(f)(x3)", 2 * X),
    ("ag.Variable", "ag.Variable(x3)", AttributeError, "arraygrad.tensor(data, requires_grad=True)", "data = x3\nx = arraygrad.tensor(data, requires_grad=True)\nf(x).backward()\nr = x.grad", 2 * X),
    ("ag.custom_vjp", "ag.custom_vjp(f)", AttributeError, "@arraygrad.primitive", "@arraygrad.primitive\ndef cube(x): return x**3\ncube.defvjp(lambda ans, x: lambda g: g * 3.0 * x**2)\nr = ag.grad(lambda x: np.sum(cube(x)))(x3)", 3 * X**2),
    ("ag.linear_transpose", "ag.linear_transpose(f, x3)", AttributeError, "value, pull = arraygrad.vjp(f, x)", "def f(x): return 2.0 * x\nx = v = x3\nvalue, pull = arraygrad.vjp(f, x)\nr = pull(v)", 2 * X),
    ("ag.hessian_vector_product", "ag.hessian_vector_product(f)", AttributeError, "arraygrad.hvp(f)(x, v)", "x = v = x3\nr = arraygrad.hvp(f)(x, v)", 2 * X),
    ("ag.lax", "ag.lax.stop_gradient(t)", AttributeError, "arraygrad.stop_gradient", "r = ag.grad(lambda x: np.sum(x * arraygrad.stop_gradient(x)))(x3)", X),
    ("ag.tree_util", "ag.tree_util.tree_map(f, [x3])", AttributeError, "arraygrad.tree_map", "r = arraygrad.tree_map(lambda g: 1.0 * g, ag.grad(lambda p: f(p['a']))({'a': x3}))['a']", 2 * X),
    ("argnum=", "ag.grad(f, argnum=0)", TypeError, "argnums=", "r = ag.grad(f, argnums=0)(x3)", 2 * X),
    ("holomorphic=", "ag.grad(f, holomorphic=True)", TypeError, "arraygrad.jacobian", "r = np.diag(arraygrad.jacobian(lambda z: z**2)(x3 + 0j)).real", 2 * X),
    ("Cube(t)", "Cube(t)", DeprecationWarning, "Cube.apply(", CUBE.format("return ") + "np.sum(Cube.apply(t)).backward()\nr = t.grad", 3 * X**2),
    ("Cube()(t)", "Cube()(t)", RuntimeError, "Cube.apply(", CUBE.format("return ") + "np.sum(Cube.apply(t)).backward()\nr = t.grad", 3 * X**2),
    ("np.round", "ag.grad(lambda x: np.sum(np.round(x, 2)))(x3)", UserWarning, "Leave the rounding out", "r = ag.grad(lambda x: np.sum(x))(x3)  # Leave the rounding out", [1, 1, 1]),
    ("np.multiply(out=array)", "np.multiply(t, t, out=np.empty(3))", TypeError, "leave out= out", "np.sum(np.multiply(t, t)).backward()  # leave out= out\nr = t.grad", 2 * X),
    ("np.float64(t)", "np.float64(t[0]) ** 2", UserWarning, "Leave the 0-d Tensor as it is", "(t[0] ** 2).backward()  # Leave the 0-d Tensor as it is\nr = t.grad", [2, 0, 0]),
    ("np.vectorize of a Tensor", "np.vectorize(lambda a: a * a)(t)", TypeError, "arraygrad.grad(f, adopt=True)", "def f(x): return np.sum(np.vectorize(lambda a: a * a)(x))\nr = arraygrad.grad(f, adopt=True)(x3)", 2 * X),
    ("requires_grad taken away", "t.requires_grad = False\nf(t).backward()", RuntimeError, "requires_grad=True", "t = ag.tensor(t.numpy(), requires_grad=True)\nf(t).backward()\nr = t.grad", 2 * X),
    ("recording left off", "with ag.no_grad():\n    y = f(t)\ny.backward()", RuntimeError, "with recording on", "y = f(t)  # with recording on\ny.backward()\nr = t.grad", 2 * X),
    ("the flag of what is computed", "y = t * 2\ny.requires_grad = False", RuntimeError, ".detach()", "y = (t * 2).detach()\nnp.sum(y * t).backward()\nr = t.grad", 2 * X),
    ("an empty call", "ag.grad(f)()", TypeError, "by position", "r = ag.grad(f)(x3)  # by position", 2 * X),
    ("math.exp of an array", "ag.grad(lambda x: math.exp(x))(x3)", TypeError, "numpy.sin for math.sin", "r = ag.grad(lambda x: np.sum(numpy.sin(x)))(x3)  # numpy.sin for math.sin", numpy.cos(X)),
    ("a mask by `and`", "ag.grad(lambda x: f(x[(x > 1) and (x < 3)]))(x3)", ValueError, "(a) & (b)", "def g(x):\n    a, b = x > 1, x < 3\n    return f(x[(a) & (b)])\nr = ag.grad(g)(x3)", [0, 4, 0]),
    ("autograd.grad(f, x)", "ag.autograd.grad(f, x3)", TypeError, "arraygrad.grad(f)(x)", "x = x3\nr = arraygrad.grad(f)(x)", 2 * X),
    ("a list of gradients", "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return 2.0 * x\n    @staticmethod\n    def backward(ctx, g): return [2.0 * g]\nC.apply(t).sum().backward()",
     TypeError, "a tuple of arrays", "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return 2.0 * x\n    @staticmethod\n    def backward(ctx, g): return (2.0 * g,)  # a tuple of arrays\nC.apply(t).sum().backward()\nr = t.grad", [2, 2, 2]),
    ("forward without ctx", "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(x): return 2.0 * x\nag.grad(lambda x: np.sum(C.apply(x)))(x3)", TypeError, "def forward(ctx, x)",
     "class C(ag.autograd.Function):\n    @staticmethod\n    def forward(ctx, x): return 2.0 * x\n    @staticmethod\n    def backward(ctx, g): return 2.0 * g\nr = ag.grad(lambda x: np.sum(C.apply(x)))(x3)", [2, 2, 2]),
    ("a function of globals", "def g(): return f(x3)\nag.grad(g)(x3)", TypeError, "def f(x)", "def f(x): return np.sum(x**2)\nr = ag.grad(f)(x3)", 2 * X),
    ("range of a number", "def g(x):\n    s = 0.0\n    for _ in range(x): s += x\n    return s\nag.grad(g)(3.0)", TypeError, "int(x)", "def g(x):\n    s = 0.0\n    for _ in range(int(x)): s += x\n    return s\nr = ag.grad(g)(3.0)", 3),
    ("a number as an index", "ag.grad(lambda x: x3[x] * x)(1.0)", TypeError, "int(t)", "r = ag.grad(lambda t: x3[int(t)] * t)(1.0)", 2),
    ("a number as a length", "ag.grad(lambda x: np.sum(np.ones(x)) * x)(3.0)", TypeError, "int(x)", "r = ag.grad(lambda x: np.sum(np.ones(int(x))) * x)(3.0)", 3),
    ("numbers that leave in a try", "def g(x):\n    try: return math.gamma(x[0].numpy())\n    except Exception: return 0.0\nag.grad(g)(x3)", TypeError, "Compute the result from the Tensor",
     "from scipy import special\ndef g(x): return special.gamma(x[0])  # Compute the result from the Tensor\nr = ag.grad(g)(x3) / special.digamma(1.0)", [1, 0, 0]),
    # Imports and names of other libraries
    ("import optim", "import arraygrad.optim as optim", ModuleNotFoundError, "scipy.optimize.minimize(..., jac=True)",
     "import scipy.optimize\n# scipy.optimize.minimize(..., jac=True)\nr = 1.0 + scipy.optimize.minimize(ag.value_and_grad(f), x3, jac=True).x.round(6)", [1, 1, 1]),
    ("import nn.functional", "import arraygrad.nn.functional as F", ModuleNotFoundError, "write the layer with arrays",
     "r = ag.grad(lambda w: np.sum(np.tanh(x3 @ w)))(np.zeros(3))  # write the layer with arrays", X),
    ("import numpy.random", "import arraygrad.numpy.random as npr", ModuleNotFoundError, "import numpy.random",
     "import numpy.random as npr\nr = ag.grad(lambda x: np.sum(x * npr.RandomState(0).randn(3)))(x3)  # import numpy.random", numpy.random.RandomState(0).randn(3)),
    ("import of misc.optimizers", "from arraygrad.misc.optimizers import adam", ModuleNotFoundError, "scipy.optimize",
     "import scipy.optimize\nr = 1.0 + scipy.optimize.minimize(ag.value_and_grad(f), x3, jac=True).x.round(6)", [1, 1, 1]),
    ("ag.reduce_sum", "ag.reduce_sum(t)", AttributeError, "arraygrad.sum(t, axis=axis)", "axis = 0\narraygrad.sum(t, axis=axis).backward()\nr = t.grad", [1, 1, 1]),
    ("ag.constant", "ag.constant(1.0)", AttributeError, "arraygrad.asarray(data)", "data = x3\n(t * arraygrad.asarray(data)).sum().backward()\nr = t.grad", X),
    ("t.assign_sub", "t.assign_sub(x3)", AttributeError, "t -= other, under arraygrad.no_grad()",
     "other = 0.5\nwith arraygrad.no_grad():\n    t -= other  # t -= other, under arraygrad.no_grad()\nf(t).backward()\nr = t.grad", 2 * (X - 0.5)),
    ("t.gradient", "f(t).gradient(t)", AttributeError, "arraygrad.grad(f)(x)", "x = x3\nr = arraygrad.grad(f)(x)", 2 * X),
    ("ag.FloatTensor", "ag.FloatTensor([1.0])", AttributeError, "arraygrad.tensor(data, dtype=arraygrad.float32", "data = x3\nx = arraygrad.tensor(data, dtype=arraygrad.float32, requires_grad=True)\nf(x).backward()\nr = x.grad", 2 * X),
    ("ag.fminunc", "ag.fminunc(f, x3)", AttributeError, "scipy.optimize.minimize(arraygrad.value_and_grad(f), x, jac=True)",
     "import scipy.optimize\nx = x3\nr = 1.0 + scipy.optimize.minimize(arraygrad.value_and_grad(f), x, jac=True).x.round(6)", [1, 1, 1]),
    ("ag.index_update", "ag.index_update(x3, 0, 1.0)", AttributeError, "copy = t.copy(), then copy[index] = value",
     "def g(t):\n    index, value = 0, 5.0\n    copy = t.copy()  # copy = t.copy(), then copy[index] = value\n    copy[index] = value\n    return f(copy)\nr = ag.grad(g)(x3)", [0, 4, 6]),
    ("t.log_()", "(t * 2).log_()", AttributeError, "t[...] = value", "x, t = t, t * 2\nvalue = np.log(t)\nt[...] = value\nf(t).backward()\nr = x.grad", 2 * numpy.log(2 * X) / X),
    ("ctx.saved_variables", "class D(Cube):\n    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_variables\n        return g * 3.0 * x**2\nD.apply(t).sum().backward()", AttributeError, "ctx.saved_tensors",
     "class D(Cube):\n    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_tensors\n        return g * 3.0 * x**2\nD.apply(t).sum().backward()\nr = t.grad", 3 * X**2),
    ("a scalar from backward", "class D(Cube):\n    @staticmethod\n    def backward(ctx, g):\n        return (g * 3.0).sum()\nD.apply(t).sum().backward()", RuntimeError, "a gradient of the shape of that argument of forward",
     "class D(Cube):\n    @staticmethod\n    def backward(ctx, g):\n        (x,) = ctx.saved_tensors\n        return g * 3.0 * x**2  # a gradient of the shape of that argument of forward\nD.apply(t).sum().backward()\nr = t.grad", 3 * X**2),
    ("a hook of another shape", "y = t * 2\ny.register_hook(lambda g: g[:2])\ny.sum().backward()", RuntimeError, "return a gradient of the same shape, or None",
     "y = t * 2\ny.register_hook(lambda g: 3.0 * g)  # return a gradient of the same shape, or None\ny.sum().backward()\nr = t.grad", [6, 6, 6]),
    ("a hook that gives text", "y = t * 2\ny.register_hook(lambda g: 'g')\ny.sum().backward()", TypeError, "return a gradient of the same shape, or None",
     "y = t * 2\ny.register_hook(lambda g: None)  # return a gradient of the same shape, or None\ny.sum().backward()\nr = t.grad", [2, 2, 2]),
    ("a hook on a constant", "ag.tensor(x3).register_hook(print)", RuntimeError, "arraygrad.tensor(data, requires_grad=True)",
     "data = x3\nx = arraygrad.tensor(data, requires_grad=True)\nx.register_hook(lambda g: 2.0 * g)\nf(x).backward()\nr = x.grad", 4 * X),
    ("item of a vector", "t.item()", ValueError, "t.sum()", "t.sum().backward()\nr = t.grad", [1, 1, 1]),
    ("item of a vector in a transform", "ag.grad(lambda x: x.item())(x3)", ValueError, "t[i].item()", "i = 1\nr = ag.grad(lambda t: t[i].item())(x3)", [0, 1, 0]),
    ("no_grad(True)", "with ag.no_grad(True):\n    t -= 0.5", TypeError, "with arraygrad.set_grad_enabled(mode):", "mode = False\nwith arraygrad.set_grad_enabled(mode):\n    t -= 0.5\nf(t).backward()\nr = t.grad", 2 * (X - 0.5)),
    ("argnums in the call", "ag.grad(lambda a, b: np.sum(a * b))(x3, x3, argnums=1)", TypeError, "grad(f, argnums=1)(x", "def f(a, b): return np.sum(a * b)\nfrom arraygrad import grad\nx = 2.0 * x3\nr = grad(f, argnums=1)(x, x3)", 2 * X),
    ("has_aux in the call", "ag.value_and_grad(lambda x: (f(x), x))(x3, has_aux=True)", TypeError, "value_and_grad(f, has_aux=True)(x", "g = f\ndef f(x): return g(x), x\nfrom arraygrad import value_and_grad\nx = x3\nr = value_and_grad(f, has_aux=True)(x)[1]", 2 * X),
    ("grad(f, argnums, x)", "ag.grad(f, 0, x3)", TypeError, "grad(f)(x)", "from arraygrad import grad\nx = x3\nr = grad(f)(x)", 2 * X),
    ("use_reentrant in the call", "ag.checkpoint(f)(t, use_reentrant=False)", TypeError, "arraygrad.checkpoint(f)(t)", "arraygrad.checkpoint(f)(t).backward()\nr = t.grad", 2 * X),
    ("in_axes", "ag.grad(f, in_axes=0)", TypeError, "arraygrad.stack([f(x) for x in xs])", "xs = np.ones((2, 3))\nr = ag.grad(lambda xs: np.sum(arraygrad.stack([f(x) for x in xs])))(xs)", 2 * numpy.ones((2, 3))),
    ("tree_map(tree, f)", "ag.tree_map({'a': x3}, f)", TypeError, "tree_map(function, tree)", "from arraygrad import tree_map\nfunction, tree = (lambda g: 1.0 * g), ag.grad(lambda p: f(p['a']))({'a': x3})\nr = tree_map(function, tree)['a']", 2 * X),
    ("x ^ 2", "ag.grad(lambda x: np.sum(x ^ 2))(x3)", TypeError, "x ** 2", "r = ag.grad(lambda x: np.sum(x ** 2))(x3)", 2 * X),
    ("v, i = t.sort()", "v, i = t.sort()", RuntimeError, "arraygrad.sort(t)", "(arraygrad.sort(t) * x3[::-1]).sum().backward()\nr = t.grad", X[::-1]),
    ("a fraction", "import fractions\nag.grad(f)(fractions.Fraction(3, 2))", TypeError, "float(x)", "import fractions\nx = fractions.Fraction(3, 2)\nr = ag.grad(f)(float(x))", 3),
    ("a time difference", "import datetime\nag.grad(f)(datetime.timedelta(1))", TypeError, "x.total_seconds()", "import datetime\nx = datetime.timedelta(1)\nr = ag.grad(f)(x.total_seconds())", 172800),
    ("a range", "ag.grad(f)(range(1, 4))", TypeError, "numpy.array(list(x), dtype=float)", "x = range(1, 4)\nr = ag.grad(f)(numpy.array(list(x), dtype=float))", 2 * X),
    ("a set", "ag.grad(f)({1.0, 2.0, 3.0})", TypeError, "numpy.array(list(x), dtype=float)", "x = {1.0, 2.0, 3.0}\nr = np.sort(ag.grad(f)(numpy.array(list(x), dtype=float)))", 2 * X),
    ("np.dot of a sparse matrix", "import scipy.sparse\nA = scipy.sparse.csr_array(np.diag(x3))\nag.grad(lambda x: f(np.dot(A, x)))(x3)", TypeError, "matrix @ x",
     "import scipy.sparse\nmatrix = scipy.sparse.csr_array(np.diag(x3))\nr = ag.grad(lambda x: f(matrix @ x))(x3)", 2 * X**3),
    ("autograd's grad", "import autograd\nautograd.grad(lambda x: ag.sum(ag.sin(x)))(x3)", TypeError, "arraygrad.grad(f)(x)", "def f(x): return ag.sum(ag.sin(x))\nx = x3\nr = arraygrad.grad(f)(x)", numpy.cos(X)),
    ("a dtype of another library", "class D: pass\nag.tensor(x3, dtype=D())", TypeError, "numpy.float32 or arraygrad.float32", "(ag.tensor(x3, dtype=numpy.float64) * t).sum().backward()  # numpy.float32 or arraygrad.float32\nr = t.grad", X),
    ("a process in a transform", "import multiprocessing\ndef g(x):\n    with multiprocessing.Pool(1) as pool:\n        return pool.map(math.sin, [x])[0]\nag.grad(g)(2.0)", Exception, "write the loop in this process", "r = ag.grad(lambda x: [math.sin(v) for v in [x]][0])(2.0)  # write the loop in this process", numpy.cos(2.0)),
    ("joblib.Memory", "import joblib, tempfile\nmemory = joblib.Memory(tempfile.mkdtemp(), verbose=0)\ncached = memory.cache(f)\nag.grad(lambda x: cached(x))(x3)", TypeError, "memory.cache(arraygrad.grad(f))",
     "import joblib, tempfile\nmemory = joblib.Memory(tempfile.mkdtemp(), verbose=0)\nr = memory.cache(arraygrad.grad(f))(x3)", 2 * X),
]  # fmt: skip


def run(code, **others):
    for library in ("autograd", "jax", "joblib", "pandas", "scipy", "torch"):
        if f"import {library}" in code or f"from {library}" in code:
            pytest.importorskip(library)
    names, text = {"__name__": "__main__"}, SETUP + code
    linecache.cache["mistake.py"] = len(text), None, text.splitlines(keepends=True), "mistake.py"  # messages read it
    if others:
        exec(SETUP, names)
        text, names = code, {**names, **others}
    exec(compile(text, "mistake.py", "exec"), names)
    return names


def test_rows_are_many_and_each_has_its_name():
    assert len({name + code for name, code, *_ in ROWS}) == len(ROWS) >= 70


@pytest.fixture(autouse=True)
def _functions_are_let_go():
    """Adoption knows a function, and with it the names beside it, until it is cleared."""
    yield
    ag.adopt.clear()


@pytest.mark.parametrize(("code", "kind", "way"), [row[1:4] for row in ROWS], ids=[row[0] for row in ROWS])
@pytest.mark.filterwarnings("default")
def test_a_mistake_is_told_with_its_way_out(code, kind, way):
    expected = pytest.warns if issubclass(kind, Warning) else pytest.raises
    with expected(kind) as caught:
        run(code)
    texts = (
        [str(caught.value), str(caught.value.__cause__), *getattr(caught.value, "__notes__", ())]
        if not issubclass(kind, Warning)
        else []
    )
    texts += [str(one.message) for one in caught] if issubclass(kind, Warning) else []
    assert way in "\n".join(texts)


@pytest.mark.parametrize(("way", "followed", "derivative"), [row[3:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_way_out_leads_to_the_derivative(way, followed, derivative):
    assert way in followed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run(followed)["r"]
    found = found[0] if isinstance(found, tuple) else found
    numpy.testing.assert_allclose(getattr(found, "array", found), derivative, rtol=1e-12)


# Functions of Tensors: a plain call of them gives no arrays.
OF_TENSORS = {"autograd.grad in a transform", "numbers of a Tensor in a primitive's closure"}


class Called(Exception):
    """The function has run plainly."""


class Plainly:
    """arraygrad, whose grad(f) calls f as the program would without it."""

    def __getattr__(self, name):
        return getattr(ag, name)

    def grad(self, f, *args, **options):
        def call(*given, **named):
            f(*given, **named)
            raise Called

        return call


@pytest.mark.parametrize(
    "followed", [pytest.param(row[4], id=row[0]) for row in ROWS if "ag.grad(" in row[4] and row[0] not in OF_TENSORS]
)
@pytest.mark.filterwarnings("ignore")
def test_the_way_out_serves_a_plain_call_too(followed):
    with pytest.raises(Called):
        run(followed, ag=Plainly(), arraygrad=Plainly())
