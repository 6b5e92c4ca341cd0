"""Names of PyTorch, HIPS autograd, JAX and NumPy that arraygrad has not, and what to write in their place.

Imports the standard library. An attribute that is missing stays missing: every hint is the text of an AttributeError
or TypeError that would be raised anyway, but for a few that an adopted program asks of a plain array. `Hint` stands
in the base class of Tensor under each name of HINTED, so that attributes that are there are looked up as fast as
without; modules ask `missing` when a name was not found.
"""

import sys

__all__ = ["HINTED", "Hint", "by_position", "missing", "missing_module", "shape_in_parts", "unexpected"]

_IN_PLACE = "write in place with t[...] = value or an operator (t += other, t *= other)"
_NO_DEVICES = "a Tensor stays where its array is: make it of a CuPy array, or move it by t.to_device(device)"
_OF_SCIPY = "call scipy.{0}, which is recorded in arraygrad.grad(f); elsewhere arraygrad.scipy.{0}"
_TO_CUDA = "make the Tensor of a CuPy array, arraygrad.asarray(cupy.asarray(x)), or arraygrad.to_backend(t, 'cupy')"

# Functions of arraygrad that other libraries have as methods too.
_FUNCTIONS = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "broadcast_to", "ceil", "copysign", "cos",
    "cosh", "count_nonzero", "diff", "divide", "equal", "erf", "exp", "expand_dims", "expm1", "flip", "floor",
    "floor_divide", "greater", "greater_equal", "hypot", "isfinite", "isin", "isinf", "isnan", "less", "less_equal",
    "log", "log10", "log1p", "log2", "log_softmax", "logaddexp", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logsumexp", "matmul", "maximum", "minimum", "moveaxis", "multiply", "negative", "nextafter",
    "not_equal", "pad",
    "permute_dims", "pow", "reciprocal", "relu", "remainder", "roll", "sigmoid", "sign", "signbit", "sin", "sinh",
    "softmax", "sqrt", "square", "subtract", "take_along_axis", "tan", "tanh", "tensordot", "tile", "tril", "triu",
    "trunc", "unstack", "vecdot", "where",
)  # fmt: skip

_CHANGE_THEIRS = """
    abs_ ceil_ clip_ cos_ cosh_ divide_ erf_ expm1_ floor_ lerp_ log10_ log1p_ log2_ log_ multiply_ negative_
    reciprocal_ remainder_ round_ rsqrt_ sigmoid_ sign_ sin_ sinh_ square_ subtract_ tan_ tanh_ tril_ triu_ trunc_
"""
_OF_NUMPY = """
    angle argwhere bincount corrcoef cov deg2rad diag diagflat exp2 fliplr flipud histogram median nan_to_num nanmean
    nanmedian nansum rad2deg rot90 sinc unique
"""
_OF_NUMPY_AND_ANOTHER = "cross float_power fmax fmin fmod heaviside inner kron logaddexp2 quantile"

