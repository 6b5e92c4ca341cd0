"""The engine's interface, with PyTorch's names and semantics: `backward`, `grad`, and `graph` for what is behind them.

May import: engine, core.convert, core.exposed_memory, core.constructors, core.tensor, autograd.graph,
autograd.custom_function, autograd.python_numbers.
Everything about the arguments is checked before anything runs or changes: a call that raises here has left every
`.grad` and every graph as it was. What only the run itself can show (an input that was not used, an error in a rule) is
raised after it.
"""

import numbers
import operator
import warnings
from collections.abc import Mapping

from arraygrad.autograd.grad_mode import inference_mode
from arraygrad.autograd.graph import GradientEdge
from arraygrad.core.constructors import wrap_raw
from arraygrad.core.convert import running_here
from arraygrad.core.exposed_memory import raw_array
from arraygrad.core.roots import plain_inputs, plain_roots, set_gradient_teller, try_plain_backward
from arraygrad.core.tensor import Tensor, backend_of, edge_of, metadata_of
from arraygrad.engine.engine import execute
from arraygrad.engine.engine import set_cpu_workers as _set_cpu_workers
from arraygrad.engine.engine import set_deterministic as _set_deterministic
from arraygrad.engine.modes import Mode
from arraygrad.engine.node import Edge, is_grad_enabled

__all__ = ["backward", "grad", "set_cpu_workers", "set_deterministic"]


