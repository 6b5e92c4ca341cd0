# A table entry compiled to slots: how arguments bind, what a node keeps, which rule serves which input.
# May import: engine.node, engine.arrayops, _hints.
import ast
import inspect

from cpython.dict cimport PyDict_Next
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from arraygrad._hints import by_position, unexpected
from arraygrad.engine.node import keep_for_ever

cdef object EMPTY = inspect.Parameter.empty

_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL,
          inspect.Parameter.KEYWORD_ONLY)

_METADATA = {"shape": PLAN_SHAPE, "dtype": PLAN_DTYPE, "device": PLAN_DEVICE}


cdef dict _signatures = {}              # text -> Signature: many operations share one


def parse_signature(str text):
    """inspect.Signature of a parameter list written as text, e.g. "x, /, *, axis=None". Defaults are literals."""
    found = _signatures.get(text)
    if found is None:
        made = [inspect.Parameter(name, _KINDS[kind], default=EMPTY if kind == 2 else default)
                for name, kind, default in parameters_of(text)]
        found = _signatures.setdefault(text, inspect.Signature(made))
    return found


cdef dict _literals = {"None": None, "False": False, "True": True, "0": 0, "1": 1, "-1": -1}    # text -> value
cdef dict _parameters = {}              # text -> list of its parameters: many operations share one


cdef object literal(str text):
    """The value of a default's text. The parser, which takes 20 us, is asked for those that are not simple."""
    if text not in _literals:
        _literals[text] = ast.literal_eval(text)
    return _literals[text]


cdef list parameters_of(str text):
    """(name, kind, default) of each parameter of a signature's text; () is the default of *args.

    Kinds are places in _KINDS: 0 positional-only, 1 either, 2 *args, 3 keyword-only.
    """
    cdef list found = _parameters.get(text)
    cdef int kind = 1
    cdef Py_ssize_t i
    cdef str part, name, equals, default
    if found is not None:
        return found
    found = []
    for part in text.split(","):
        name, equals, default = part.partition("=")
        name = name.strip()
        if name == "/":
            for i in range(len(found)):
                found[i] = (found[i][0], 0, found[i][2])
        elif name.startswith("*"):
            kind = 3
            if len(name) > 1:
                found.append((name[1:], 2, ()))
        elif name:
            found.append((name, kind, literal(default.strip()) if equals else EMPTY))
    _parameters[text] = found
    return found


def _camel(str name):
    return "".join([part[:1].upper() + part[1:] for part in name.strip("_").split("_")])


