"""What the docstrings of Tensor's members say below their first paragraph: results, errors, and lines to show.

May import: nothing. `tools.generate_docstrings` runs the lines and writes what they print. They begin with

    t = ag.tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True)

A member that is an operation of the table names it, and its gradient's formula is written beneath.
"""

__all__ = ["FUNCTIONS", "MEMBERS", "START"]

START = ["import numpy as np", "import arraygrad as ag", "t = ag.tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True)"]

_REDUCED = "Shape: without the axes in `axis`; with `keepdims` they stay, of length 1. `out=` takes a Tensor."
_AXIS = "Shape: t's without `axis`; dtype: the default integer. No gradient."
_CONSTANT = "No gradient flows through it."

# Functions of the core, whose text stands in compiled files.
FUNCTIONS = {
    "tensor": (
        (
            "Warns (UserWarning) where the data are a Tensor that requires grad, or lists that hold one, and grad mode "
            "is on: their gradient ends here."
        ),
        "",
        ["ag.tensor([1.0, 2.0], requires_grad=True)", "ag.tensor(np.ones(2), dtype=np.float32).dtype"],
    ),
    "asarray": (
        (
            "Raises TypeError for what is no array and for object arrays, ValueError for ragged lists, and "
            "RuntimeError where `requires_grad` is asked for integers or booleans."
        ),
        "",
        ["a = np.ones(2)", "x = ag.asarray(a)", "x.array is a", "x.requires_grad"],
    ),
    "set_saved_mutation": (
        "",
        "",
        [
            "x = ag.tensor([3.0, 4.0], requires_grad=True)",
            "y = x * 1.0",
            "z = (y * y).sum()",
            "y += 1.0",
            "z.backward()",
            "x.grad",
        ],
    ),
}