_warned_create_graph = False  # the warning about reference cycles is given once in a process


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, inputs=None, *, atomic=False):
    """Add the gradients of `tensors` to the `.grad` of the leaves they were computed from.

    Parameters
    ----------
    tensors : Tensor, GradientEdge, or sequence of them
        What is differentiated. An empty sequence does nothing; one given twice counts twice.
    grad_tensors : Tensor, raw array, None, or sequence of them, optional
        The gradient arriving at each of `tensors`: of its shape, cast to its dtype; real for real tensors, complex for
        complex ones. None (the default) means one, for real tensors of one element.
    retain_graph : bool, optional
        Keep what the graph has saved, so that it can be run again. Default: the value of `create_graph`.
    create_graph : bool
        Record the backward run itself, so that the gradients can be differentiated again.
    inputs : Tensor, GradientEdge, sequence or dict of them, optional
        Only these get a gradient; for a tensor that is no leaf this is `retain_grad()`. Default: all leaves.
    atomic : bool
        Change the `.grad` of leaves only once everything has been computed, so that on any error in the run every
        `.grad` is as before. All gradients of leaves are held until then; post-accumulate hooks run after the updates
        (an error of theirs can't undo them).

    Raises
    ------
    RuntimeError
        If a tensor does not require grad; a gradient is missing, has another shape, or is complex where the tensor is
        real (or the other way round); `inputs` is empty; the graph was freed by an earlier run.
    TypeError
        If a gradient is neither a Tensor, an array of the tensor's backend nor None.

    Notes
    -----
    Names and semantics are those of `torch.autograd.backward`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> ag.autograd.backward((x * x).sum())
    >>> x.grad
    Tensor([2., 4.])
    """
    if inputs is None and not create_graph and not atomic and isinstance(tensors, Tensor):
        if try_plain_backward(tensors, grad_tensors, retain_graph):  # the everyday call, t.backward()
            return
    if not create_graph:
        _tell_of_constants(tensors, grad_tensors)
    targets = () if inputs is None else _inputs(inputs, "backward")
    outputs = _sequence(tensors)
    grads = _root_gradients(outputs, grad_tensors)
    roots = _root_edges(outputs, grads)
    edges = _input_edges(targets, accumulate_grad=True)
    if create_graph:
        _warn_create_graph()
    for target in targets:
        if isinstance(target, Tensor):
            target.retain_grad()
    execute(
        roots,
        _engine_form(grads, create_graph),
        keep_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=edges,
        atomic=atomic,
    )


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of `outputs` with respect to `inputs`. No `.grad` is read or changed.

    Parameters
    ----------
    outputs : Tensor, GradientEdge, or sequence of them
    inputs : Tensor, GradientEdge, sequence of them, or dict of them
        Leaves and intermediate results alike; hooks of tensors apply to what is returned for them.
    grad_outputs : Tensor, raw array, None, or sequence of them, optional
        The gradient arriving at each output, see `backward`.
    retain_graph : bool, optional
        Keep what the graph has saved. Default: the value of `create_graph`.
    create_graph : bool
        Record the run itself, so that the results can be differentiated again.
    allow_unused : bool, optional
        Whether an input that the outputs don't depend on gives None; if not, it is an error. Default: the value of
        `materialize_grads`.
    is_grads_batched : bool
        The leading axis of each of `grad_outputs` counts gradients: the graph is run once for each, and the results are
        stacked along a new leading axis.
    materialize_grads : bool
        Give zeros instead of None.

    Returns
    -------
    tuple of Tensor (or None); dict with the keys of `inputs` if that is a dict
        Each of the shape, dtype and device of its input.

    Raises
    ------
    RuntimeError
        As `backward`; also if an input does not require grad, or was not used and `allow_unused` is false.
    ValueError
        If `allow_unused=False` is given together with `materialize_grads=True`.
    TypeError
        If a gradient is neither a Tensor, an array of the output's backend nor None.

    Notes
    -----
    Names and semantics are those of `torch.autograd.grad`.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> ag.autograd.grad((x * x).sum(), x)
    (Tensor([2., 4.]),)
    """
    if callable(outputs) and not hasattr(outputs, "requires_grad"):
        raise TypeError(
            f"autograd.grad: outputs must be Tensors that were computed, got {type(outputs).__name__}: of a function "
            "take arraygrad.grad(f)(x)"
        )
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not create_graph:
        _tell_of_constants(outputs, grad_outputs)
    targets = _inputs(inputs, "grad")
    one = _one(outputs) if grad_outputs is None and not is_grads_batched else None
    plain = None if is_grads_batched else plain_roots(outputs, grad_outputs)
    if one is not None:
        roots, grads = [edge_of(outputs)], [one]
    elif plain is not None:
        roots, grads = plain
    else:
        roots_of = _sequence(outputs)
        grads = _root_gradients(roots_of, grad_outputs, is_grads_batched)
        roots = _root_edges(roots_of, grads)
    edges = plain_inputs(targets) or _input_edges(targets, accumulate_grad=False)
    keep_graph = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        result = _run_batch(roots, grads, edges, targets, keep_graph, create_graph)
    else:
        result = execute(
            roots,
            _engine_form(grads, create_graph),
            keep_graph=keep_graph,
            create_graph=create_graph,
            accumulate_grad=False,
            inputs=edges,
        )
    found = []
    unused = False
    for g in result:
        if g is None:
            unused = True
        elif not create_graph:
            g = wrap_raw(g)
        found.append(g)
    result = tuple(found)
    if unused:
        result = _fill_unused(
            result,
            targets,
            allow_unused,
            materialize_grads,
            create_graph,
            _raw(grads[0]).shape[0] if is_grads_batched else None,
        )
    if isinstance(inputs, dict):
        return dict(zip(inputs, result, strict=True))
    return result


def _tell_of_constants(outputs, grads):
    """Warn where a gradient that is no part of the record depends on what a transform differentiates."""
    if running_here() and is_grad_enabled():
        from arraygrad.autograd.python_numbers import gradient_is_constant

        gradient_is_constant(outputs, grads)


set_gradient_teller(_tell_of_constants)


def set_cpu_workers(n):
    """Let up to `n` further threads share the host work of each backward run, from now on; 0, the default, none.

    A worker joins a run when a second node with a large gradient (16384 elements or more) is ready: nodes of
    independent branches then run at the same time, as far as their array functions release the GIL (NumPy's do for
    large arrays; on free-threaded Python everything does). The results are the same to the last bit as without workers
    (see `set_deterministic`). Array libraries have threads of their own: n plus those of BLAS should not exceed the
    cores.

    Acts on the whole process. In a `with` statement the previous number comes back at the end of the block. Hooks and
    rules may then run on threads named "arraygrad_worker_...".

    Parameters
    ----------
    n : int

    Raises
    ------
    TypeError
        If `n` is no integer.
    ValueError
        If `n` is negative.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.set_cpu_workers(2):
    ...     x.sum().backward()
    """
    return Mode(_set_cpu_workers, operator.index(n), now=True)


def set_deterministic(mode):
    """Make gradients independent of the timing of threads, to the last bit; on by default.

    It matters where several threads deliver gradients into one place: nodes on several devices, or CPU workers. With
    `True` contributions to a sum of three or more are kept until all have arrived and are added in the order in which a
    single thread would add them; with `False` they are added as they arrive, which needs less memory.

    Acts on the whole process. In a `with` statement the previous setting comes back at the end of the block.

    Parameters
    ----------
    mode : bool

    Raises
    ------
    TypeError
        If `mode` is no bool.

    Examples
    --------
    >>> import arraygrad as ag
    >>> x = ag.tensor([1.0, 2.0], requires_grad=True)
    >>> with ag.autograd.set_deterministic(False):
    ...     x.sum().backward()
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_deterministic: mode must be True or False, got {type(mode).__name__}")
    return Mode(_set_deterministic, mode, now=True)