# Attributes of Tensor.
_TENSOR = {
    # shapes
    "unsqueeze": "use t[None] for a first axis, t[..., None] for a last one, or arraygrad.expand_dims(t, axis)",
    "ptp": "use numpy.ptp(t), as of NumPy 2's arrays",
    "itemset": "write t[index] = value, as of NumPy 2's arrays",
    "newbyteorder": "convert the data before it becomes a Tensor",
    "permute": "use t.transpose(2, 0, 1), or arraygrad.permute_dims(t, (2, 0, 1))",
    "t": "use t.T",
    "H": "use t.T.conj()",
    "mH": "use t.mT.conj()",
    "adjoint": "use t.mT.conj()",
    "expand": "use arraygrad.broadcast_to(t, shape)",
    "expand_as": "use arraygrad.broadcast_to(t, other.shape)",
    "view_as": "use t.reshape(other.shape)",
    "reshape_as": "use t.reshape(other.shape)",
    "movedim": "use arraygrad.moveaxis(t, source, destination)",
    "unbind": "use arraygrad.unstack(t, axis=0), or iterate over t",
    "split": "use numpy.split(t, positions), which counts positions, not sizes",
    "chunk": "use numpy.array_split(t, number)",
    "narrow": "use a slice, t[:, start:start + length]",
    "dim": "use t.ndim",
    "ndimension": "use t.ndim",
    "numel": "use t.size",
    "nelement": "use t.size",
    "element_size": "use t.itemsize",
    "contiguous": "use t.copy(), which is laid out row by row",
    "is_contiguous": "use t.flags.c_contiguous",
    "data_ptr": "use t.array, whose memory it is (t.array.ctypes.data)",
    "storage": "use t.array, whose memory it is",
    "untyped_storage": "use t.array, whose memory it is",
    # dtypes and devices
    "to": "use t.astype(dtype) for another dtype, t.to_device(device) for another device, or "
    "arraygrad.to_backend(t, library) for another library",
    "cuda": _TO_CUDA,
    "cpu": "use arraygrad.to_backend(t, 'numpy'), which is recorded, or t.numpy() for the values",
    "is_cuda": "compare t.device",
    "get_device": "use t.device",
    "float": "use t.astype(arraygrad.float32)",
    "double": "use t.astype(arraygrad.float64)",
    "half": "use t.astype(numpy.float16)",
    "bfloat16": "use t.astype(dtype) with a dtype of the Tensor's library",
    "int": "use t.astype(arraygrad.int32)",
    "long": "use t.astype(arraygrad.int64)",
    "bool": "use t.astype(arraygrad.bool)",
    "type": "use t.dtype, or t.astype(dtype)",
    "type_as": "use t.astype(other.dtype)",
    "is_floating_point": "use arraygrad.isdtype(t.dtype, 'real floating')",
    "is_complex": "use arraygrad.isdtype(t.dtype, 'complex floating')",
    # values and the graph
    "data": "update a leaf by t -= step under arraygrad.no_grad(); t.detach() and t.array hold the values",
    "ctypes": "compiled code takes plain arrays, and no gradient reaches what it computes: give the function that "
    "calls it its derivative by arraygrad.primitive; t.array.ctypes where only the values are meant",
    "tofile": "write t.array, which is the plain array",
    "dump": "pickle the Tensor, or t.array.dump(file)",
    "dumps": "use pickle.dumps(t), or t.array.dumps()",
    "clone": "use t.copy(), which is recorded; t.detach().copy() for the values alone",
    "value": "use t.array or t.numpy()",
    "_value": "use t.array or t.numpy(); arraygrad has no boxes",
    "primal": "use t.array or t.numpy()",
    "aval": "use t.shape and t.dtype",
    "block_until_ready": "nothing to wait for: values are there when an operation returns, but for CuPy's streams",
    "zero_grad": "use t.grad = None",
    "_scatter_op": "cupy.add.at(t, i, v) is recorded in arraygrad.grad(f) where cupy is called by its name; elsewhere "
    "write numpy.add.at(t, i, v)",
    "zero_": "use t[...] = 0, or for a gradient t.grad = None",
    "fill_": "use t.fill(value)",
    "copy_": "use t[...] = other",
    "add_": "use t += other",
    "sub_": "use t -= other",
    "mul_": "use t *= other",
    "div_": "use t /= other",
    "pow_": "use t **= other",
    "clamp_": "use t[...] = t.clip(low, high)",
    "relu_": "use t[...] = arraygrad.relu(t)",
    "exp_": _IN_PLACE,
    "sqrt_": _IN_PLACE,
    "neg_": _IN_PLACE,
    "uniform_": "use t[...] = numpy.random.default_rng().uniform(low, high, t.shape)",
    "normal_": "use t[...] = numpy.random.default_rng().normal(mean, std, t.shape)",
    "apply_": "use t[...] = function(t.array)",
    "new_zeros": "use arraygrad.zeros(shape, dtype=t.dtype)",
    "new_ones": "use arraygrad.ones(shape, dtype=t.dtype)",
    "new_full": "use arraygrad.full(shape, value, dtype=t.dtype)",
    "new_tensor": "use arraygrad.tensor(data, dtype=t.dtype)",
    # elements
    "at": "Tensors can be written: copy = t.copy(), then copy[index] = value or copy[index] += value, both recorded",
    "gather": "use arraygrad.take_along_axis(t, indices, axis=axis)",
    "scatter": "use numpy.put_along_axis(copy, indices, values, axis) on a copy",
    "scatter_": "use numpy.put_along_axis(t, indices, values, axis)",
    "scatter_add_": "use numpy.add.at(t, indices, values)",
    "index_add_": "use numpy.add.at(t, indices, values)",
    "index_select": "use t.take(indices, axis)",
    "masked_fill": "use arraygrad.where(mask, value, t)",
    "masked_fill_": "use t[mask] = value",
    "masked_select": "use t[mask]",
    "topk": "use t[numpy.argsort(t.detach())[-k:]]",
    "amax": "use t.max(axis)",
    "amin": "use t.min(axis)",
    # MyGrad's
    "constant": "use not t.requires_grad",
    "null_grad": "use t.grad = None",
    "null_gradients": "use t.grad = None; graphs are freed by backward",
    "clear_graph": "backward frees the graph; t.detach() leaves it",
    "creator": "use t.grad_fn",
    # arithmetic
    "add": "use t + other",
    "sub": "use t - other",
    "mul": "use t * other",
    "div": "use t / other",
    "neg": "use -t",
    "mm": "use t @ other",
    "bmm": "use t @ other",
    "mv": "use t @ vector",
    "ger": "use arraygrad.linalg.outer(t, other)",
    "outer": "use arraygrad.linalg.outer(t, other)",
    "clamp": "use t.clip(low, high)",
    "rsqrt": "use 1 / arraygrad.sqrt(t)",
    "norm": "use arraygrad.linalg.vector_norm(t) or arraygrad.linalg.matrix_norm(t)",
    "inverse": "use arraygrad.linalg.inv(t)",
    "det": "use arraygrad.linalg.det(t)",
    "logdet": "use arraygrad.linalg.slogdet(t)",
    "cumsum_": _IN_PLACE,
    "lerp": "use t + weight * (other - t)",
    "eq": "use t == other",
    "ne": "use t != other",
    "lt": "use t < other",
    "le": "use t <= other",
    "gt": "use t > other",
    "ge": "use t >= other",
    "allclose": "use numpy.allclose(t.numpy(), other)",
    "hex": "text holds no gradient: use float(arraygrad.stop_gradient(t)).hex()",
    "to_numpy": "use t.numpy()",
    "values": "use t itself, or t.numpy() for the values without a gradient",
    "to_list": "use t.tolist()",
    # PyTorch's and TensorFlow's, of rarer use
    "assign": "write t[...] = value, under arraygrad.no_grad() for a step of a leaf",
    "assign_add": "write t += other, under arraygrad.no_grad() for a step of a leaf",
    "assign_sub": "write t -= other, under arraygrad.no_grad() for a step of a leaf",
    "gradient": "use arraygrad.grad(f)(x), or loss.backward() and t.grad",
    "equal": "use numpy.array_equal(t, other), or t == other for each element",
    "state_dict": "keep the parameters in a dict: numpy.savez(file, **{name: t.numpy() for name, t in params.items()})",
    "load_state_dict": "write the values: t[...] = numpy.load(file)[name], under arraygrad.no_grad()",
    "register_backward_hook": "use t.register_hook(hook)",
    "register_full_backward_hook": "use t.register_hook(hook)",
    "is_nonzero": "use bool(t)",
    "new_empty": "use arraygrad.empty(shape, dtype=t.dtype)",
    "short": "use t.astype(numpy.int16)",
    "byte": "use t.astype(numpy.uint8)",
    "char": "use t.astype(numpy.int8)",
    "stride": "use t.strides, in bytes",
    "pin_memory": _NO_DEVICES,
    "share_memory_": "processes have records of their own: let each return its gradient",
    "resize_": "use t = t.reshape(shape)",
    "squeeze_": "use t = t.squeeze(axis)",
    "unsqueeze_": "use t = t[None]",
    "t_": "use t = t.T",
    "transpose_": "use t = t.T",
    "unflatten": "use t.reshape(shape)",
    "select": "use t.take(index, axis), or t[index]",
    "swapdims": "use t.swapaxes(axis1, axis2)",
    "take_along_dim": "use arraygrad.take_along_axis(t, indices, axis=axis)",
    "repeat_interleave": "use t.repeat(n, axis)",
    "tensor_split": "use numpy.array_split(t, number)",
    "split_with_sizes": "use numpy.split(t, numpy.cumsum(sizes)[:-1])",
    "unfold": "use numpy.lib.stride_tricks.sliding_window_view(t, size)",
    "index_put_": "use t[index] = value",
    "index_fill_": "use t[index] = value",
    "index_copy_": "use t[index] = other",
    "index_add": "use copy = t.copy(), then numpy.add.at(copy, indices, values)",
    "scatter_add": "use copy = t.copy(), then numpy.add.at(copy, indices, values)",
    "masked_scatter_": "use t[mask] = values",
    "fill_diagonal_": "use i = numpy.arange(n), then t[i, i] = value",
    "aminmax": "use t.min(), t.max()",
    "cummax": "use numpy.maximum.accumulate(t)",
    "cummin": "use numpy.minimum.accumulate(t)",
    "logcumsumexp": "use numpy.logaddexp.accumulate(t)",
    "kthvalue": "use arraygrad.sort(t)[k - 1]",
    "multinomial": "use numpy.random.default_rng().choice(t.size, number, p=t.numpy())",
    "bernoulli": "use numpy.random.default_rng().random(t.shape) < t.numpy()",
    "addmm": "use t + a @ b",
    "addmv": "use t + a @ b",
    "baddbmm": "use t + a @ b",
    "addcmul": "use t + value * a * b",
    "addcdiv": "use t + value * a / b",
    "true_divide": "use t / other",
    "clamp_min": "use t.clip(low)",
    "clamp_max": "use t.clip(None, high)",
    "dist": "use arraygrad.linalg.vector_norm(t - other)",
    "vdot": "use t.conj() @ other",
    "frac": "use t - arraygrad.trunc(t)",
    "fix": "use arraygrad.trunc(t)",
    "sgn": "use arraygrad.sign(t)",
    "cholesky": "use arraygrad.linalg.cholesky(t)",
    "qr": "use arraygrad.linalg.qr(t)",
    "svd": "use arraygrad.linalg.svd(t)",
    "eig": "use numpy.linalg.eig(t), or arraygrad.linalg.eigh(t) of a symmetric matrix",
    "symeig": "use arraygrad.linalg.eigh(t)",
    "solve": "use arraygrad.linalg.solve(t, other)",
    "lstsq": "use arraygrad.linalg.pinv(t) @ other, or arraygrad.scipy.linalg.lstsq",
    "slogdet": "use arraygrad.linalg.slogdet(t)",
    "pinverse": "use arraygrad.linalg.pinv(t)",
    "matrix_power": "use arraygrad.linalg.matrix_power(t, n)",
    "matrix_exp": "use arraygrad.scipy.linalg.expm(t)",
    "lgamma": "use arraygrad.scipy.special.gammaln(t)",
    "digamma": "use arraygrad.scipy.special.digamma(t)",
    "polygamma": "use arraygrad.scipy.special.polygamma(n, t)",
    "erfc": "use arraygrad.scipy.special.erfc(t)",
    "erfinv": "use arraygrad.scipy.special.erfinv(t)",
    "logit": "use arraygrad.scipy.special.logit(t)",
    "xlogy": "use arraygrad.scipy.special.xlogy(t, other)",
    "to_sparse": _OF_SCIPY.format("sparse"),
    **dict.fromkeys(_CHANGE_THEIRS.split(), _IN_PLACE),
    **{name: f"use numpy.{name}(t)" for name in _OF_NUMPY.split()},
    **{name: f"use numpy.{name}(t, other)" for name in _OF_NUMPY_AND_ANOTHER.split()},
}

