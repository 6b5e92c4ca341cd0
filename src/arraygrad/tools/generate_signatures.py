"""Whole lines of stubs, where types follow from more than names: functions of functions, decorators, overloads.

May import: nothing of arraygrad. `generate_stubs` puts them in the place of what it would write itself; stubtest holds
their parameters to those of the live functions.

The gradient of a function has the type of the argument that it is taken for: a raw array comes back as a raw array, a
float as a float, a dict as a dict. A call of the gradient takes the arguments of the function (ParamSpec). Results are
Any for positions that overloads don't name, and for functions whose parameters can't be told (ufuncs, plain lambdas).
"""

__all__ = ["HEADERS", "SIGNATURES"]

# Bound to Any, so that checkers take the parameter of a plain lambda for Any.
_VARIABLES = """\
_P = ParamSpec("_P")
_Ts = TypeVarTuple("_Ts")
_A = TypeVar("_A", bound=Any)
_B = TypeVar("_B", bound=Any)
_R = TypeVar("_R", bound=Any)
_Aux = TypeVar("_Aux", bound=Any)
_Nd = TypeVar("_Nd", bound=_NDArray[Any])
_Arr = TypeVar("_Arr", bound=_Array)
_Other = TypeVar("_Other", bound=builtins.complex | Mapping[Any, Any] | Sequence[Any])
"""
_ADOPTION = "builtins.bool | builtins.str | builtins.tuple[builtins.str, ...]"

_FUNCTION = '_F = TypeVar("_F", bound=Callable[..., Any])\n'

# What NumPy's stubs take for the items of a Tensor: it makes a Tensor an array_like, and what they return for one item,
# such as the result of numpy.sum(t), a Tensor. That it is an object leaves `array * t` to Any: for floats it would be
# an array. No such class is there at run time.
_ITEM = """\
@type_check_only
class _Item(Tensor, _object): ...  # type: ignore[misc]
"""

# module -> lines before its definitions: type variables
HEADERS = {
    "arraygrad.core.tensor": _ITEM,
    "arraygrad.transforms.gradients": f"{_VARIABLES}_Adopt: TypeAlias = {_ADOPTION} | None\n",
    "arraygrad.autograd.checkpointing": '_P = ParamSpec("_P")\n_R = TypeVar("_R")\n',
    "arraygrad.autograd.grad_mode": _FUNCTION,
    "arraygrad.autograd.custom_function": _FUNCTION,
    "arraygrad.autograd.primitive": '_P = ParamSpec("_P")\n_R = TypeVar("_R")\n',
    "arraygrad.autograd.python_numbers": '_T = TypeVar("_T")\n',
    "arraygrad.transforms.trees": '_T = TypeVar("_T")\n',
    "arraygrad.adoption.calls": _FUNCTION,
    "arraygrad.adoption.setting": _FUNCTION,
}


_ANY = "Callable[..., Any]"
_INTS = "builtins.int | Sequence[builtins.int]"
_ADOPT = "argnames: None = None, adopt: _Adopt = None"
_PROGRESS = "progress: builtins.bool = False"
_NAMED = "argnames: builtins.str | Sequence[builtins.str], adopt: _Adopt = None"


def _overload(name, parameters, returns):
    return f"@overload\ndef {name}({parameters}) -> {returns}: ..."


