# Running the hooks of a node: what they are shown, what they may return.
# May import: engine.arrayops, engine.node.
from cpython.object cimport PyObject
from libc.stdint cimport uint64_t

from arraygrad.engine.arrayops cimport ArrayOps, GradMeta, is_held
from arraygrad.engine.node cimport Frame, Node, NodeHooks, next_sequence_nr

cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* o)


cdef str _hook_name(object hook):
    return getattr(hook, "__name__", type(hook).__name__)


cdef class Shown:
    """What a recorded run notes of the gradients that a hook is shown, before it runs."""
    cdef Node node
    cdef list followed
    cdef uint64_t since


cdef Shown note_shown(ArrayOps graph_ops, Node node, tuple shown):
    """None in a plain run."""
    cdef Shown seen
    if graph_ops is None:
        return None
    seen = Shown.__new__(Shown)
    seen.node = node
    seen.followed = graph_ops.followed(shown)
    seen.since = next_sequence_nr()
    return seen


cdef object _checked_hook_result(ArrayOps ops, object hook, object old, object result, Py_ssize_t held, Shown seen):
    """The engine's form of what a hook returned in place of gradient `old`.

    `held` is how many references to the result the caller and the tuple it comes in have. If there are more, the hook
    goes on holding it and may write it while the gradient waits: in a plain run it is copied.
    """
    cdef GradMeta a, b
    if result is None:
        return old
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if ops is None:
        return result
    try:
        new = ops.from_user(result)
    except TypeError as error:
        raise TypeError(f"expected Tensor, but hook returned '{type(result).__name__}' "
                        f"(hook '{_hook_name(hook)}'): return a gradient of the same shape, or None") from error
    a = ops.meta(old)
    b = ops.meta(new)
    if a.shape_tuple() != b.shape_tuple():
        raise RuntimeError(f"hook '{_hook_name(hook)}' has changed the size of value "
                           f"(was {a.shape_tuple()} got {b.shape_tuple()}): "
                           "return a gradient of the same shape, or None")
    if a.dtype != b.dtype:
        raise RuntimeError(f"hook '{_hook_name(hook)}' has changed the type of value (was {a.dtype} got {b.dtype})")
    if new is old:
        return new
    if seen is None:
        return new if is_left(result, held, new) else ops.clone(new, new)
    return ops.replaced(seen.node, _hook_name(hook), result, new, seen.followed, seen.since)


cdef bint is_left(object result, Py_ssize_t held, object new) except -1:
    """Whether nobody but the engine holds `new`, the array of `result`."""
    if new is result:
        return not is_held(new, held + 1)
    return Py_REFCNT(<PyObject*>result) <= held and not is_held(new, 2)     # what shows it, and our caller


cdef int check_unwritten(object hook, object shown, bint owned) except -1:
    """Refuse what a hook wrote into a gradient that others may hold."""
    if not owned and shown is not None and getattr(shown, "version", 0) != 0:
        raise RuntimeError(f"hook '{_hook_name(hook)}' wrote into the gradient that it was shown, which other parts of "
                           "the graph may hold too; return a new one, as in: return grad * 2")
    return 0


cdef ArrayOps ops_at(ArrayOps graph_ops, Node node, Py_ssize_t i):
    cdef GradMeta m
    if graph_ops is not None:
        return graph_ops
    m = node.meta_at(i)
    return None if m is None else m.ops


cdef object shown_to_user(ArrayOps ops, object grad):
    return grad if grad is None or ops is None else ops.to_user(grad)


cdef int _set_input(Frame f, Py_ssize_t i, object grad) except -1:
    if f.grads is None:
        f.grad = grad
    else:
        f.grads[i] = grad
    return 0


cdef int run_tensor_hooks(ArrayOps graph_ops, Node node, Frame f) except -1:
    """Tensor pre-hooks in order of registration, then retains_grad hooks."""
    cdef NodeHooks hooks = node.hooks
    cdef ArrayOps ops
    cdef Shown seen
    cdef bint owned
    if hooks.tensor_pre:
        for nr, hook in list(hooks.tensor_pre.values()):
            ops = ops_at(graph_ops, node, nr)
            old = f.input(nr)
            owned = f.owned or graph_ops is not None
            f.owned = False
            shown = shown_to_user(ops, old)
            seen = note_shown(graph_ops, node, (shown,))
            new = _checked_hook_result(ops, hook, old, hook(shown), 1, seen)
            check_unwritten(hook, shown, owned)
            if new is not old:
                _set_input(f, nr, new)
    if hooks.retains:
        for nr, hook in list(hooks.retains.items()):
            old = f.input(nr)
            if old is not None:
                f.owned = False
                hook(shown_to_user(ops_at(graph_ops, node, nr), old))
    return 0


cdef int run_pre_hooks(ArrayOps graph_ops, Node node, Frame f) except -1:
    cdef Py_ssize_t i
    cdef Shown seen
    cdef bint owned = f.owned or graph_ops is not None
    f.owned = False
    for hook in list(node.hooks.pre.values()):
        shown = tuple([shown_to_user(ops_at(graph_ops, node, i), f.input(i)) for i in range(node.n_inputs)])
        seen = note_shown(graph_ops, node, shown)
        result = hook(shown)
        for i in range(node.n_inputs):
            check_unwritten(hook, shown[i], owned)
        if result is None:
            continue
        _check_tuple(hook, result, node.n_inputs)
        for i in range(node.n_inputs):
            old = f.input(i)
            if result[i] is not shown[i]:
                _set_input(f, i, None if result[i] is None else _checked_hook_result(
                    ops_at(graph_ops, node, i), hook, old, result[i], 2, seen))
    return 0


cdef int _check_tuple(object hook, object result, Py_ssize_t n) except -1:
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}' (hook '{_hook_name(hook)}')")
    if len(result) != n:
        raise RuntimeError(f"hook '{_hook_name(hook)}' has returned an incorrect number of values "
                           f"(got {len(result)}, but expected {n})")
    return 0


cdef ArrayOps edge_ops(ArrayOps graph_ops, Node node, Py_ssize_t i):
    cdef Node child = node.edge_node(i)
    if graph_ops is not None:
        return graph_ops
    if child is None:
        return ops_at(graph_ops, node, 0)
    return ops_at(graph_ops, child, node.edge_nr(i))


cdef int run_post_hooks(ArrayOps graph_ops, Node node, Frame f, tuple grad_outputs) except -1:
    """Node post-hooks; a hook added while the node was already running sees no grad_outputs."""
    cdef Py_ssize_t i, n = node.n_edges
    cdef Shown seen
    f.out_owned = 0
    for hook in list(node.hooks.post.values()):
        shown = tuple([shown_to_user(edge_ops(graph_ops, node, i), f.out(i)) for i in range(n)])
        seen = note_shown(graph_ops, node, shown + grad_outputs)
        result = hook(shown, grad_outputs)
        for i in range(n):
            check_unwritten(hook, shown[i], graph_ops is not None)
        if result is None:
            continue
        _check_tuple(hook, result, n)
        for i in range(n):
            if result[i] is None:
                f.set_out(i, None)
            elif result[i] is not shown[i]:
                f.set_out(i, _checked_hook_result(edge_ops(graph_ops, node, i), hook, f.out(i), result[i], 2,
                                                  seen))
    return 0