_OWN = "the Array API standard's name, and ours, is arraygrad."
_TREES = "use arraygrad.tree_map, tree_leaves, tree_flatten and tree_unflatten"
_MODULE_OF = "arraygrad differentiates functions and has no layers, losses or optimizers: "

# Names of modules. "" is arraygrad itself.
_MODULES = {
    "": {
        "cat": "use arraygrad.concat(arrays, axis=0)",
        "concatenate": "use arraygrad.concat(arrays, axis=0), or numpy.concatenate",
        "hstack": "use numpy.hstack, or arraygrad.concat(arrays, axis=1)",
        "vstack": "use numpy.vstack, or arraygrad.concat(arrays, axis=0)",
        "arcsin": _OWN + "asin",
        "arccos": _OWN + "acos",
        "arctan": _OWN + "atan",
        "arctan2": _OWN + "atan2",
        "arcsinh": _OWN + "asinh",
        "arccosh": _OWN + "acosh",
        "arctanh": _OWN + "atanh",
        "power": _OWN + "pow",
        "absolute": _OWN + "abs",
        "mod": _OWN + "remainder",
        "invert": _OWN + "bitwise_invert",
        "transpose": _OWN + "permute_dims(t, axes); t.T of a matrix",
        "permute": _OWN + "permute_dims(t, axes)",
        "movedim": _OWN + "moveaxis",
        "swapaxes": "use t.swapaxes(axis1, axis2)",
        "unsqueeze": "use arraygrad.expand_dims(t, axis), or t[None]",
        "flatten": "use t.flatten()",
        "ravel": "use t.ravel()",
        "view": "use t.reshape(shape)",
        "cumsum": _OWN + "cumulative_sum",
        "cumprod": _OWN + "cumulative_prod",
        "clamp": _OWN + "clip",
        "mm": "use a @ b",
        "bmm": "use a @ b",
        "dot": "use a @ b, a.dot(b) or numpy.dot(a, b)",
        "inner": "use a @ b, or numpy.inner(a, b)",
        "outer": "use arraygrad.linalg.outer(a, b)",
        "inv": "use arraygrad.linalg.inv(a)",
        "inverse": "use arraygrad.linalg.inv(a)",
        "det": "use arraygrad.linalg.det(a)",
        "split": "use numpy.split(t, positions), which counts positions, not sizes",
        "chunk": "use numpy.array_split(t, number)",
        "masked_fill": "use arraygrad.where(mask, value, t)",
        "masked_select": "use t[mask]",
        "topk": "use t[numpy.argsort(t.detach())[-k:]]",
        "scatter": "use numpy.put_along_axis(copy, indices, values, axis) on a copy",
        "scatter_add": "use copy = t.copy(), then numpy.add.at(copy, indices, values)",
        "index_add": "use copy = t.copy(), then numpy.add.at(copy, indices, values)",
        "softplus": "use arraygrad.logaddexp(t, 0.0)",
        "logsigmoid": "use -arraygrad.logaddexp(-t, 0.0)",
        "silu": "use t * arraygrad.sigmoid(t)",
        "gelu": "use 0.5 * t * (1.0 + arraygrad.erf(t / 2**0.5))",
        "leaky_relu": "use arraygrad.where(t > 0, t, slope * t)",
        "cross_entropy": "use -arraygrad.log_softmax(logits, axis=-1)[numpy.arange(n), labels].mean()",
        "nll_loss": "use -log_probabilities[numpy.arange(n), labels].mean()",
        "mse_loss": "use ((t - target) ** 2).mean()",
        "dropout": "use t * (numpy.random.default_rng().random(t.shape) >= p) / (1 - p)",
        "conv1d": "use numpy.convolve, arraygrad.scipy.signal, or arraygrad.interop.from_torch(torch.conv1d)",
        "conv2d": "use arraygrad.scipy.signal.convolve2d, or arraygrad.interop.from_torch(torch.conv2d)",
        "max_pool2d": "use t.reshape(n, c, h // k, k, w // k, k).max(axis=(3, 5))",
        "avg_pool2d": "use t.reshape(n, c, h // k, k, w // k, k).mean(axis=(3, 5))",
        "detect_anomaly": "use arraygrad.autograd.detect_anomaly()",
        "func": "its transforms are arraygrad's own: arraygrad.grad, vjp, jvp, jacrev, jacfwd, hessian",
        "no_autodiff": "use arraygrad.no_grad()",
        "getval": "use t.detach(), or t.item() for a number",
        "grad_and_aux": "use arraygrad.grad(f, has_aux=True)",
        "unbind": _OWN + "unstack",
        "gather": _OWN + "take_along_axis",
        "index_select": _OWN + "take",
        "amax": _OWN + "max",
        "amin": _OWN + "min",
        "rsqrt": "use 1 / arraygrad.sqrt(t)",
        "array": "use arraygrad.tensor(data), or arraygrad.asarray(array) without a copy",
        "as_tensor": "use arraygrad.asarray(data)",
        "from_numpy": "use arraygrad.asarray(array), which shares the memory",
        "Variable": "use arraygrad.tensor(data, requires_grad=True)",
        "Parameter": "use arraygrad.tensor(data, requires_grad=True)",
        "is_tensor": "use isinstance(x, arraygrad.Tensor)",
        "rand": "use arraygrad.tensor(numpy.random.default_rng().random(shape))",
        "randn": "use arraygrad.tensor(numpy.random.default_rng().standard_normal(shape))",
        "manual_seed": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "random": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "np": "import arraygrad.numpy as np, or use NumPy itself: its functions take Tensors",
        "jnp": "import arraygrad.numpy as jnp, or use NumPy itself: its functions take Tensors",
        "backward": "use t.backward(), or arraygrad.autograd.backward(tensors)",
        "Function": "use arraygrad.autograd.Function",
        "detach": "use t.detach(); in a function that is differentiated arraygrad.stop_gradient(t)",
        "lax": "use Python's own loops and conditions; lax.stop_gradient is arraygrad.stop_gradient",
        "scan": "use a Python loop, which is recorded as it runs; arraygrad.checkpoint(step) where it is long",
        "fori_loop": "use a Python loop, which is recorded as it runs",
        "while_loop": "use a Python loop, which is recorded as it runs",
        "cond": "use Python's if, or arraygrad.where for each element",
        "switch": "use Python's if, or arraygrad.where for each element",
        "ravel_pytree": "use vector, back = arraygrad.ravel_tree(tree)",
        "flatten_util": "use vector, back = arraygrad.ravel_tree(tree)",
        "tree": _TREES,
        "tree_util": _TREES,
        "register_pytree_node": "use arraygrad.register_container",
        "register_pytree_node_class": "use arraygrad.register_container",
        "grad_and_value": "use value, gradient = arraygrad.value_and_grad(f)(x); the value stands first",
        "misc": "use arraygrad.ravel_tree for its flatten, and scipy.optimize for its optimizers",
        "flatten_func": "use arraygrad.ravel_tree",
        "optimizers": "step with x -= rate * gradient, or use scipy.optimize.minimize(..., jac=True)",
        "test_util": "use arraygrad.gradcheck(f, inputs)",
        "check_grads": "use arraygrad.gradcheck(f, inputs)",
        "multigrad": "use arraygrad.grad(f, argnums=(0, 1))",
        "multigrad_dict": "use arraygrad.grad of a function of a dict",
        "grad_named": "use arraygrad.grad(f, argnums=position)",
        "make_vjp": "use value, pull = arraygrad.vjp(f, x)",
        "make_jvp": "use arraygrad.jvp(f, (x,), (v,))",
        "make_hvp": "use arraygrad.hvp(f)(x, v)",
        "make_ggnvp": "compose it of arraygrad.jvp and arraygrad.vjp",
        "hessian_vector_product": "use arraygrad.hvp(f)(x, v)",
        "hessian_tensor_product": "use arraygrad.hvp(f)(x, v)",
        "tensor_jacobian_product": "use value, pull = arraygrad.vjp(f, x)",
        "deriv": "use arraygrad.grad(f)",
        "holomorphic_grad": "use arraygrad.jacobian(f), which checks that f is holomorphic",
        "checkpointing": "use arraygrad.checkpoint(f)",
        "remat": "use arraygrad.checkpoint(f)",
        "custom_vjp": "use @arraygrad.primitive and f.defvjp(...), or arraygrad.autograd.Function",
        "custom_jvp": "use @arraygrad.primitive and f.defvjp(...): forward derivatives are made of the reverse ones",
        "custom_gradient": "use @arraygrad.primitive and f.defvjp(...), or arraygrad.autograd.Function",
        "defjvp": "use f.defvjp(...): forward derivatives are made of the reverse ones",
        "extend": "use @arraygrad.primitive and f.defvjp(...)",
        "vmap": "use arraygrad.stack([f(x) for x in xs]), or write f for a batch, with axis=-1 in what it reduces",
        "pmap": "use processes or arraygrad.dask; docs/distributed.md",
        "jit": "nothing to compile: operations run as they are called (the page Performance)",
        "compile": "nothing to compile: operations run as they are called (the page Performance)",
        "nn": _MODULE_OF + "write the layer with arrays, as the tutorial does, docs/tutorials/network.md",
        "optim": _MODULE_OF + "step with x -= rate * gradient, or use scipy.optimize.minimize(..., jac=True)",
        "utils": "see arraygrad.testing and arraygrad.tools",
        "cuda": "devices are CuPy's: cupy.cuda.Device(0), and arraygrad.asarray of CuPy's arrays",
        "device": "devices are those of the array's library: t.device, t.to_device(device)",
        "set_default_dtype": "the dtype is that of the arrays: give dtype= where they are made",
        "save": "use numpy.save(file, t.numpy()), or pickle",
        "load": "use arraygrad.tensor(numpy.load(file))",
        "float": "use arraygrad.float32 or arraygrad.float64",
        "double": "use arraygrad.float64",
        "long": "use arraygrad.int64",
        "int": "use arraygrad.int32 or arraygrad.int64",
        "solve_ivp": _OF_SCIPY.format("integrate.solve_ivp"),
        "odeint": _OF_SCIPY.format("integrate.odeint"),
        "root": _OF_SCIPY.format("optimize.root"),
        "minimize": _OF_SCIPY.format("optimize.minimize"),
        "sparse": _OF_SCIPY.format("sparse"),
        "profile": "use `with arraygrad.autograd.graph.profile() as p`",
        "profiler": "use `with arraygrad.autograd.graph.profile() as p`",
        "value_and_jacobian": "use f(x) and arraygrad.jacobian(f)(x)",
        "jacobian_vector_product": "use value, product = arraygrad.jvp(f, (x,), (v,))",
        "vector_jacobian_product": "use value, pull = arraygrad.vjp(f, x), and pull(v)",
        "linear_transpose": "use value, pull = arraygrad.vjp(f, x): pull(v) of a linear f is the transpose times v",
        "GradientTape": "use arraygrad.grad(f), or arraygrad.tensor(data, requires_grad=True) and backward()",
        "gradients": "use arraygrad.grad(f), or arraygrad.autograd.grad(output, inputs)",
        "functional": "use arraygrad.jacobian, arraygrad.hessian, arraygrad.vjp, arraygrad.jvp, arraygrad.hvp",
        "make_jaxpr": "use `with arraygrad.autograd.graph.trace()` for the operations that run",
        "device_get": "use t.numpy() for the values, or arraygrad.to_backend(t, 'numpy'), which is recorded",
        "device_put": "use arraygrad.to_backend(t, 'cupy'), which is recorded",
        "config": "the dtype is that of the arrays; arraygrad.set_adoption and the other settings are functions",
        "value_and_gradient": "use value, gradient = arraygrad.value_and_grad(f)(x)",
        "gradient": "use arraygrad.grad(f); numpy.gradient(t) for differences along an axis",
        "stop_grad": "use arraygrad.stop_gradient(t)",
        "eval_shape": "call f(x) and take the shape of its result: operations run as they are called",
        "debug": "print(t) and breakpoint() work in a function that is differentiated: it runs as plain Python does",
        "disable_jit": "nothing to turn off: operations run as they are called, and breakpoint() works",
        "block_until_ready": "nothing to wait for: values are there when an operation returns",
        "tree_structure": "use leaves, structure = arraygrad.tree_flatten(tree)",
        "tree_reduce": "use functools.reduce(function, arraygrad.tree_leaves(tree))",
        "tree_all": "use all(arraygrad.tree_leaves(tree))",
        "tree_transpose": "use arraygrad.tree_map(lambda *items: list(items), *trees) of a list of trees",
        "segment_sum": "write y = numpy.zeros(n) and numpy.add.at(y, segments, values), which is recorded",
        "autocast": "the dtype is that of the arrays: convert them, x.astype(arraygrad.float32)",
        "amp": "the dtype is that of the arrays: convert them, x.astype(arraygrad.float32)",
        "GradScaler": "multiply the loss by a number, and divide the gradient by it",
        "tracer": "use arraygrad.stop_gradient(t) for its getval",
        "builtins": "use Python's own isinstance, type, list, tuple and dict, which know Tensors in a transform",
        "util": "use arraygrad.gradcheck(f, inputs) for its checks, arraygrad.ravel_tree(tree) for its flatten",
        "differential_operators": "use arraygrad.grad, arraygrad.jacobian and arraygrad.hessian",
        "container_types": "use Python's own list, tuple and dict",
        # losses and layers of other libraries
        "binary_cross_entropy": "use -(y * arraygrad.log(p) + (1 - y) * arraygrad.log1p(-p)).mean()",
        "binary_cross_entropy_with_logits": "use (arraygrad.logaddexp(z, 0.0) - y * z).mean() of the logits z",
        "l1_loss": "use arraygrad.abs(t - target).mean()",
        "smooth_l1_loss": "use arraygrad.scipy.special.huber(1.0, t - target).mean()",
        "huber_loss": "use arraygrad.scipy.special.huber(delta, t - target).mean()",
        "kl_div": "use arraygrad.scipy.special.rel_entr(p, q).sum()",
        "elu": "use arraygrad.where(t > 0, t, arraygrad.expm1(t))",
        "selu": "use 1.0507 * arraygrad.where(t > 0, t, 1.6733 * arraygrad.expm1(t))",
        "relu6": "use arraygrad.clip(t, 0, 6)",
        "hardtanh": "use arraygrad.clip(t, -1, 1)",
        "softsign": "use t / (1 + arraygrad.abs(t))",
        "soft_sign": "use t / (1 + arraygrad.abs(t))",
        "swish": "use t * arraygrad.sigmoid(t)",
        "mish": "use t * arraygrad.tanh(arraygrad.logaddexp(t, 0.0))",
        "log_sigmoid": "use -arraygrad.logaddexp(-t, 0.0)",
        "one_hot": "use numpy.eye(n)[labels]",
        "embedding": "use table[indices]",
        "linear": "use x @ weights + bias",
        "normalize": "use t / arraygrad.linalg.vector_norm(t, axis=-1, keepdims=True)",
        "cosine_similarity": "use a @ b / (arraygrad.linalg.vector_norm(a) * arraygrad.linalg.vector_norm(b))",
        "layer_norm": "use (t - t.mean(-1, keepdims=True)) / arraygrad.sqrt(t.var(-1, keepdims=True) + 1e-5)",
        "losses": _MODULE_OF + "write it with arrays, ((t - target) ** 2).mean()",
        "layers": _MODULE_OF + "write the layer with arrays, x @ weights + bias",
        "keras": _MODULE_OF + "write the layer with arrays, x @ weights + bias",
        "Module": _MODULE_OF + "keep the parameters in a dict, which arraygrad.grad(f) takes",
        "SGD": "step with x -= rate * gradient, or use scipy.optimize.minimize(..., jac=True)",
        "Adam": "write the step, as the tutorial does, docs/tutorials/network.md",
        "adam": "write the step, as the tutorial does, docs/tutorials/network.md",
        "sgd": "step with x -= rate * gradient, or use scipy.optimize.minimize(..., jac=True)",
        # TensorFlow's
        "constant": "use arraygrad.asarray(data), or NumPy's arrays as they are",
        "convert_to_tensor": "use arraygrad.asarray(data)",
        "function": "nothing to compile: operations run as they are called (the page Performance)",
        "cast": "use arraygrad.astype(t, dtype)",
        "math": "its functions are arraygrad's own: arraygrad.log, arraygrad.exp",
        "placeholder": "nothing to declare: call arraygrad.grad(f) with the values",
        "Session": "nothing to run: operations run as they are called",
        "custom_derivatives": "use @arraygrad.primitive and f.defvjp(...), or arraygrad.autograd.Function",
        "map_fn": "use arraygrad.stack([f(x) for x in xs])",
        "boolean_mask": "use t[mask]",
        "clip_by_value": "use arraygrad.clip(t, low, high)",
        "clip_by_norm": "use t * arraygrad.minimum(1.0, limit / arraygrad.linalg.vector_norm(t))",
        **{f"reduce_{name}": f"use arraygrad.{name}(t, axis=axis)" for name in ("sum", "mean", "max", "min", "prod")},
        **{f"reduce_{name}": f"use arraygrad.{name}(t, axis=axis)" for name in ("any", "all", "std", "logsumexp")},
        "reduce_variance": "use arraygrad.var(t, axis=axis)",
        # MATLAB's
        "dlarray": "use NumPy's arrays, or arraygrad.tensor(data, requires_grad=True) step by step",
        "dlgradient": "use arraygrad.grad(f)(x)",
        "dlfeval": "use arraygrad.grad(f)(x)",
        "fminunc": "use scipy.optimize.minimize(arraygrad.value_and_grad(f), x, jac=True)",
        "fmincon": "use scipy.optimize.minimize(arraygrad.value_and_grad(f), x, jac=True, bounds=bounds)",
        "fminsearch": "use scipy.optimize.minimize(f, x, method='Nelder-Mead')",
        "lsqnonlin": "use scipy.optimize.least_squares(f, x, jac=arraygrad.jacobian(f))",
        "fsolve": _OF_SCIPY.format("optimize.fsolve"),
        "ode45": _OF_SCIPY.format("integrate.solve_ivp"),
        "length": "use len(t), or t.size",
        "repmat": "use arraygrad.tile(t, repetitions)",
        "horzcat": "use numpy.hstack",
        "vertcat": "use numpy.vstack",
        # names of all kinds
        "differentiate": "use arraygrad.grad(f)",
        "derivative": "use arraygrad.grad(f)",
        "index_update": "write copy = t.copy(), then copy[index] = value, both recorded",
        "normal": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "uniform": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "randint": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "randperm": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "rand_like": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "randn_like": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "poisson": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "seed": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "PRNGKey": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "Generator": "random numbers are NumPy's: numpy.random.default_rng(seed)",
        "scalar_tensor": "use arraygrad.asarray(number)",
        "range": "use arraygrad.arange(start, stop)",
        "trapz": "use numpy.trapezoid(y, x)",
        "bucketize": "use numpy.searchsorted(edges, t)",
        "block_diag": _OF_SCIPY.format("linalg.block_diag"),
        "cdist": _OF_SCIPY.format("spatial.distance.cdist"),
        "Array": "use isinstance(x, arraygrad.Tensor), or numpy.ndarray for plain arrays",
        "devices": "devices are those of the array's library: t.device, t.to_device(device)",
        "set_default_device": "devices are those of the array's library: t.device, t.to_device(device)",
        "debug_nans": "use `with arraygrad.autograd.detect_anomaly():`",
        "enable_x64": "the dtype is that of the arrays, float64 by default",
        "pure_callback": "use @arraygrad.primitive and f.defvjp(...)",
        **{
            f"{name}Tensor": f"use arraygrad.tensor(data, dtype=arraygrad.{dtype})"
            for name, dtype in {"Float": "float32", "Double": "float64", "Long": "int64", "Int": "int32"}.items()
        },
    },
    "autograd": {
        "Variable": "use arraygrad.tensor(data, requires_grad=True)",
        "functional": "use arraygrad.jacobian, arraygrad.hessian, arraygrad.vjp, arraygrad.jvp, arraygrad.hvp",
        "numpy": "import arraygrad.numpy, or use NumPy itself: its functions take Tensors",
        "elementwise_grad": "use arraygrad.elementwise_grad",
        "value_and_grad": "use arraygrad.value_and_grad",
        "jacobian": "use arraygrad.jacobian",
        "hessian": "use arraygrad.hessian",
        "no_grad": "use arraygrad.no_grad",
        "enable_grad": "use arraygrad.enable_grad",
        "set_grad_enabled": "use arraygrad.set_grad_enabled",
        "inference_mode": "use arraygrad.inference_mode",
        "gradcheck": "use arraygrad.gradcheck",
        "gradgradcheck": "use arraygrad.gradgradcheck",
        "extend": "use @arraygrad.primitive and f.defvjp(...)",
        "profiler": "use `with arraygrad.autograd.graph.profile() as p`, or graph.trace() for single calls",
        "forward_ad": "use arraygrad.jvp",
        "checkpoint": "use arraygrad.checkpoint",
    },
    "linalg": {
        "inverse": "use arraygrad.linalg.inv",
        "norm": "use arraygrad.linalg.vector_norm or arraygrad.linalg.matrix_norm",
        "lstsq": "use arraygrad.linalg.pinv(a) @ b, or arraygrad.scipy.linalg.lstsq",
        "logdet": "use arraygrad.linalg.slogdet",
        "multi_dot": "use numpy.linalg.multi_dot, or a @ b @ c",
        "solve_triangular": _OF_SCIPY.format("linalg.solve_triangular"),
        "lu": _OF_SCIPY.format("linalg.lu"),
        "lu_factor": _OF_SCIPY.format("linalg.lu_factor"),
        "matrix_exp": _OF_SCIPY.format("linalg.expm"),
        "expm": _OF_SCIPY.format("linalg.expm"),
    },
}

