# A table entry compiled to slots: how arguments bind, what a node keeps, which rule serves which input.
# May import: engine.node, engine.arrayops.
cimport cython

import ast
import inspect

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


# What most defaults are in the table: the others go through ast, which takes fifty times as long.
cdef dict _LITERALS = {"None": None, "True": True, "False": False, "()": (), "-1": -1, "0.0": 0.0, "1.0": 1.0}


cdef object literal(str text):
    """The value of a default as it is written."""
    if text in _LITERALS:
        return _LITERALS[text]
    if text.isdecimal():
        return int(text)
    if len(text) > 1 and text[0] == "'" and text.find("'", 1) == len(text) - 1 and "\\" not in text:
        return text[1:-1]
    return ast.literal_eval(text)


cdef list parameters_of(str text):
    """(name, kind, default) of each parameter of a signature's text; () is the default of *args.

    Kinds are places in _KINDS: 0 positional-only, 1 either, 2 *args, 3 keyword-only.
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
                value = literal(default)
            found.append((name, kind, value))
    return found


@cython.final
@cython.internal
cdef class Layout:
    """What follows from the text of a signature and from what the rules ask for.

    Made once for all operations that agree in these: of 250, which every import makes, a hundred differ.
    """
    cdef tuple params, defaults, inputs, others, plans, saves, static_positions
    cdef dict positions
    cdef int n_posonly, n_positional, var_positional, n_arrays
    cdef int save_kind[MAX_SAVES]
    cdef int save_pos[MAX_SAVES]
    cdef uint64_t save_for[MAX_SAVES]

    cdef int read(self, str name, str signature, dict rules) except -1:
        """Fill it for an operation; `name` is for errors."""
        cdef list parameters = parameters_of(signature)
        cdef list saves = [], plans = [], plan
        cdef int i, k, kind
        self.params = tuple([param for param, _, _ in parameters])
        self.defaults = tuple([default for _, _, default in parameters])
        self.positions = {param: i for i, param in enumerate(self.params)}
        self.var_positional = -1
        for i, (_, kind, _) in enumerate(parameters):
            self.n_posonly += kind == 0
            self.n_positional += kind <= 1
            if kind == 2:
                self.var_positional = i
        # The hot paths: elementwise-like functions of exactly one or two arrays, named as the standard names them.
        self.n_arrays = 1 if self.params == ("x",) else 2 if self.params == ("x1", "x2") else 0
        self.inputs = tuple([i for i, param in enumerate(self.params) if param in rules])
        self.others = tuple([i for i, param in enumerate(self.params) if param not in rules])
        unknown = set(rules) - set(self.params)
        if unknown:
            raise TypeError(f"{name}: rules for {sorted(unknown)}, which are no parameters of ({signature})")
        for k, i in enumerate(self.inputs):
            plan = [self.plan(name, asked, k, saves) for asked in asked_by(rules[self.params[i]])]
            plans.append(tuple(plan))
        if len(saves) > MAX_SAVES:
            raise TypeError(f"{name}: rules ask to keep {len(saves)} values, at most {MAX_SAVES} can be kept")
        self.plans = tuple(plans)
        self.saves = tuple([kept[0] for kept in saves])
        for k, (_, kind, i, mask) in enumerate(saves):
            self.save_kind[k] = kind
            self.save_pos[k] = i
            self.save_for[k] = mask
        statics = {index for rule_plan in plans for what, index in rule_plan if what == PLAN_STATIC}
        self.static_positions = tuple(sorted(statics))
        keep_for_ever(self, self.params, self.defaults, self.positions, self.inputs, self.others, self.plans,
                      self.saves, self.static_positions)
        return 0

    cdef tuple plan(self, str name, str asked, int k, list saves):
        """(what, index) for one parameter of the rule of inputs[k]; notes in `saves` what has to be kept for it."""
        if asked == "g":
            return (PLAN_G, 0)
        if asked == "xp":
            return (PLAN_XP, 0)
        if asked == "ans":
            return (PLAN_SAVED, keep("ans", SAVE_ANS, -1, k, saves))
        if asked in self.positions:
            position = self.positions[asked]
            if position in self.inputs:
                return (PLAN_SAVED, keep(asked, SAVE_INPUT, position, k, saves))
            return (PLAN_STATIC, position)
        stem, _, what = asked.rpartition("_")
        if what in _METADATA and stem in self.positions:
            return (_METADATA[what], keep(stem + "_meta", SAVE_META, self.positions[stem], k, saves))
        if what in _METADATA and stem == "ans":
            return (_METADATA[what], keep("ans_meta", SAVE_META, -1, k, saves))
        allowed = ["g", "xp", "ans", "ans_shape", *self.params, *[p + "_shape" for p in self.params]]
        raise TypeError(f"{name}: a rule's parameter {asked!r} is none of {', '.join(allowed)} "
                        f"(_dtype and _device as _shape)")


cdef int keep(str name, int kind, int position, int k, list saves) except -1:
    """The slot of a value that the rule of inputs[k] asks for, a new one where no other rule does."""
    for slot, kept in enumerate(saves):
        if kept[0] == name:
            kept[3] |= 1 << k
            return slot
    saves.append([name, kind, position, 1 << k])
    return len(saves) - 1


cdef tuple asked_by(object rule):
    """The names of a rule's parameters."""
    code = rule.__code__
    return code.co_varnames[:code.co_argcount]