cdef class Op:
    """Op(entry, index)
--

    One operation: made from its table entry, shared by the operator, the method, the namespace function and the nodes.
    """

    def __init__(self, entry, int index):
        self.entry = entry
        self.name = entry.name
        self.index = index
        self.kind = entry.kind
        self.node_name = (entry.node or _camel(entry.name)) + "Backward"
        read_signature(self)
        read_rules(self)
        self.sequence = -1 if entry.sequence is None else self.positions[entry.sequence]
        if self.sequence >= 0 and self.inputs and self.inputs != (self.sequence,):
            raise TypeError(f"{self.name}: an operation on a sequence of arrays has a rule for that alone")
        self.zero = entry.derivative == "zero"
        self.differentiable = len(self.inputs) > 0
        self.elementwise = index >= 0 and self.kind == "elementwise" and self.differentiable and not self.zero
        self.holomorphic = bool(entry.holomorphic)
        self.may_view = bool(entry.may_view)
        self.transfers = self.name == "_to_backend"
        self.makes_arrays = bool(entry.makes_arrays)         # Note [Scalars] in operands.pyx
        self.multi = entry.results is not None
        self.named = self.multi and tuple(entry.results) != ("*",)
        # The hot paths: elementwise-like functions of exactly one or two arrays, named as the standard names them.
        self.n_arrays = 1 if self.params == ("x",) else 2 if self.params == ("x1", "x2") else 0
        if (self.n_posonly != len(self.params) or self.sequence >= 0 or self.multi
                or self.inputs and self.inputs != tuple(range(self.n_arrays))):
            self.n_arrays = 0
        self.promotes = self.n_arrays == 2 and self.inputs == (0, 1) and (self.elementwise or self.name == "matmul")
        self.single = (self.n_arrays == 0 and len(self.params) > 1 and self.sequence < 0 and not self.multi
                       and not self.transfers and self.inputs in ((0,), ()))
        self.shows = (self.single and self.may_view and not self.makes_arrays and self.inputs == (0,)
                      and (self.n_saves == 0 or self.n_saves == 1 and self.save_kind[0] == SAVE_META
                           and self.save_pos[0] == 0))
        self.checks_others = len(self.others) > 0 and entry.derivative not in ("zero", "none")
        self.bare = (self.n_saves == 0 and not self.keeps_args and len(self.inputs) <= 2 and self.sequence < 0
                     and not self.multi)

    @property
    def derivative(self):
        """How the result depends on the arrays' values: a word of ops.kinds."""
        return self.entry.derivative

    @property
    def signature(self):
        """inspect.Signature of the public function."""
        return parse_signature(self.entry.signature)

    @property
    def result_type(self):
        """The named tuple class of the results, or None. Made on first use, under a name of this module: pickle."""
        return result_type_of(self) if self.named else None

    cpdef tuple bind(self, tuple args, dict kwargs):
        """All parameters in order, as Python would bind them.

        Raises
        ------
        TypeError
            With Python's wording: too many arguments, a missing, unknown or doubled one.
        """
        cdef Py_ssize_t n = len(args)
        cdef Py_ssize_t i
        cdef list bound
        cdef tuple found
        found = bind_plain(self, args, kwargs)
        if found is not None:
            return found
        bound = list(self.defaults)
        if self.var_positional >= 0:
            bound[self.var_positional] = args[self.n_positional:]
            n = min(n, self.n_positional)
        elif n > self.n_positional:
            raise TypeError(by_position(self.name, self.n_positional, n, self.params[self.n_positional:]))
        for i in range(n):
            bound[i] = args[i]
        for name, value in kwargs.items():
            position = self.positions.get(name, -1)
            if position < 0 or position == self.var_positional:
                raise TypeError(unexpected(self.name, name, self.params))
            if position < self.n_posonly:
                raise TypeError(f"{self.name}() got some positional-only arguments passed as keyword arguments: "
                                f"{name!r}")
            if position < n:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
            bound[position] = value
        for value in bound:
            if value is EMPTY:
                break
        else:
            return tuple(bound)
        missing = [self.params[i] for i in range(len(bound)) if bound[i] is EMPTY]
        if missing:
            raise TypeError(f"{self.name}() missing {len(missing)} required argument{'s' if len(missing) > 1 else ''}: "
                            + ", ".join([repr(m) for m in missing]))
        return tuple(bound)

    def __repr__(self):
        return f"<Op {self.name}{self.signature}>"

    def __reduce__(self):
        return (_op_by_name, (self.name,))


cdef tuple bind_plain(Op op, tuple args, dict kwargs):
    """`bind` where nothing is wrong and no parameter takes several arguments; else None."""
    cdef PyObject* bound[MAX_PARAMS]            # borrowed
    cdef Py_ssize_t n = len(args), count = len(op.params), i, position, at = 0
    cdef PyObject* key
    cdef PyObject* value
    cdef tuple result
    if op.var_positional >= 0 or n > op.n_positional:
        return None
    if n == count and not kwargs:
        return args
    for i in range(n):
        bound[i] = <PyObject*>args[i]
    for i in range(n, count):
        bound[i] = <PyObject*>op.defaults[i]
    if kwargs:
        while PyDict_Next(kwargs, &at, &key, &value):
            found = op.positions.get(<object>key)
            if found is None:
                return None
            position = found
            if position < n or position < op.n_posonly:
                return None
            bound[position] = value
    for i in range(n, count):
        if bound[i] == <PyObject*>EMPTY:
            return None
    result = PyTuple_New(count)
    for i in range(count):
        Py_INCREF(<object>bound[i])
        PyTuple_SET_ITEM(result, i, <object>bound[i])
    return result