# Modules that are attributes of others, and cannot be imported by their names.
_ATTRIBUTES = {
    "arraygrad.numpy.random": "import numpy.random, whose functions take Tensors in arraygrad.grad(f)",
}

_KEYWORDS = {
    "dim": ("axis", "arraygrad's name is axis="),
    "dims": ("axes", "arraygrad's name is axes="),
    "keepdim": ("keepdims", "arraygrad's name is keepdims="),
    "unbiased": ("correction", "give correction=1 for the unbiased estimate, correction=0 for the other"),
    "ddof": ("correction", "the standard's name is correction="),
    "argnum": ("argnums", "arraygrad's name is argnums=, of positions; names are argnames="),
    "wrt": ("argnums", "arraygrad's name is argnums=, of positions; names are argnames="),
    "holomorphic": ("argnums", "arraygrad.jacobian gives the complex derivative of a holomorphic function"),
    "static_argnums": ("argnums", "arguments that argnums does not name are passed as they are"),
    "static_argnames": ("argnums", "arguments that argnames does not name are passed as they are"),
    "create_graph": ("argnums", "transforms record what is differentiated again, so grad(f) within grad needs no more"),
    "retain_graph": ("argnums", "a call records anew, and frees its graph"),
    "has_aux": ("argnums", "differentiate lambda x: f(x)[0], and call f(x) for the auxiliary data"),
    "allow_int": ("argnums", "integers have no derivative: convert them to floats"),
    "min_val": ("min", "arraygrad's name is min="),
    "max_val": ("max", "arraygrad's name is max="),
    "a_min": ("min", "the standard's name is min="),
    "a_max": ("max", "the standard's name is max="),
    "input": (None, "give the array by position"),
    "tensors": (None, "give the arrays by position"),
    "a": (None, "give the array by position"),
    "constant": (None, "say requires_grad=True where the Tensor is made; everything else is constant"),
    "use_reentrant": ("early_stop", "there is one kind of checkpoint; call it as arraygrad.checkpoint(f)(t)"),
    "preserve_rng_state": ("early_stop", "the numbers of numpy.random are drawn again as they were"),
    "determinism_check": ("early_stop", "what is computed again is compared with what was, in any case"),
    "inplace": (None, "write the result in place with t[...] = result"),
    **dict.fromkeys(
        ("in_axes", "out_axes", "in_dims", "out_dims", "vectorize", "chunk_size", "randomness"),
        ("argnums", "there is no vmap: arraygrad.stack([f(x) for x in xs]), or write f for a batch, with axis=-1"),
    ),
    "strategy": ("argnums", "arraygrad.jacfwd goes forward, by columns; arraygrad.jacobian in reverse, by rows"),
    "strict": ("argnums", "a result that does not depend on the arguments gives a warning"),
    "transpose_a": (None, "use a.mT @ b"),
    "transpose_b": (None, "use a @ b.mT"),
}