def _of_argument(name, result, aux):
    """Overloads of `grad` and its kin; `result` and `aux` are what a call returns, in terms of {G}, the gradient.

    A ufunc comes first, as its own overloads say numbers before arrays. What takes any function asks for argnums:
    mypy gives Any where several overloads fit and the function's own type holds an Any.
    """
    plain = ", has_aux: Literal[False] = False" if aux is not None else ""
    first, both = "Concatenate[_A, _P]", "Concatenate[_A, _B, _P]"
    pair = "builtins.tuple[Literal[0], Literal[1]]"
    # (parameters of f, its result, how argnums and has_aux are given, what a call of the gradient returns)
    cases = [(first, "_R", f"argnums: Literal[0] = 0{plain}, *", result.replace("{G}", "_A"))]
    if aux is not None:
        returns = aux.replace("{G}", "_A")
        cases.append((first, "builtins.tuple[_R, _Aux]", "argnums: Literal[0] = 0, *, has_aux: Literal[True]", returns))
        cases.append((first, "builtins.tuple[_R, _Aux]", "argnums: Literal[0], has_aux: Literal[True], *", returns))
    cases.append((both, "_R", f"argnums: Literal[1]{plain}, *", result.replace("{G}", "_B")))
    cases.append((both, "_R", f"argnums: {pair}{plain}, *", result.replace("{G}", "builtins.tuple[_A, _B]")))
    some = ", has_aux: builtins.bool = False" if aux is not None else ""
    return [
        _overload(name, f"f: _ufunc, argnums: {_INTS} = 0{some}, *, {_ADOPT}", _ANY),
        *[
            _overload(
                name,
                f"f: Callable[{taken}, {given}], {options}, {_ADOPT}",
                f"Callable[{taken}, {returns}]",
            )
            for taken, given, options, returns in cases
        ],
        _overload(name, f"f: {_ANY}, argnums: {_INTS}{some}, *, {_ADOPT}", _ANY),
        _overload(name, f"f: {_ANY}, argnums: Literal[0] = 0{some}, *, {_NAMED}", _ANY),
    ]


def _matrices(name, chunk=""):
    """Overloads of `jacobian` and its kin: of an array argument an array, of everything else Any.

    NumPy's arrays come first: pyright takes the parameter of a lambda for the bound of the first overload's variable,
    and an `_Array` has no operators.
    """
    numpys, taken, other = "Concatenate[_Nd, _P]", "Concatenate[_Arr, _P]", "Concatenate[_Other, _P]"
    named = f"{_NAMED}, {_PROGRESS}"
    rest = f"{chunk}*, {_ADOPT}, {_PROGRESS}"
    return [
        _overload(name, f"f: _ufunc, argnums: {_INTS} = 0, {rest}", _ANY),
        _overload(name, f"f: Callable[{numpys}, Any], argnums: Literal[0] = 0, {rest}", f"Callable[{numpys}, _Nd]"),
        _overload(name, f"f: Callable[{taken}, Any], argnums: Literal[0] = 0, {rest}", f"Callable[{taken}, _Arr]"),
        _overload(name, f"f: Callable[{other}, Any], argnums: Literal[0] = 0, {rest}", f"Callable[{other}, Any]"),
        _overload(name, f"f: {_ANY}, argnums: {_INTS}, {rest}", _ANY),
        _overload(name, f"f: {_ANY}, argnums: Literal[0] = 0, {chunk}*, {named}", _ANY),
    ]


_FIRST = f"argnums: Literal[0] = 0, *, {_ADOPT}"
_CHUNK = "chunk_size: builtins.int | None = None, "
_PRIMALS = "*primals: *_Ts"
_PULL = "Callable[[Any], builtins.tuple[*_Ts]]"

