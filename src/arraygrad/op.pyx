# A table entry compiled to slots: how arguments bind, what a node keeps, which rule serves which input.
# May import: engine.node, engine.arrayops.
import ast
import inspect

from arraygrad.engine.node import keep_for_ever

cdef object EMPTY = inspect.Parameter.empty

_METADATA = {"shape": PLAN_SHAPE, "dtype": PLAN_DTYPE, "device": PLAN_DEVICE}


cdef dict _signatures = {}              # text -> Signature: many operations share one


def parse_signature(str text):
    """inspect.Signature of a parameter list written as text, e.g. "x, /, *, axis=None". Defaults are literals."""
    if text in _signatures:
        return _signatures[text]
    a = ast.parse(f"def f({text}): pass").body[0].args
    P = inspect.Parameter
    parameters = []
    positional = a.posonlyargs + a.args
    missing = len(positional) - len(a.defaults)
    for i, arg in enumerate(positional):
        kind = P.POSITIONAL_ONLY if i < len(a.posonlyargs) else P.POSITIONAL_OR_KEYWORD
        default = EMPTY if i < missing else ast.literal_eval(a.defaults[i - missing])
        parameters.append(P(arg.arg, kind, default=default))
    if a.vararg is not None:
        parameters.append(P(a.vararg.arg, P.VAR_POSITIONAL))
    for arg, default in zip(a.kwonlyargs, a.kw_defaults):
        parameters.append(P(arg.arg, P.KEYWORD_ONLY, default=EMPTY if default is None else ast.literal_eval(default)))
    _signatures[text] = inspect.Signature(parameters)
    return _signatures[text]


# What defaults are written with in the table; anything else goes through ast.
cdef dict _LITERALS = {"None": None, "True": True, "False": False, "()": (), "0": 0, "1": 1, "-1": -1, "0.0": 0.0}


cdef tuple parameters_of(str text):
    """(name, kind, default) of each parameter of a signature's text; () is the default of *args.

    Kinds are those of inspect.Parameter: 0 positional-only, 1 either, 2 *args, 3 keyword-only. Every import takes this
    way 250 times: making inspect.Signature objects is left to those who ask for one.
    """
    cdef list found = []
    cdef int kind = 1
    cdef Py_ssize_t i
    cdef str part, name, equals, default
    for part in text.split(","):
        name, equals, default = part.partition("=")
        name = name.strip()
        default = default.strip()
        if name == "/":
            for i in range(len(found)):
                found[i] = (found[i][0], 0, found[i][2])
        elif name.startswith("*"):
            kind = 3
            if len(name) > 1:
                found.append((name[1:], 2, ()))
        elif name:
            value = EMPTY
            if equals:
                value = _LITERALS[default] if default in _LITERALS else ast.literal_eval(default)
            found.append((name, kind, value))
    return tuple(found)


def _camel(str name):
    return "".join(part[:1].upper() + part[1:] for part in name.strip("_").split("_"))