# Name: (text, operation of the table or "", lines).
MEMBERS = {
    # -- the array
    "array": (
        "Of the Tensor's library: numpy.ndarray, torch.Tensor, ... No gradient flows through it.",
        "",
        ["type(t.array).__name__"],
    ),
    "dtype": (
        "For NumPy a `numpy.dtype`. Set when the Tensor is made; `astype` makes a Tensor of another one.",
        "",
        ["t.dtype"],
    ),
    "shape": ("A length that is not known yet (dask) is None.", "", ["t.shape"]),
    "ndim": ("0 for a scalar.", "", ["t.ndim"]),
    "size": ("The product of the shape; 1 for a scalar.", "", ["t.size"]),
    "nbytes": ("`size * itemsize`: what the array holds, not what the graph keeps.", "", ["t.nbytes"]),
    "itemsize": ("Of the dtype: 8 for float64.", "", ["t.itemsize"]),
    "strides": ("For PyTorch in elements, as its own.", "", ["t.strides"]),
    "flags": ("For NumPy a `numpy.flagsobj`. AttributeError where the library has none.", "", ["t.flags.c_contiguous"]),
    "device": ("For NumPy 'cpu'. `to_device` moves; `arraygrad.to_backend` changes the library.", "", ["t.device"]),
    "base": ("None for a Tensor with memory of its own that arraygrad made.", "", ["t[0].base is t"]),
    "T": ("Shape: the lengths in reverse. A view where the library has views.", "permute_dims", ["t.T"]),
    "mT": ("Shape: (..., m, n) of (..., n, m). ValueError for fewer than two axes.", "matrix_transpose", ["t.mT"]),
    "real": ("Shape: t's; dtype: real.", "real", ["ag.asarray(np.array([1.0 + 2.0j])).real"]),
    "imag": ("Shape: t's; dtype: real.", "imag", ["ag.asarray(np.array([1.0 + 2.0j])).imag"]),
    "flat": ("An iterator; `t.flat[i]` reads an element, recorded. `t.flat[i] = value` writes one.", "", ["t.flat[1]"]),
    # -- out of the graph
    "numpy": (
        "Of a Tensor that requires grad too; what is computed with the array has no gradient.",
        "",
        ["t.numpy()"],
    ),
    "item": (
        "ValueError for more than one element without an index. In a transform the result stays in the graph.",
        "",
        ["t[0, 0].item()", "t.item(1)"],
    ),
    "tolist": ("In a transform the numbers stay in the graph.", "", ["t.tolist()"]),
    "tobytes": (
        "In row-major order or another `order`. TypeError in a transform that follows t: bytes have no gradient.",
        "",
        ["len(t.tobytes())"],
    ),
    "as_integer_ratio": (
        "ValueError for more than one element. No gradient.",
        "",
        ["ag.asarray(np.array([0.5]))[0].as_integer_ratio()"],
    ),
    "is_integer": ("A bool. ValueError for more than one element.", "", ["t[0, 0].is_integer()"]),
    "detach": (
        "Shape, dtype, device: t's. Writes through either are seen by both. No gradient flows back to t.",
        "",
        ["t.detach().requires_grad"],
    ),
    "detach_": (
        "Returns t, a leaf from now on that does not require grad. RuntimeError for a view.",
        "",
        ["y = t * 2", "y.detach_().requires_grad"],
    ),
    "copy": ("The copy is recorded: its gradient reaches t.", "", ["t.copy().requires_grad"]),
    # -- gradients
    "requires_grad": (
        "Can be set on leaves of floating-point and complex dtypes; RuntimeError otherwise.",
        "",
        ["t.requires_grad"],
    ),
    "requires_grad_": (
        "RuntimeError for integers, and for a result of an operation: say `detach()`.",
        "",
        ["ag.tensor([1.0]).requires_grad_().requires_grad"],
    ),
    "grad": (
        "`backward` adds to it. Set it to None before the next one, or to a Tensor of t's shape and dtype.",
        "",
        ["t.sum().backward()", "t.grad"],
    ),
    "grad_fn": (
        "Its `next_functions`, `saved` and `name()` show the graph; see `arraygrad.autograd.graph`.",
        "",
        ["t.sum().grad_fn.name()"],
    ),
    "output_nr": ("0 but for operations with several results, such as `unstack`.", "", ["ag.unstack(t)[1].output_nr"]),
    "is_leaf": ("Leaves that require grad get a `.grad`.", "", ["t.is_leaf, (t * 2).is_leaf"]),
    "is_inference": ("Returns a bool.", "", ["t.is_inference()"]),
    "version": ("Views and detached aliases share it.", "", ["y = t * 2", "y += 1", "y.version"]),
    "retains_grad": (
        "False for leaves, whose `.grad` is always filled.",
        "",
        ["y = t * 2", "y.retain_grad()", "y.retains_grad"],
    ),
    "retain_grad": (
        "RuntimeError for a Tensor that does not require grad.",
        "",
        ["y = t * 2", "y.retain_grad()", "y.sum().backward()", "y.grad"],
    ),
    "backward": (
        (
            "`gradient` has t's shape, and is 1 where t has one element. `retain_graph` keeps what the graph saved, "
            "`create_graph` records the gradients, `inputs` are the leaves to stop at. RuntimeError where t requires "
            "no grad, has several elements and no `gradient` is given, or the graph was freed by an earlier call."
        ),
        "",
        ["(t**2).sum().backward()", "t.grad"],
    ),
    "register_hook": (
        "`hook` returns None or a gradient of the same shape, dtype and device.",
        "",
        ["handle = t.register_hook(lambda g: 10 * g)", "t.sum().backward()", "t.grad", "handle.remove()"],
    ),
    "register_post_accumulate_grad_hook": (
        "RuntimeError for a Tensor that is no leaf.",
        "",
        [
            "handle = t.register_post_accumulate_grad_hook(lambda leaf: print('sum', leaf.grad.sum()))",
            "t.sum().backward()",
            "handle.remove()",
        ],
    ),
    # -- reductions
    "sum": (_REDUCED, "sum", ["t.sum(axis=0)"]),
    "mean": (_REDUCED, "mean", ["t.mean(axis=0)"]),
    "prod": (_REDUCED, "prod", ["t.prod(axis=0)"]),
    "max": (_REDUCED, "max", ["t.max(axis=0)"]),
    "min": (_REDUCED, "min", ["t.min(axis=0)"]),
    "var": (_REDUCED, "var", ["t.var()", "t.var(ddof=1)"]),
    "std": (_REDUCED, "std", ["t.std()"]),
    "all": (f"Shape: without the axes in `axis`; dtype: bool. {_CONSTANT}", "", ["(t > 0).all()"]),
    "any": (f"Shape: without the axes in `axis`; dtype: bool. {_CONSTANT}", "", ["(t > 3).any(axis=0)"]),
    "cumsum": ("Shape: t's; one axis where `axis` is None.", "cumulative_sum", ["t.cumsum(axis=0)"]),
    "cumprod": ("Shape: t's; one axis where `axis` is None.", "cumulative_prod", ["t.cumprod(axis=0)"]),
    "trace": ("Shape: t's without the two axes.", "trace", ["t.trace()"]),
    # -- order
    "argmax": (_AXIS, "", ["t.argmax(axis=1)"]),
    "argmin": (_AXIS, "", ["t.argmin(axis=1)"]),
    "argsort": (
        "Shape: t's; dtype: the default integer. No gradient: `ag.take_along_axis(t, order)` has one.",
        "",
        ["t.argsort(axis=1)"],
    ),
    "argpartition": ("Shape: t's; dtype: the default integer. No gradient.", "", ["t[0].argpartition(1)"]),
    "sort": (
        "Returns None. The gradient follows each element to the place it came from.",
        "",
        ["y = t * 1", "y.sort(axis=1)", "y"],
    ),
    "partition": (
        "Returns None. The gradient follows each element to the place it came from.",
        "",
        ["y = t[0] * 1", "y.partition(0)", "y"],
    ),
    "searchsorted": (
        "Shape: v's; dtype: the default integer. No gradient.",
        "",
        ["ag.tensor([1.0, 2.0, 4.0]).searchsorted(3.0)"],
    ),
    "nonzero": ("Each of one axis; dtype: the default integer. No gradient.", "", ["(t > 2.5).nonzero()[0]"]),
    # -- elements
    "clip": ("Shape: t's, broadcast with the bounds.", "clip", ["t.clip(1.5, 3.5)"]),
    "round": ("Shape and dtype: t's.", "", ["(t / 3).round(1)"]),
    "conj": ("Shape and dtype: t's.", "conj", ["ag.asarray(np.array([1.0 + 2.0j])).conj()"]),
    "conjugate": ("Shape and dtype: t's.", "conj", ["ag.asarray(np.array([1.0 + 2.0j])).conjugate()"]),
    "astype": (
        "Shape: t's. With `copy=False` the Tensor itself where it has the dtype. The gradient is cast back.",
        "astype",
        ["t.astype(np.float32).dtype"],
    ),
    "take": (
        "Shape: that of `indices` in the place of `axis`. An element that is taken twice gets the sum.",
        "take",
        ["t.take([0, 3])"],
    ),
    "choose": (
        "Shape: what this Tensor and the choices broadcast to. Each choice gets the gradient where it was chosen.",
        "",
        ["ag.asarray(np.array([1, 0])).choose([[10.0, 20.0], [30.0, 40.0]])"],
    ),
    "compress": (
        "Shape: as many as there are true conditions along `axis`. The rest has a gradient of zeros.",
        "",
        ["t.compress([True, False], axis=0)"],
    ),
    "put": (
        "Returns None. RuntimeError for a leaf that requires grad. `values` gets the gradient of what they replace.",
        "",
        ["y = t * 1", "y.put([0], 9.0)", "y"],
    ),
    "fill": (
        "Returns None. RuntimeError for a leaf that requires grad. `value` gets the sum of the gradient.",
        "",
        ["y = t * 1", "y.fill(2.0)", "y"],
    ),
    "dot": (
        "ValueError where the lengths do not fit. Gradient: that of `matmul`, or of `multiply` for a scalar.",
        "",
        ["t.dot(t)"],
    ),
    "repeat": (
        "Shape: `repeats` times as long along `axis`. Each element gets the sum over its copies.",
        "repeat",
        ["t[0].repeat(2)"],
    ),
    # -- shapes
    "reshape": (
        "`shape` as numbers or a tuple; one length may be -1. A view where NumPy gives one.",
        "reshape",
        ["t.reshape(4)"],
    ),
    "ravel": ("The gradient is reshaped back.", "", ["t.ravel()"]),
    "flatten": ("The gradient is reshaped back.", "", ["t.flatten()"]),
    "squeeze": (
        "ValueError for an axis of another length. The gradient is reshaped back.",
        "",
        ["t[None].squeeze().shape"],
    ),
    "transpose": ("A view where the library has views.", "permute_dims", ["t.transpose(1, 0)"]),
    "swapaxes": ("A view where the library has views.", "permute_dims", ["t.swapaxes(0, 1)"]),
    "diagonal": ("Shape: the other axes, then the diagonal's length.", "diagonal", ["t.diagonal()"]),
    "view": (
        "TypeError for another dtype. `t.view()` is a new Tensor over the same memory; the gradient passes through.",
        "",
        ["t.view().base is t"],
    ),
    "get": (
        "The values on the host, as a Tensor over NumPy, recorded; of Tensors over CuPy alone, as cupy.ndarray.get.",
        "",
        ["hasattr(t, 'get')"],
    ),
    "getfield": (
        "A view of the array itself, or of the real or imaginary part of a complex one. TypeError for other fields.",
        "",
        ["t.getfield(t.dtype).base is t"],
    ),
    "setfield": (
        "Writes the array itself, or the real or imaginary part of a complex one. TypeError for other fields.",
        "",
        ["y = t * 1.0", "y.setfield(2.0, y.dtype)", "y.array"],
    ),
    "to_device": (
        "Of the same library and dtype. ValueError or the library's own error for a device it does not know.",
        "",
        ["t.to_device('cpu').device"],
    ),
    # -- refused
    "resize": (
        "TypeError always. `arraygrad.numpy.resize(t, shape)` makes a new Tensor.",
        "",
        ["import arraygrad.numpy as xp", "xp.resize(t, (3,))"],
    ),
    "setflags": (
        "TypeError for `write=True` where it is not; the flags of `t.array` can be set.",
        "",
        ["t.array.setflags(write=True)"],
    ),
    "byteswap": (
        "TypeError always. `t.detach().numpy().byteswap()` has the bytes.",
        "",
        ["t.detach().numpy().byteswap().dtype"],
    ),
}