cdef dict _layouts = {}                 # (signature, parameter, what its rule asks for, parameter, ...) -> Layout


cdef Layout layout_of(str name, str signature, dict rules):
    cdef list key = [signature]
    for param, rule in rules.items():
        key.append(param)
        key.append(asked_by(rule))
    cdef tuple known = tuple(key)
    cdef Layout found = <Layout>_layouts.get(known)
    if found is None:
        found = Layout.__new__(Layout)
        found.read(name, signature, rules)
        _layouts[known] = found
    return found


def _camel(str name):
    return "".join([part[:1].upper() + part[1:] for part in name.strip("_").split("_")])


cdef class Op:
    """Op(entry, index)
--

    One operation: made from its table entry, shared by the operator, the method, the namespace function and the nodes.
    """

    def __init__(self, entry, int index):
        cdef int i
        cdef dict rules = entry.rules
        cdef Layout layout
        self.entry = entry
        self.name = entry.name
        self.index = index
        self.kind = entry.kind
        self.node_name = (entry.node or _camel(entry.name)) + "Backward"
        layout = layout_of(self.name, entry.signature, rules)
        self.params = layout.params
        self.defaults = layout.defaults
        self.positions = layout.positions
        self.n_posonly = layout.n_posonly
        self.n_positional = layout.n_positional
        self.var_positional = layout.var_positional
        self.inputs = layout.inputs
        self.others = layout.others
        self.plans = layout.plans
        self.saves = layout.saves
        self.n_saves = len(layout.saves)
        self.saves_in_list = self.n_saves > 3
        for i in range(self.n_saves):
            self.save_kind[i] = layout.save_kind[i]
            self.save_pos[i] = layout.save_pos[i]
            self.save_for[i] = layout.save_for[i]
        self.static_positions = layout.static_positions
        self.keeps_args = len(layout.static_positions) > 0
        self.sequence = -1 if entry.sequence is None else self.positions[entry.sequence]
        if self.sequence >= 0 and self.inputs and self.inputs != (self.sequence,):
            raise TypeError(f"{self.name}: an operation on a sequence of arrays has a rule for that alone")
        self.rules = tuple([rules[self.params[i]] for i in self.inputs])
        self.zero = self.kind == "zero"
        self.differentiable = len(self.inputs) > 0
        self.elementwise = self.kind == "elementwise" or self.name == "multiply"
        self.holomorphic = bool(entry.holomorphic)
        self.may_view = bool(entry.may_view)
        self.transfers = self.name == "_to_backend"
        self.makes_arrays = bool(entry.makes_arrays)         # Note [Scalars] in operands.pyx
        self.multi = entry.results is not None
        self.named = self.multi and tuple(entry.results) != ("*",)
        self.n_arrays = layout.n_arrays
        if (self.n_posonly != len(self.params) or self.sequence >= 0 or self.multi
                or self.inputs and self.inputs != tuple(range(self.n_arrays))):
            self.n_arrays = 0
        self.single = (self.n_arrays == 0 and len(self.params) > 1 and self.sequence < 0 and not self.multi
                       and not self.transfers and self.inputs in ((0,), ()))
        self.checks_others = len(self.others) > 0 and self.kind not in ("zero", "nondifferentiable")
        self.bare = (self.n_saves == 0 and not self.keeps_args and len(self.inputs) <= 2 and self.sequence < 0
                     and not self.multi)

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
    cdef Op op
    for entry in table.values():
        if entry.name not in _ops:
            op = _ops[entry.name] = Op(entry, len(_ops))
            keep_for_ever(op, op.name, op.rules)
            if entry.operator == "pow":     # with a number NumPy's operator is another ufunc than numpy.power
                op.by_operator = Op(entry, op.index)
                keep_for_ever(op.by_operator)
    return _ops