_GRADIENTS = {
    "grad": _of_argument("grad", "{G}", "builtins.tuple[{G}, _Aux]"),
    "value_and_grad": _of_argument(
        "value_and_grad", "builtins.tuple[_R, {G}]", "builtins.tuple[builtins.tuple[_R, _Aux], {G}]"
    ),
    "elementwise_grad": _of_argument("elementwise_grad", "{G}", None),
    "jacobian": _matrices("jacobian", _CHUNK),
    "jacrev": _matrices("jacrev", _CHUNK),
    "jacfwd": _matrices("jacfwd"),
    "hessian": _matrices("hessian"),
    "hvp": [
        _overload(
            "hvp",
            "f: Callable[[_A], Any], argnums: Literal[0] = 0, *, adopt: _Adopt = None",
            "Callable[[_A, _A], _A]",
        ),
        _overload(
            "hvp",
            "f: Callable[[_A, _B], Any], argnums: Literal[0] = 0, *, adopt: _Adopt = None",
            "Callable[[_A, _B, _A], _A]",
        ),
        _overload("hvp", f"f: {_ANY}, argnums: {_INTS} = 0, *, {_ADOPT}", _ANY),
        _overload("hvp", f"f: {_ANY}, argnums: Literal[0] = 0, *, {_NAMED}", _ANY),
    ],
    "vjp": [
        _overload(
            "vjp",
            "f: _ufunc, *primals: Any, has_aux: Literal[False] = False, adopt: _Adopt = None",
            "builtins.tuple[Any, Callable[[Any], builtins.tuple[Any, ...]]]",
        ),
        _overload(
            "vjp",
            f"f: Callable[[*_Ts], _R], {_PRIMALS}, has_aux: Literal[False] = False, adopt: _Adopt = None",
            f"builtins.tuple[_R, {_PULL}]",
        ),
        _overload(
            "vjp",
            f"f: Callable[[*_Ts], builtins.tuple[_R, _Aux]], {_PRIMALS}, has_aux: Literal[True], adopt: _Adopt = None",
            f"builtins.tuple[_R, {_PULL}, _Aux]",
        ),
        _overload("vjp", f"f: {_ANY}, *primals: Any, has_aux: builtins.bool, adopt: _Adopt = None", "Any"),
    ],
    "jvp": [
        _overload(
            "jvp",
            "f: _ufunc, primals: Sequence[Any], tangents: Sequence[Any], *, adopt: _Adopt = None",
            "builtins.tuple[Any, Any]",
        ),
        _overload(
            "jvp",
            "f: Callable[[*_Ts], _R], primals: builtins.tuple[*_Ts], tangents: builtins.tuple[*_Ts], *, "
            "adopt: _Adopt = None",
            "builtins.tuple[_R, _R]",
        ),
        _overload(
            "jvp",
            f"f: {_ANY}, primals: Sequence[Any], tangents: Sequence[Any], *, adopt: _Adopt = None",
            "builtins.tuple[Any, Any]",
        ),
    ],
    "linearize": [
        _overload("linearize", "f: _ufunc, *primals: Any, adopt: _Adopt = None", f"builtins.tuple[Any, {_ANY}]"),
        _overload(
            "linearize",
            f"f: Callable[[*_Ts], _R], {_PRIMALS}, adopt: _Adopt = None",
            "builtins.tuple[_R, Callable[[*_Ts], _R]]",
        ),
    ],
}

_GRAD_ARGUMENTS = (
    "outputs: Any, inputs: {inputs}, grad_outputs: Any = None, retain_graph: builtins.bool | None = None, "
    "create_graph: builtins.bool = False, {unused}, is_grads_batched: builtins.bool = False, "
    "materialize_grads: builtins.bool = False"
)
_SURE = "allow_unused: Literal[False] | None = None"
_INPUT = "_Tensor | _GradientEdge"
_KEYED = "Mapping[_K, _Tensor | _GradientEdge]"
_LATER = "*, allow_unused: builtins.bool | None"
_GRAD = [
    f"@overload\ndef grad({_GRAD_ARGUMENTS.format(inputs=inputs, unused=unused)}) -> {returns}: ..."
    for inputs, unused, returns in (
        (_KEYED, _SURE, "builtins.dict[_K, _Tensor]"),
        (_KEYED, _LATER, "builtins.dict[_K, _Tensor | None]"),
        (f"{_INPUT} | Sequence[{_INPUT}]", _SURE, "builtins.tuple[_Tensor, ...]"),
        (f"{_INPUT} | Sequence[{_INPUT}]", _LATER, "builtins.tuple[_Tensor | None, ...]"),
    )
]
HEADERS["arraygrad.autograd.functions"] = '_K = TypeVar("_K")\n'