cdef class Op:
    """Op(entry, index)
--

    One operation: made from its table entry, shared by the operator, the method, the namespace function and the nodes.
    """

    def __init__(self, entry, int index):
        cdef int i
        self.entry = entry
        self.name = entry.name
        self.index = index
        self.kind = entry.kind
        self.node_name = (entry.node or _camel(entry.name)) + "Backward"
        parameters = parameters_of(entry.signature)
        self.params = tuple([name for name, _, _ in parameters])
        self.defaults = tuple([default for _, _, default in parameters])
        self.positions = {name: i for i, name in enumerate(self.params)}
        self.n_posonly = self.n_positional = 0
        self.var_positional = -1
        for i, (_, kind, _) in enumerate(parameters):
            self.n_posonly += kind == 0
            self.n_positional += kind <= 1
            if kind == 2:
                self.var_positional = i
        self.sequence = -1 if entry.sequence is None else self.positions[entry.sequence]
        self.inputs = tuple([i for i, name in enumerate(self.params) if name in entry.rules])
        self.others = tuple([i for i in range(len(self.params)) if i not in self.inputs])
        unknown = set(entry.rules) - set(self.params)
        if unknown:
            raise TypeError(f"{self.name}: rules for {sorted(unknown)}, which are no parameters of ({entry.signature})")
        if self.sequence >= 0 and self.inputs and self.inputs != (self.sequence,):
            raise TypeError(f"{self.name}: an operation on a sequence of arrays has a rule for that alone")
        self.rules = tuple([entry.rules[self.params[i]] for i in self.inputs])
        self.zero = self.kind == "zero"
        self.differentiable = len(self.inputs) > 0
        self.elementwise = self.kind == "elementwise" or self.name == "multiply"
        self.holomorphic = bool(entry.holomorphic)
        self.may_view = bool(entry.may_view)
        self.transfers = self.name == "_to_backend"
        self.multi = entry.results is not None
        self.named = self.multi and tuple(entry.results) != ("*",)
        # The hot paths: elementwise-like functions of exactly one or two arrays, named as the standard names them.
        self.n_arrays = {("x",): 1, ("x1", "x2"): 2}.get(self.params, 0)
        if (self.n_posonly != len(self.params) or self.sequence >= 0 or self.multi
                or self.inputs and self.inputs != tuple(range(self.n_arrays))):
            self.n_arrays = 0
        self.single = (self.n_arrays == 0 and len(self.params) > 1 and self.sequence < 0 and not self.multi
                       and not self.transfers and self.inputs in ((0,), ()))
        self.checks_others = len(self.others) > 0 and self.kind not in ("zero", "nondifferentiable")
        self._compile_rules()

    @property
    def signature(self):
        """inspect.Signature of the public function."""
        return parse_signature(self.entry.signature)

    @property
    def result_type(self):
        """The named tuple class of the results, or None. Made on first use, under a name of this module: pickle."""
        return result_type_of(self) if self.named else None

    def _compile_rules(self):
        saves = []
        plans = []
        for k, rule in enumerate(self.rules):
            plan = []
            for name in rule.__code__.co_varnames[:rule.__code__.co_argcount]:
                plan.append(self._plan(name, k, saves))
            plans.append(tuple(plan))
        if len(saves) > MAX_SAVES:
            raise TypeError(f"{self.name}: rules ask to keep {len(saves)} values, at most {MAX_SAVES} can be kept")
        self.plans = tuple(plans)
        self.n_saves = len(saves)
        self.saves_in_list = len(saves) > 3
        self.saves = tuple([kept[0] for kept in saves])
        for k, (name, kind, position, mask) in enumerate(saves):
            self.save_kind[k] = kind
            self.save_pos[k] = position
            self.save_for[k] = mask
        statics = set()
        for plan in plans:
            for what, index in plan:
                if what == PLAN_STATIC:
                    statics.add(index)
        self.keeps_args = len(statics) > 0
        self.static_positions = tuple(sorted(statics))
        self.bare = (not saves and not statics and len(self.inputs) <= 2 and self.sequence < 0 and not self.multi)

    def _plan(self, str name, int k, list saves):
        """(what, index) for one parameter of the rule of inputs[k]; notes in `saves` what has to be kept for it."""
        if name == "g":
            return (PLAN_G, 0)
        if name == "xp":
            return (PLAN_XP, 0)
        if name == "ans":
            return (PLAN_SAVED, self._keep("ans", SAVE_ANS, -1, k, saves))
        if name in self.positions:
            position = self.positions[name]
            if position in self.inputs:
                return (PLAN_SAVED, self._keep(name, SAVE_INPUT, position, k, saves))
            return (PLAN_STATIC, position)
        stem, _, what = name.rpartition("_")
        if what in _METADATA and stem in self.positions:
            return (_METADATA[what], self._keep(stem + "_meta", SAVE_META, self.positions[stem], k, saves))
        if what in _METADATA and stem == "ans":
            return (_METADATA[what], self._keep("ans_meta", SAVE_META, -1, k, saves))
        allowed = ["g", "xp", "ans", "ans_shape", *self.params, *[p + "_shape" for p in self.params]]
        raise TypeError(f"{self.name}: a rule's parameter {name!r} is none of {', '.join(allowed)} "
                        f"(_dtype and _device as _shape)")

    def _keep(self, str name, int kind, int position, int k, list saves):
        for slot, (other, *_) in enumerate(saves):
            if other == name:
                saves[slot][3] |= 1 << k
                return slot
        saves.append([name, kind, position, 1 << k])
        return len(saves) - 1

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
        if not kwargs and n == len(self.params) and self.var_positional < 0 and n == self.n_positional:
            return args
        bound = list(self.defaults)
        if self.var_positional >= 0:
            bound[self.var_positional] = args[self.n_positional:]
            n = min(n, self.n_positional)
        elif n > self.n_positional:
            raise TypeError(f"{self.name}() takes {self.n_positional} positional argument"
                            f"{'s' if self.n_positional != 1 else ''} but {n} were given")
        for i in range(n):
            bound[i] = args[i]
        for name, value in kwargs.items():
            position = self.positions.get(name, -1)
            if position < 0 or position == self.var_positional:
                raise TypeError(f"{self.name}() got an unexpected keyword argument {name!r}")
            if position < self.n_posonly:
                raise TypeError(f"{self.name}() got some positional-only arguments passed as keyword arguments: "
                                f"{name!r}")
            if position < n:
                raise TypeError(f"{self.name}() got multiple values for argument {name!r}")
            bound[position] = value
        missing = [self.params[i] for i in range(len(bound)) if bound[i] is EMPTY]
        if missing:
            raise TypeError(f"{self.name}() missing {len(missing)} required argument{'s' if len(missing) > 1 else ''}: "
                            + ", ".join([repr(m) for m in missing]))
        return tuple(bound)

    def __repr__(self):
        return f"<Op {self.name}{self.signature}>"

    def __reduce__(self):
        return (_op_by_name, (self.name,))


cdef dict _ops = {}
cdef dict _result_types = {}            # name of the class -> class; guarded by the GIL, setdefault lets one win


cdef object result_type_of(Op op):
    """The named tuple class of the results of an operation that is `named`."""
    name = _camel(op.name) + "Result"
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
        if (<Op>op).named and _camel((<Op>op).name) + "Result" == name:
            return result_type_of(<Op>op)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _op_by_name(name):
    return _ops[name]


cdef Op named_op(str name):
    """The operation of that name; KeyError if the table has none."""
    return <Op>_ops[name]


def compile_table(table):
    """dict name -> Op from a table of entries (dict name -> Entry)."""
    for entry in table.values():
        if entry.name not in _ops:
            op = _ops[entry.name] = Op(entry, len(_ops))
            keep_for_ever(op, op.name, op.params, op.defaults, op.inputs, op.others, op.rules, op.plans,
                          op.static_positions, op.positions)
    return _ops