def _one(output):
    """The gradient of a real Tensor of one element that requires grad; None for whatever else `output` is."""
    if type(output) is Tensor and output.requires_grad and output.size == 1:
        meta = metadata_of(output)
        if not meta.is_complex:
            return meta.ops.ones(meta)
    return None


def _fill_unused(result, targets, allow_unused, materialize, create_graph, batch):
    filled = list(result)
    for i, (g, target) in enumerate(zip(result, targets, strict=True)):
        if g is not None:
            continue
        if not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. "
                "Set allow_unused=True if this is the desired behavior."
            )
        if materialize:
            if not isinstance(target, Tensor):
                raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
            meta = _output_meta(target, i)
            if batch is None:
                zeros = meta.ops.zeros(meta)
            else:
                zeros = meta.ops.xp.zeros((batch, *meta.shape), dtype=meta.dtype, device=meta.device)
            filled[i] = wrap_raw(zeros, requires_grad=create_graph)
    return tuple(filled)


def _sequence(tensors):
    if isinstance(tensors, (Tensor, GradientEdge)):
        return (tensors,)
    return tuple(tensors)


def _inputs(inputs, name):
    if isinstance(inputs, (Tensor, GradientEdge)):  # an edge is a tuple too
        return (inputs,)
    if isinstance(inputs, (list, tuple)):
        targets = tuple(inputs)
    elif isinstance(inputs, dict):
        targets = tuple(inputs.values())
    elif isinstance(inputs, Mapping):
        raise TypeError(
            f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. "
            "Other Mapping types are not supported."
        )
    else:
        targets = tuple(inputs)
    if not targets:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    return targets


def _input_edges(targets, accumulate_grad):
    edges = []
    for target in targets:
        if isinstance(target, Tensor):
            if not target.requires_grad:
                raise RuntimeError(
                    "can't retain_grad on Tensor that has requires_grad=False"
                    if accumulate_grad
                    else "One of the differentiated Tensors does not require grad"
                )
            edges.append(edge_of(target))
        elif isinstance(target, GradientEdge):
            edges.append(Edge(*target))
        else:
            raise RuntimeError(
                f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}: give the Tensor, "
                "made with requires_grad=True, that the output was computed from"
            )
    return edges


def _root_edges(outputs, grads):
    if len(outputs) != len(grads):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    edges = []
    for i, output in enumerate(outputs):
        if isinstance(output, GradientEdge):
            edges.append(Edge(*output))
        elif output.requires_grad:
            edges.append(edge_of(output))
        else:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn: compute it, with recording "
                "on and without detach(), from Tensors that were made with requires_grad=True. A gradient that is "
                "differentiated again needs create_graph=True where it is computed, arraygrad.autograd.grad(output, "
                "inputs, create_graph=True)"
            )
    return edges


def _output_meta(output, i):
    """GradMeta of an output; None where a GradientEdge's node does not know it."""
    if isinstance(output, Tensor):
        return metadata_of(output)
    if isinstance(output, GradientEdge):
        return output.node.input_metadata[output.output_nr]
    raise RuntimeError(
        f"element {i} of tensors tuple is neither a Tensor nor a GradientEdge, but {type(output).__name__}"
    )


def _raw(gradient):
    return raw_array(gradient) if isinstance(gradient, Tensor) else gradient


def _is_array(value):
    try:
        return isinstance(value, Tensor) or backend_of(value) is not None
    except TypeError:
        return False


def _gradient_list(grads, n):
    if grads is None:
        return [None] * n
    if isinstance(grads, Tensor):
        return [grads]
    # A raw array is iterable too, but it is one gradient.
    if not isinstance(grads, (list, tuple)) and (
        hasattr(type(grads), "__array__")
        or hasattr(type(grads), "__array_namespace__")
        or not hasattr(type(grads), "__iter__")
    ):
        if isinstance(grads, numbers.Number):
            raise TypeError(
                f"expected an array or a Tensor, got {type(grads).__name__}: the gradient of an output t is an array "
                "of its shape, arraygrad.full_like(t, 1.0)"
            )
        backend_of(grads)  # says what is wrong with it, if it is none
        return [grads]
    return list(grads)