# What follows from a signature, and from what the rules ask for: many operations share both. Nothing here is changed.
cdef dict _positions = {}               # text of a signature -> (parameters, params, defaults, positions)
cdef dict _layouts = {}                 # (text of a signature, what each rule asks for) -> _Layout


cdef class _Layout:
    """What a node keeps for the rules of an operation, and what each of them gets."""
    cdef tuple inputs, others, plans, saves, static_positions
    cdef list kept                      # (name, kind, position, mask) of each value that is saved


cdef int read_signature(Op op) except -1:
    """The parameters of an operation."""
    cdef str text = op.entry.signature
    cdef int i, kind
    found = _positions.get(text)
    if found is None:
        parameters = parameters_of(text)
        params = tuple([param for param, _, _ in parameters])
        if len(params) > MAX_PARAMS:
            raise TypeError(f"{op.name}: expected at most {MAX_PARAMS} parameters, but got {len(params)}")
        found = _positions[text] = (tuple([kind for _, kind, _ in parameters]), params,
                                    tuple([default for _, _, default in parameters]),
                                    {param: i for i, param in enumerate(params)})
    kinds, op.params, op.defaults, op.positions = found
    op.var_positional = -1
    i = 0
    for kind in kinds:
        op.n_posonly += kind == 0
        op.n_positional += kind <= 1
        if kind == 2:
            op.var_positional = i
        i += 1
    return 0


cdef int read_rules(Op op) except -1:
    """Which parameters have a rule, what the rules ask for, and what has to be saved for that."""
    cdef dict rules = op.entry.rules
    cdef list found = [], asked = []
    cdef _Layout layout
    cdef int k
    for name in op.params:
        rule = rules.get(name)
        if rule is None:
            asked.append(None)
        else:
            code = rule.__code__
            asked.append(code.co_varnames[:code.co_argcount])
            found.append(rule)
    if len(found) < len(rules):
        name = [name for name in rules if name not in op.positions][0]
        raise TypeError(f"{op.name}: a rule for {name!r}, which is no parameter of ({op.entry.signature})")
    op.rules = tuple(found)
    key = (op.entry.signature, *asked)
    layout = _layouts.get(key)
    if layout is None:
        layout = _layouts[key] = layout_of(op, asked)
    op.inputs = layout.inputs
    op.others = layout.others
    op.plans = layout.plans
    op.saves = layout.saves
    op.static_positions = layout.static_positions
    op.n_inputs = <int>len(op.inputs)
    op.n_others = <int>len(op.others)
    for k in range(op.n_inputs):
        op.input_at[k] = op.inputs[k]
    for k in range(op.n_others):
        op.other_at[k] = op.others[k]
    op.n_saves = <int>len(layout.kept)
    op.saves_in_list = op.n_saves > 3
    for k in range(op.n_saves):
        _, op.save_kind[k], op.save_pos[k], op.save_for[k] = layout.kept[k]
    op.keeps_args = len(op.static_positions) > 0
    return 0


cdef _Layout layout_of(Op op, list asked):
    """The layout of an operation whose rules ask for that: per parameter the names, None where it has no rule."""
    cdef _Layout layout = _Layout()
    cdef list saves = [], plans = []
    op.inputs = tuple([i for i in range(len(asked)) if asked[i] is not None])
    for k, i in enumerate(op.inputs):
        plans.append(tuple([plan_of(op, name, k, saves) for name in asked[i]]))
    if len(saves) > MAX_SAVES:
        raise TypeError(f"{op.name}: rules ask to keep {len(saves)} values, at most {MAX_SAVES} can be kept")
    layout.inputs = op.inputs
    layout.others = tuple([i for i in range(len(asked)) if asked[i] is None])
    layout.plans = tuple(plans)
    layout.kept = saves
    layout.saves = tuple([kept[0] for kept in saves])
    layout.static_positions = tuple(sorted({index for plan in plans for what, index in plan if what == PLAN_STATIC}))
    return layout


