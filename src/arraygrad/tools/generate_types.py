"""Types that the stubs give: by parameter name, by result, and for Tensor's attributes and methods.

May import: nothing of arraygrad. What belongs to an array library is Any, for a stub serves every backend.
"""

import inspect

__all__ = [
    "FACE",
    "FURTHER_RETURNS",
    "MEMBERS",
    "NAMESPACE_RETURNS",
    "OPERATORS",
    "PLAIN_SLOTS",
    "REEXPORTS",
    "RETURNS",
    "SKIPPED",
    "VALUES",
    "further_parameter",
    "is_writable",
    "method_return",
    "namespace_parameter",
    "parameter",
]  # fmt: skip

_AXES = "builtins.int | Sequence[builtins.int] | None"
_INTS = "builtins.int | Sequence[builtins.int]"
# Of Tensor's methods that take lengths, axes or positions one by one or in a tuple. NumPy's integers may be among them.
_LISTED = {
    "axes": "SupportsIndex | Sequence[SupportsIndex] | None",
    "index": "SupportsIndex | Sequence[SupportsIndex]",
    "new_shape": "SupportsIndex | Sequence[SupportsIndex]",
    "shape": "SupportsIndex | Sequence[SupportsIndex]",
}

# Parameters of namespace functions and of Tensor's methods.
PARAMETERS = {
    "axes": "Any",
    "axis": _AXES,
    "axis1": "SupportsIndex",
    "axis2": "SupportsIndex",
    "copy": "builtins.bool | None",
    "correction": "builtins.float",
    "create_graph": "builtins.bool",
    "ddof": "builtins.float",
    "decimals": "builtins.int",
    "keepdims": "builtins.bool",
    "n_cols": "builtins.int | None",
    "n_rows": "builtins.int",
    "name": "builtins.str",
    "num": "builtins.int",
    "offset": "builtins.int",
    "order": "builtins.str",
    "requires_grad": "builtins.bool",
    "retain_graph": "builtins.bool | None",
    "shape": _INTS,
}

# Functions whose axis is one int.
_ONE_AXIS = frozenset((
    "diff", "cumulative_sum", "cumulative_prod", "argmax", "argmin", "concat", "stack", "unstack", "sort", "argsort",
    "take", "take_along_axis", "repeat", "vecdot", "cross", "fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "cumsum",
    "cumprod",
))  # fmt: skip

NAMESPACE_RETURNS = {
    "broadcast_shapes": "builtins.tuple[builtins.int, ...]",
    "can_cast": "builtins.bool",
    "finfo": "_FInfo",
    "iinfo": "_IInfo",
    "isdtype": "builtins.bool",
    "result_type": "Any",
}


def parameter(function, p):
    """Type of one parameter of a function or method."""
    if p.kind is p.VAR_POSITIONAL:
        return _LISTED.get(p.name, "Any")
    if p.kind is p.VAR_KEYWORD:
        return "Any"
    found = PARAMETERS.get(p.name)
    if p.name == "axis" and function in _ONE_AXIS:
        found = "builtins.int | None" if p.default is None else "builtins.int"
    if found is None and isinstance(p.default, bool | int | float | str):
        found = f"builtins.{type(p.default).__name__}"
    if found is None:
        return "Any"
    if p.default is None and not found.endswith("None") and found != "Any":
        found += " | None"
    if isinstance(p.default, bool | int | float | str) and found != "Any":
        own = f"builtins.{type(p.default).__name__}"
        # A name that means something else here than in most functions.
        if own not in found and not (own == "builtins.int" and "float" in found):
            return own
    return found


# Parameters of namespace functions that are arrays, in the standard's names.
_ARRAYS = frozenset(("x", "x1", "x2", "x3", "condition"))


def namespace_parameter(function, p):
    """Type of one parameter of a namespace function."""
    if p.name in _ARRAYS and p.default is inspect.Parameter.empty:
        return "_ArrayLike"
    if p.name in ("shape", "axis") or p.default is not inspect.Parameter.empty:
        return parameter(function, p)
    return PARAMETERS.get(p.name, "Any")


_PAIR = "builtins.tuple[_Tensor, _Tensor]"

# What NumPy's functions beyond the standard return in `arraygrad.numpy`, where that is no Tensor. Any: it depends.
FURTHER_RETURNS = {
    name: returns
    for returns, names in {
        "builtins.bool": (
            "allclose array_equal array_equiv iscomplexobj isfortran isrealobj may_share_memory shares_memory"
        ),
        "builtins.int": "ndim",
        "builtins.tuple[builtins.int, ...]": "shape",
        "builtins.str": "array2string array_repr array_str",
        "builtins.list[_Tensor]": "array_split dsplit hsplit split vsplit",
        _PAIR: "divmod frexp modf polydiv",
        "None": "copyto fill_diagonal place put put_along_axis putmask",
        "Any": (
            "apply_along_axis apply_over_axes argpartition argwhere atleast_1d atleast_2d atleast_3d average bincount "
            "bitwise_count common_type diag_indices_from digitize einsum_path flatnonzero fromfile frombuffer "
            "fromfunction fromiter fromstring gcd genfromtxt gradient histogram histogram2d histogram_bin_edges "
            "histogramdd intersect1d isclose iscomplex isneginf isposinf isreal ix_ lcm lexsort load loadtxt lstsq "
            "min_scalar_type nanargmax nanargmin packbits piecewise polyfit ravel_multi_index require setdiff1d "
            "setxor1d size tril_indices_from triu_indices_from union1d unique unpackbits unravel_index"
        ),
    }.items()
    for name in names.split()
}