# Names of Tensor that only carry a hint; `dir(t)` leaves them out.
HINTED = frozenset((*_TENSOR, *_FUNCTIONS))
# Those that an array has, which a Tensor gives in adopted calls where no gradient reaches it.
_OF_ARRAYS = frozenset(("ctypes", "data", "dump", "dumps", "tofile"))
_of_array = None  # see set_plain


def set_plain(attribute):
    """Have `attribute(t, name)` give attributes of the plain array that a Tensor would be; it raises AttributeError."""
    global _of_array
    _of_array = attribute


_refused = None  # see set_refused


def set_refused(known):
    """Have `known(t, name, error)` give the error for an attribute that a Tensor lacks: a plain value may have it."""
    global _refused
    _refused = known


class Hint:
    """What stands in a class for an attribute that it has not: asked for, it is missing, and says what to use."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, t, owner=None):
        if t is not None and self.name in _OF_ARRAYS and _of_array is not None:
            try:
                return _of_array(t, self.name)
            except AttributeError:
                pass
        text = _TENSOR.get(self.name) or f"use the function arraygrad.{self.name}"
        # Without name and obj: Python would add names that are spelled alike.
        error = AttributeError(f"'Tensor' object has no attribute {self.name!r}: {text}", name=None, obj=None)
        raise error if t is None or _refused is None else _refused(t, self.name, error)


def missing(module, name):
    """The text of the AttributeError for a name that a module of arraygrad has not, and whether it has a hint."""
    text = f"module {module!r} has no attribute {name!r}"
    room = module.partition(".")[2]
    hint = _MODULES.get(room, {}).get(name)
    if hint is None and not room and _TENSOR.get(name, "").startswith("use "):
        hint = _TENSOR[name]
    if hint is None and room in ("", "linalg", "fft") and not name.startswith("_"):
        # NumPy is there wherever arraygrad is.
        numpys = sys.modules.get(f"numpy.{room}".rstrip("."))
        if callable(getattr(numpys, name, None)):
            dotted = f"{room}.{name}".lstrip(".")
            hint = f"use numpy.{dotted}, whose function takes Tensors, or arraygrad.numpy.{dotted}"
    return (text, False) if hint is None else (f"{text}: {hint}", True)


def missing_module(name):
    """The text of the ModuleNotFoundError for a module that arraygrad has not, None where there is no hint."""
    hint = _ATTRIBUTES.get(name)
    if hint is None:
        text, hinted = missing(*name.rpartition(".")[::2])
        hint = text.partition(": ")[2] if hinted else None
    return None if hint is None else f"No module named {name!r}: {hint}"


def unexpected(function, keyword, parameters):
    """The text of the TypeError for a keyword that a function with these parameters has not."""
    text = f"{function}() got an unexpected keyword argument {keyword!r}"
    meant, hint = _KEYWORDS.get(keyword, ("", ""))
    return f"{text}: {hint}" if meant is None or meant in parameters else text


def by_position(function, takes, given, by_name):
    """The text of the TypeError for sum(x, 0), where `by_name` are the parameters that are given by name alone."""
    text = f"{function}() takes {takes} positional argument{'s' if takes != 1 else ''} but {given} were given"
    return f"{text}: give what follows by name, {', '.join([name + '=' for name in by_name])}" if by_name else text


def shape_in_parts(function, more):
    """The text of the TypeError for zeros(2, 3) and zeros(3, float); `more` is what follows the first argument."""
    text = f"{function}() takes 1 positional argument but {len(more) + 1} were given: "
    if isinstance(more[0], int):
        return f"{text}give the shape as one tuple, {function}((2, 3))"
    return f"{text}give what follows the shape by name, {function}(shape, dtype=arraygrad.float64)"