def _root_gradients(outputs, given, batched=False):
    """One checked gradient per output, in its dtype: a Tensor, a raw array, or None (only where there is no graph)."""
    grads = _gradient_list(given, len(outputs))
    metas = [_output_meta(output, i) for i, output in enumerate(outputs)]
    for i, (output, meta, gradient) in enumerate(zip(outputs, metas, grads, strict=False)):
        if gradient is None:
            if batched:
                raise RuntimeError(
                    f"is_grads_batched=True needs a gradient for every output, but grad_output[{i}] is None"
                )
            if isinstance(output, GradientEdge) or output.requires_grad:
                grads[i] = _default_gradient(meta)
        else:
            _check_gradient(i, meta, gradient, batched)
    return grads


def _default_gradient(meta):
    if meta is None or meta.size != 1:
        found = "" if meta is None else f", but got shape {meta.shape}"
        raise RuntimeError(
            f"grad can be implicitly created only for scalar outputs{found}: differentiate a sum or a mean, "
            "t.sum().backward(), or give the gradient of each output, t.backward(arraygrad.ones_like(t))"
        )
    if meta.is_complex or not meta.is_floating:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {meta.dtype}")
    return meta.ops.ones(meta)


def _check_gradient(i, meta, gradient, batched):
    if not _is_array(gradient):
        raise TypeError(
            f"gradients can be either Tensors or None, but got {type(gradient).__name__}: give an array for each "
            "output, arraygrad.asarray([...]) of a list of numbers, arraygrad.full_like(t, 1.0) of an output t for one"
        )
    if meta is None:
        return
    own = metadata_of(gradient) if isinstance(gradient, Tensor) else backend_of(gradient).meta(gradient)
    if own.ops is not meta.ops:
        raise TypeError(
            f"grad_output[{i}] is an array of the backend {own.ops.name}, but output[{i}] is one of "
            f"{meta.ops.name}: convert the gradient first"
        )
    shape = own.shape
    if batched:
        if not shape or shape[1:] != meta.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {shape} and output[{i}] has a "
                f"shape of {meta.shape}."
            )
    elif shape != meta.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {shape} and output[{i}] has a shape of {meta.shape}."
            " The gradient has the shape of the output t: give arraygrad.full_like(t, 1.0), or an array of that shape"
        )
    if own.is_complex != meta.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"Mismatch in dtype: grad_output[{i}] has a dtype of {own.dtype} and output[{i}] has a "
            f"dtype of {meta.dtype}."
        )


def _engine_form(grads, create_graph):
    """Raw arrays for a plain run, Tensors for one that is recorded. The engine casts them to the roots' dtypes."""
    if create_graph:
        if all(type(g) is Tensor for g in grads):
            return grads
        with inference_mode(False):  # what a run computes is ordinary, whatever the mode of its caller
            return [g if g is None or isinstance(g, Tensor) else wrap_raw(g) for g in grads]
    return [_raw(g) for g in grads]


def _run_batch(roots, grads, edges, targets, keep_graph, create_graph):
    """One run per index of the gradients' leading axis; the results stacked."""
    sizes = [_raw(g).shape[0] for g in grads]
    if len(set(sizes)) != 1:
        raise RuntimeError(
            "is_grads_batched=True: the leading axis of every grad_output counts the gradients, so all "
            f"must have the same length; got lengths {sizes}"
        )
    n = sizes[0]
    grads = _engine_form(grads, create_graph)
    rows = []
    for k in range(n):
        row = execute(
            roots,
            [g[k, ...] for g in grads],
            keep_graph=keep_graph or k + 1 < n,
            create_graph=create_graph,
            accumulate_grad=False,
            inputs=edges,
        )
        rows.append(row)
    return tuple([_stack([row[j] for row in rows], target) for j, target in enumerate(targets)])


def _stack(parts, target):
    if any(part is None for part in parts):
        return None
    if not parts:
        meta = _output_meta(target, 0)
        return meta.ops.xp.zeros((0, *meta.shape), dtype=meta.dtype, device=meta.device)
    if isinstance(parts[0], Tensor):
        return parts[0].__array_namespace__().stack(parts)
    return backend_of(parts[0]).xp.stack(parts)


def _warn_create_graph():
    global _warned_create_graph
    if not _warned_create_graph:
        _warned_create_graph = True
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient, which keeps both and the graph between them in memory until the garbage collector next runs. "
            "Use autograd.grad to create the graph, or set the .grad of the parameters to None after use, to have "
            "them freed at once.",
            UserWarning,
            stacklevel=3,
        )