# Their required parameters that are arrays.
_FURTHER_ARRAYS = frozenset("a a1 a2 ar ar1 ar2 arr ary b fp m p u v values vals weights x x1 x2 xp y z".split())


def further_parameter(function, p):
    """Type of one parameter of a function of NumPy's beyond the standard."""
    if p.default is inspect.Parameter.empty and p.name in _FURTHER_ARRAYS and p.kind is not p.VAR_POSITIONAL:
        return "_ArrayLike"
    if p.name not in PARAMETERS and isinstance(p.default, int | float) and not isinstance(p.default, bool):
        return "Any"  # an array will do for many a number
    if type(p.default).__name__ == "_NoValueType":
        return "Any"
    return namespace_parameter(function, p)


# Attributes and methods that do not return a Tensor, or are no methods.
MEMBERS = {
    f"arraygrad.core.tensor.Tensor.{name}": text
    for name, text in {
        "T": "Tensor",
        "__array__": "Any",
        "__array_function__": "Any",
        "__array_namespace__": "ModuleType",
        "__array_ufunc__": "Any",
        "__complex__": "builtins.complex",
        "__dir__": "builtins.list[builtins.str]",
        "__dlpack__": "Any",
        "__dlpack_device__": "builtins.tuple[builtins.int, builtins.int]",
        "__format__": "builtins.str",
        "__reduce__": "Any",
        "array": "Any",
        "backward": "None",
        "detach_": "Tensor",
        "device": "Any",
        "dtype": "Any",
        "fill": "None",
        "byteswap": "None",
        "getfield": "Tensor",
        "setfield": "None",
        "itemset": "None",
        "partition": "None",
        "put": "None",
        "resize": "None",
        "setflags": "None",
        "sort": "None",
        "tobytes": "bytes",
        "flags": "Any",
        "grad": "Tensor | Any",  # None before backward, which `w -= rate * w.grad` need not ask for
        "grad_fn": "Any",
        "imag": "Tensor",
        "is_leaf": "builtins.bool",
        "item": "Any",
        "itemsize": "builtins.int",
        "mT": "Tensor",
        "nbytes": "builtins.int",
        "ndim": "builtins.int",
        "nonzero": "builtins.tuple[Tensor, ...]",
        "numpy": "_NDArray[Any]",
        "output_nr": "builtins.int",
        "real": "Tensor",
        "register_hook": "Any",
        "register_post_accumulate_grad_hook": "Any",
        "requires_grad": "builtins.bool",
        "retain_grad": "None",
        "retains_grad": "builtins.bool",
        "shape": "builtins.tuple[builtins.int, ...]",
        "size": "builtins.int",
        "strides": "builtins.tuple[builtins.int, ...]",
        "tolist": "Any",
        "version": "builtins.int",
    }.items()
} | {
    "arraygrad.backends.cuda.graphs.CapturedGraph.__enter__": "Self",
    "arraygrad.backends.cuda.graphs.CapturedGraph.launch": "None",
}

# What may be assigned to an attribute, where that is not what it gives.
SETTERS = {"arraygrad.core.tensor.Tensor.grad": "Tensor | None"}

# Attributes that may be set.
_WRITABLE = frozenset(("Tensor.array", "Tensor.grad", "Tensor.requires_grad"))

_BINARY = "add and floordiv lshift matmul mod mul or rshift sub truediv xor".split()


def _operators():
    found = {}
    for name in _BINARY:
        found[f"__{name}__"] = f"def __{name}__(self, value: Any, /) -> Tensor: ..."
        found[f"__r{name}__"] = f"def __r{name}__(self, value: Any, /) -> Tensor: ..."
        found[f"__i{name}__"] = f"def __i{name}__(self, value: Any, /) -> Tensor: ..."
    for name in ("lt", "le", "gt", "ge"):
        found[f"__{name}__"] = f"def __{name}__(self, value: Any, /) -> Tensor: ..."
    for name in ("eq", "ne"):
        found[f"__{name}__"] = f"def __{name}__(self, value: Any, /) -> Tensor: ...  # type: ignore[override]"
    for name in ("abs", "invert", "neg", "pos"):
        found[f"__{name}__"] = f"def __{name}__(self) -> Tensor: ..."
    found["__pow__"] = "def __pow__(self, value: Any, mod: None = None, /) -> Tensor: ..."
    found["__rpow__"] = "def __rpow__(self, value: Any, mod: None = None, /) -> Tensor: ..."
    found["__ipow__"] = "def __ipow__(self, value: Any, /) -> Tensor: ...  # type: ignore[misc]"
    found["__bool__"] = "def __bool__(self) -> builtins.bool: ..."
    found["__contains__"] = "def __contains__(self, key: Any, /) -> builtins.bool: ..."
    found["__float__"] = "def __float__(self) -> builtins.float: ..."
    found["__int__"] = "def __int__(self) -> builtins.int: ..."
    found["__index__"] = "def __index__(self) -> builtins.int: ..."
    found["__hash__"] = "def __hash__(self) -> builtins.int: ..."
    found["__iter__"] = "def __iter__(self) -> Iterator[Tensor]: ..."
    found["__len__"] = "def __len__(self) -> builtins.int: ..."
    found["__getitem__"] = "def __getitem__(self, key: Any, /) -> Tensor: ..."
    found["__setitem__"] = "def __setitem__(self, key: Any, value: Any, /) -> None: ..."
    found["__delitem__"] = "def __delitem__(self, key: Any, /) -> None: ..."
    return found