cdef tuple plan_of(Op op, str asked, int k, list saves):
    """(what, index) for one parameter of the rule of inputs[k]; notes in `saves` what has to be kept for it."""
    if asked == "g":
        return (PLAN_G, 0)
    if asked == "xp":
        return (PLAN_XP, 0)
    if asked == "ans":
        return (PLAN_SAVED, keep("ans", SAVE_ANS, -1, k, saves))
    if asked in op.positions:
        position = op.positions[asked]
        if position in op.inputs:
            return (PLAN_SAVED, keep(asked, SAVE_INPUT, position, k, saves))
        return (PLAN_STATIC, position)
    stem, _, what = asked.rpartition("_")
    if what in _METADATA and stem in op.positions:
        return (_METADATA[what], keep(stem + "_meta", SAVE_META, op.positions[stem], k, saves))
    if what in _METADATA and stem == "ans":
        return (_METADATA[what], keep("ans_meta", SAVE_META, -1, k, saves))
    allowed = ["g", "xp", "ans", "ans_shape", *op.params, *[p + "_shape" for p in op.params]]
    raise TypeError(f"{op.name}: a rule's parameter {asked!r} is none of {', '.join(allowed)} "
                    f"(_dtype and _device as _shape)")


cdef int keep(str name, int kind, int position, int k, list saves) except -1:
    """The slot of a value that the rule of inputs[k] asks for, a new one where no other rule does."""
    for slot, kept in enumerate(saves):
        if kept[0] == name:
            kept[3] |= 1 << k
            return slot
    saves.append([name, kind, position, 1 << k])
    return len(saves) - 1


cdef dict _ops = {}
cdef dict _folding = {}                 # (name of a ufunc, kind) -> Op
cdef dict _result_types = {}            # name of the class -> class; guarded by the GIL, setdefault lets one win


cdef dict _result_names = {"qr": "QR", "svd": "SVD", "_eigh_upper": "Eigh"}    # as NumPy's classes are called


cdef str result_name(Op op):
    return _result_names.get(op.name, _camel(op.name)) + "Result"


cdef object result_type_of(Op op):
    """The named tuple class of the results of an operation that is `named`."""
    name = result_name(op)
    found = _result_types.get(name)
    if found is None:
        import collections

        made = collections.namedtuple(name, op.entry.results, module=__name__)
        keep_for_ever(made)
        found = _result_types.setdefault(name, made)
    return found


def __getattr__(name):
    """Classes of results by their names, for pickle."""
    for op in _ops.values():
        if (<Op>op).named and result_name(<Op>op) == name:
            return result_type_of(<Op>op)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _op_by_name(name):
    return _ops[name]


def node_names():
    """dict name of each operation -> name of its nodes."""
    return {name: (<Op>op).node_name for name, op in _ops.items()}


cdef Op named_op(str name):
    """The operation of that name; KeyError if the table has none."""
    return <Op>_ops[name]


cdef Op folding_op(str ufunc, str kind):
    """The operation of that kind that folds with a ufunc of NumPy's (`folds` in the table); None: there is none."""
    return <Op>_folding.get((ufunc, kind))


cdef int keep_op(Op op) except -1:
    keep_for_ever(op, op.name, op.params, op.defaults, op.positions, op.inputs, op.others, op.rules, op.plans, op.saves,
                  op.static_positions)
    return 0


def compile_table(table):
    """dict name -> Op from a table of entries (dict name -> Entry)."""
    cdef Op op
    for entry in table.values():
        if entry.name not in _ops:
            op = _ops[entry.name] = Op(entry, len(_ops))
            keep_op(op)
            if entry.folds:
                _folding[entry.folds, entry.kind] = op
            if entry.operator == "pow":     # with a number NumPy's operator is another ufunc than numpy.power
                op.by_operator = Op(entry, op.index)
                keep_op(op.by_operator)
    return _ops