# qualified name of a function or member -> its lines
SIGNATURES = {
    **{f"arraygrad.transforms.gradients.{name}": lines for name, lines in _GRADIENTS.items()},
    "arraygrad.autograd.functions.grad": _GRAD,
    "arraygrad.autograd.checkpointing.checkpoint": [
        (
            "def checkpoint(f: Callable[_P, _R], *, early_stop: builtins.bool = True, debug: builtins.bool = False)"
            " -> Callable[_P, _R]: ..."
        )
    ],
    "arraygrad.adoption.setting.set_adoption.__init__": [f"def __init__(self, mode: {_ADOPTION}) -> None: ..."],
    "arraygrad.adoption.setting.set_adoption.__call__": ["def __call__(self, function: _F) -> _F: ..."],
    "arraygrad.adoption.setting.set_adoption.__enter__": ["def __enter__(self) -> Self: ..."],
    "arraygrad.adoption.setting.adopted": ["def adopted(function: _F, adopt: Any) -> _F: ..."],
    "arraygrad.autograd.grad_mode.DecoratingMode.__call__": ["def __call__(self, function: _F) -> _F: ..."],
    "arraygrad.autograd.grad_mode._ImmediateMode.__call__": ["def __call__(self, function: _F) -> _F: ..."],
    "arraygrad.autograd.grad_mode._FixedGradMode.__new__": [
        "@overload\ndef __new__(cls, function: None = None) -> Self: ...",
        "@overload\ndef __new__(cls, function: _F) -> _F: ...  # type: ignore[misc]",
    ],
    "arraygrad.autograd.grad_mode.inference_mode.__new__": [
        "@overload\ndef __new__(cls, mode: builtins.bool = True) -> Self: ...",
        "@overload\ndef __new__(cls, mode: _F) -> _F: ...  # type: ignore[misc]",
    ],
    # With *args alone a subclass may give its methods any parameters.
    "arraygrad.autograd.custom_function.Function.backward": [
        "@staticmethod\ndef backward(*args: Any, **kwargs: Any) -> Any: ..."
    ],
    "arraygrad.autograd.custom_function.Function.setup_context": [
        "@staticmethod\ndef setup_context(*args: Any, **kwargs: Any) -> Any: ..."
    ],
    "arraygrad.autograd.custom_function.Function.vjp": [
        "@staticmethod\ndef vjp(*args: Any, **kwargs: Any) -> Any: ..."
    ],
    "arraygrad.autograd.updates.add_scaled": [
        "def add_scaled(targets: Sequence[_Tensor], terms: Sequence[Any], factor: builtins.complex = 1.0) -> None: ..."
    ],
    "arraygrad.autograd.custom_function.once_differentiable": ["def once_differentiable(backward: _F) -> _F: ..."],
    "arraygrad.autograd.primitive.Primitive": [
        # One class: parentheses say that no comma is lacking.
        (
            "class Primitive(Generic[_P, _R]):\n"
            "    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...\n"
            "    def __get__(self, instance: Any, owner: Any = None) -> Any: ...\n"
            "    def __init__(self, f: Callable[_P, _R]) -> None: ...\n"
            "    def defvjp(self, *rules: Callable[..., Any] | None, argnums: Any = None) -> None: ...\n"
        )
    ],
    "arraygrad.autograd.primitive.primitive": ["def primitive(f: Callable[_P, _R]) -> Primitive[_P, _R]: ..."],
    "arraygrad.autograd.python_numbers.stop_gradient": ["def stop_gradient(x: _T) -> _T: ..."],
    "arraygrad.transforms.trees.ravel_tree": [
        "def ravel_tree(tree: _T) -> builtins.tuple[Any, Callable[[Any], _T]]: ..."
    ],
    "arraygrad.adoption.calls.adopt": ["def adopt(function: _F, packages: Any = None) -> _F: ..."],
    # NumPy's protocol for ufuncs names the first two.
    "arraygrad.core.tensor.Tensor.__array_ufunc__": [
        "def __array_ufunc__(self, ufunc: Any, method: Any, *inputs: Any, **kwargs: Any) -> Any: ..."
    ],
    # See _Item.
    "arraygrad.core.tensor.Tensor.__array__": [
        "def __array__(self, dtype: Any = None, copy: builtins.bool | None = None) -> _NDArray[_Item]: ..."
    ],
}