# Slots of compiled classes, which have no signature of their own.
OPERATORS = _operators()

# Of these, what other classes than Tensor may have.
PLAIN_SLOTS = {
    "__bool__": OPERATORS["__bool__"],
    "__contains__": OPERATORS["__contains__"],
    "__eq__": "def __eq__(self, value: builtins.object, /) -> builtins.bool: ...",
    "__getitem__": "def __getitem__(self, key: Any, /) -> Any: ...",
    "__hash__": OPERATORS["__hash__"],
    "__iter__": "def __iter__(self) -> Iterator[Any]: ...",
    "__len__": OPERATORS["__len__"],
}

# Members that every class has, or that only Python's own machinery uses.
SKIPPED = frozenset((
    "__abstractmethods__", "__annotations__", "__class__", "__class_getitem__", "__dataclass_fields__",
    "__dataclass_params__", "__dict__", "__doc__", "__firstlineno__", "__getattribute__", "__module__",
    "__orig_bases__", "__parameters__", "__pyx_vtable__", "__qualname__", "__reduce_cython__", "__repr__",
    "__setstate_cython__", "__slots__", "__static_attributes__", "__str__", "__weakref__",
))  # fmt: skip

_METHOD_RETURNS = {"__enter__": "Any", "__exit__": "None", "__init_subclass__": "None", "__len__": "builtins.int"}


def method_return(cls, name):
    """What a method without an entry in MEMBERS returns."""
    if cls.__name__ == "Tensor":
        return "Tensor"
    return _METHOD_RETURNS.get(name, "Any")


def is_writable(cls, name, value):
    """Whether an attribute can be set."""
    if isinstance(value, property):
        return value.fset is not None
    return f"{cls.__name__}.{name}" in _WRITABLE


# Results of functions in modules.
RETURNS = {
    "arraygrad.adoption.setting.adoption_mode": "builtins.bool | builtins.tuple[builtins.str, ...]",
    "arraygrad.core.constructors.asarray": "_Tensor",
    "arraygrad.core.tensor.is_grad_enabled": "builtins.bool",
    "arraygrad.core.tensor.is_inference_mode_enabled": "builtins.bool",
    "arraygrad.core.value.is_inference": "builtins.bool",
    "arraygrad.core.tensor.set_grad_mode": "builtins.bool",
    "arraygrad.core.constant_checks.set_constant_check": "builtins.str",
    "arraygrad.core.tensor.set_saved_mutation": "builtins.str",
    "arraygrad.core.constructors.tensor": "_Tensor",
    "arraygrad.core.constructors.wrap_raw": "_Tensor",
    "arraygrad.autograd.functions.backward": "None",
    "arraygrad.cupy.capture": "arraygrad.backends.cuda.graphs.CapturedGraph",
    "arraygrad.testing.gradients.gradcheck": "builtins.bool",
    "arraygrad.testing.gradients.gradgradcheck": "builtins.bool",
    "arraygrad.interop.transfer.to_backend": "_Tensor",
}

# Constants of modules.
VALUES: dict[str, str] = {}

# What the package's face takes from where.
FACE = {
    "namespaces.namespace": ("namespace",),
    "_version": ("__version__",),
    "adoption.setting": ("set_adoption",),
    "autograd.grad_mode": (
        "enable_grad",
        "inference_mode",
        "is_grad_enabled",
        "is_inference_mode_enabled",
        "no_grad",
        "set_grad_enabled",
        "zero_annihilates",
    ),
    "autograd.python_numbers": ("number_policy", "set_number_policy", "stop_gradient"),
    "core.constructors": ("asarray", "tensor"),
    "core.tensor": ("Tensor", "set_saved_mutation"),
    "core.constant_checks": ("set_constant_check",),
}

# Names that a compiled module shows for its users although another one made them.
REEXPORTS = {
    "arraygrad.core.tensor": frozenset((
        "AccumulateGrad", "Backend", "InvalidGradient", "OpNode", "Value", "apply_op", "backend_of", "edge_of",
        "gradient_edge", "register_backend", "set_backend_finder", "set_backend_namespaces", "set_saved_mutation",
    )),
}  # fmt: skip
