"""Streams, devices and host memory on the CuPy backend, with the stand-in that records what is asked of CUDA.

Each test runs in a process of its own (stand_in).
"""

import pytest
from programs import run


def test_a_result_has_the_stream_that_was_current_though_its_operand_has_another():
    assert run("""
        from arraygrad.core.tensor import metadata_of
        x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
        with Stream(ptr=7):
            y = ag.exp(x)
            z = y * 2.0
        print([metadata_of(t).stream.stream.ptr for t in (x, y, z)], metadata_of(y) is metadata_of(z))
    """) == ["[0, 7, 7] True"]


def test_two_forward_streams_are_two_backward_streams():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
        seen = []
        parts = []
        for number in (7, 8):
            with Stream(ptr=number):
                part = ag.exp(x)
                part.register_hook(lambda g: seen.append(current[0]))
                parts.append(part)
        total = parts[0] + parts[1]
        total.backward(cupy.asarray([1.0]))
        print(sorted(seen), current[0])
        print("; ".join(sorted(c.replace("waits for event of", "<-") for c in set(calls) if "waits" in c)))
    """) == ["[7, 8] 0", "0.0 <- 0.7; 0.0 <- 0.8; 0.7 <- 0.0; 0.8 <- 0.0"]


def test_one_stream_waits_for_nothing():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
        ag.sum(ag.exp(x) * x).backward()
        print([c for c in calls if "waits" in c])
    """) == ["[]"]


def test_a_saved_value_that_another_streams_rule_reads_is_kept_until_its_own_stream_waits():
    # x * y on stream 7 reads y, made on stream 0 and known to nobody else: freed, its memory would be stream 0's again.
    assert run("""
        import weakref
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = cupy.asarray([3.0, 4.0])
        gone = weakref.ref(y)
        t = ag.asarray(y)
        with Stream(ptr=7):
            z = x * t
        del y, t
        alive = []
        plain = Stream.wait_event
        def wait(self, event):
            alive.append((self.ptr, repr(event), gone() is not None))
            plain(self, event)
        Stream.wait_event = wait
        z.backward(cupy.asarray([1.0, 1.0]))
        del z
        print((0, "event of 0.7", True) in alive, gone() is None)
    """) == ["True True"]


def test_what_a_function_saved_on_another_stream_is_kept_as_well():
    assert run("""
        import weakref
        class Scale(ag.autograd.Function):
            @staticmethod
            def forward(ctx, x, t):
                ctx.save_for_backward(t)
                return x * t
            @staticmethod
            def backward(ctx, g):
                (t,) = ctx.saved_tensors
                return g * t, None
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = cupy.asarray([3.0, 4.0])
        gone = weakref.ref(y)
        t = ag.asarray(y)
        with Stream(ptr=7):
            z = Scale.apply(x, t)
        del y, t
        alive = []
        plain = Stream.wait_event
        def wait(self, event):
            alive.append((self.ptr, repr(event), gone() is not None))
            plain(self, event)
        Stream.wait_event = wait
        z.backward(cupy.asarray([1.0, 1.0]))
        del z
        print((0, "event of 0.7", True) in alive, gone() is None, x.grad.numpy().tolist())
    """) == ["True True [3.0, 4.0]"]


def test_a_gradient_made_on_another_stream_is_copied_for_the_leaf():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        with Stream(ptr=7):
            y = ag.sin(x)
        g = cupy.asarray([1.0, 1.0])
        del launches[:]
        y.backward(g)
        print(launches)
    """) == ["['arraygrad_sin_backward', 'copy']"]


def test_the_callers_stream_waits_for_leaves_of_other_streams():
    assert run("""
        with Stream(ptr=7):
            x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
            y = x * 3.0
        g = cupy.asarray([1.0])
        del calls[:]
        y.backward(g)
        print(calls[-1] if "waits" in calls[-1] else calls)
        print("0.0 waits for event of 0.7" in calls)
    """)[1:] == ["True"]


def test_a_graph_over_two_devices_copies_there_and_back():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = (x * 2.0).to_device(cupy.cuda.Device(1))
        with cupy.cuda.Device(1):
            z = ag.sum(y * y)
        print(y.device, z.device)
        z.backward()
        print(x.grad.device, x.grad.numpy().tolist(), sorted(map(str, device_threads())))
        waits = [c for c in calls if "waits" in c]
        print("1.0 waits for event of 0.0" in waits, "0.0 waits for event of 1.0" in waits)
    """) == [
        "<CUDA Device 1> <CUDA Device 1>",
        "<CUDA Device 0> [8.0, 16.0] [\"('cupy', 'cuda', 0)\", \"('cupy', 'cuda', 1)\"]",
        "True True",
    ]


def test_a_device_that_is_none_of_cudas_is_refused():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0]))
        try: x.to_device("cpu")
        except TypeError as error: print("to_backend(x, 'numpy')" in str(error))
    """) == ["True"]


def test_out_of_memory_is_raised_in_the_caller_and_nothing_stays():
    assert run("""
        import gc, weakref
        x = ag.asarray(cupy.asarray([[1.0, 2.0], [3.0, 5.0]]), requires_grad=True)
        y = ag.sin(x)
        z = ag.sum(ag.linalg.inv(y @ y))
        gone = weakref.ref(y)
        options["out_of_memory"] = "matmul"
        try: z.backward()
        except MemoryError as error: print(type(error).__name__, x.grad)
        options["out_of_memory"] = None
        del y, z
        gc.collect()
        print(gone() is None)
        ag.sum(ag.sin(x) @ x).backward()
        print(x.grad is not None)
    """) == ["OutOfMemoryError None", "True", "True"]


def test_saved_values_are_copied_out_on_a_stream_of_their_own_and_nobody_waits():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)
        g = cupy.asarray([1.0, 1.0])
        del calls[:], syncs[:]
        with ag.autograd.graph.save_on_cpu():
            y = ag.sin(x) * ag.exp(x)
        out = [c for c in calls if "copy out" in c]
        y.backward(g)
        back = [c for c in calls if "copy in" in c]
        print(len(out), len(set(out)), "0.0" not in out[0], len(back), len(out) == len(back), syncs)
        expected = np.cos([0.5, 1.0]) * np.exp([0.5, 1.0]) + np.sin([0.5, 1.0]) * np.exp([0.5, 1.0])
        print(np.allclose(x.grad.numpy(), expected))
    """) == ["4 1 True 4 True []", "True"]


def test_the_way_back_of_a_value_begins_before_it_is_asked_for():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)
        order = []
        with ag.autograd.graph.save_on_cpu():
            a = ag.sin(x)
            b = ag.exp(a)
        b.register_hook(lambda g: order.append("exp"))
        a.register_hook(lambda g: order.append("sin"))
        plain = ndarray.set
        def noted(self, *args, **kwargs):
            order.append("copy in")
            return plain(self, *args, **kwargs)
        ndarray.set = noted
        b.backward(cupy.asarray([1.0, 1.0]))
        print(order)
    """) == ["['exp', 'copy in', 'copy in', 'sin']"]


def test_what_is_copied_out_is_kept_until_the_copy_is_done():
    assert run("""
        import weakref
        from arraygrad.backends.cupy import BACKEND
        options["event_done"] = False
        x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)
        with ag.autograd.graph.save_on_cpu():
            y = ag.exp(x)
        gone = weakref.ref(y.array)
        del y
        print(gone() is None, BACKEND.offloading.kept())
        options["event_done"] = True
        with ag.autograd.graph.save_on_cpu():
            z = ag.exp(x)
        print(gone() is None, BACKEND.offloading.kept())
    """) == ["False 1", "True 1"]


def test_offloaded_values_serve_a_graph_that_is_kept():
    assert run("""
        x = ag.asarray(cupy.asarray([0.5]), requires_grad=True)
        with ag.autograd.graph.save_on_cpu():
            y = ag.sum(ag.exp(ag.sin(x)))
        (first,) = ag.autograd.grad(y, x, retain_graph=True)
        (second,) = ag.autograd.grad(y, x)
        print(first.item() == second.item())
    """) == ["True"]


# -- memory and who still reads it -------------------------------------------------------------------------------------
# `races` (happens_before) lists what no wait orders, whatever the device does first.

FENCE = """
import gc
def after(waiting, *made):
    for stream in made:
        waiting.wait_event(stream.record())
def fence(*streams):
    null = cupy.cuda.get_current_stream()
    after(null, *streams)
    for stream in streams:
        after(stream, null)
S = [Stream(non_blocking=True) for _ in range(4)]
"""


def races(code):
    """What a program prints after FENCE, and the races in it."""
    import textwrap

    return run(FENCE + textwrap.dedent(code) + "\ngc.collect()\nprint(races)\n")


def test_the_stand_in_sees_a_race_that_the_program_itself_has():
    assert (
        "goes back before multiply"
        in races("""
        with S[0]: a = cupy.asarray([1.0]) * 2.0
        after(S[1], S[0])
        with S[1]: b = a * 2.0
        del a
    """)[-1]
    )
    assert (
        "may not have written"
        in races("""
        with S[0]: a = cupy.asarray([1.0]) * 2.0
        with S[1]: b = a * 2.0
    """)[-1]
    )


@pytest.mark.parametrize("length", [3, 4])
def test_a_gradient_handed_on_over_a_chain_of_streams_is_kept_for_the_stream_that_made_it(length):
    assert races(f"""
        n = {length}
        with S[n - 1]:
            x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            y = x * x
        before = []
        for i in range(n - 2, 0, -1):
            after(S[i], S[i + 1])
            before.append(y)
            with S[i]: y = y + 1.0                      # its rule hands the gradient on as it is
        after(S[0], S[1])
        with S[0]: loss = ag.sum(ag.sin(y))
        fence(*S)
        del before
        loss.backward()
        print(x.grad.numpy().tolist() == (2 * x.array * cupy.asarray(np.cos(y.numpy()))).tolist())
    """) == ["True", "[]"]


@pytest.mark.parametrize("hand_on", ["ag.reshape(y, (2, 1))[:, 0]", "ag.expand_dims(y, axis=0)[0]", "ag.sum(y)"])
def test_a_view_of_a_gradient_belongs_to_the_stream_whose_memory_it_is(hand_on):
    assert races(f"""
        with S[2]:
            x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            y = x * x
        after(S[1], S[2])
        with S[1]: z = {hand_on}
        after(S[0], S[1])
        with S[0]: loss = ag.sum(ag.sin(z))
        fence(*S)
        loss.backward()
        del y, z, loss
        fence(*S)
    """) == ["[]"]


@pytest.mark.parametrize(
    "view",
    ["ag.reshape(c, (2, 1))[:, 0]", "c[:]", "c.detach()", "ag.asarray(c.array)", "ag.flip(c)"],
)
def test_a_saved_view_belongs_to_the_stream_whose_memory_it_shows(view):
    assert races(f"""
        with S[0]: c = ag.asarray(cupy.asarray([3.0, 4.0])) * 1.0
        after(S[1], S[0])
        with S[1]:
            w = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            loss = ag.sum({view} * w)
        fence(*S)
        del c
        loss.backward()
        del loss
        print(w.grad.numpy().tolist())
    """)[1:] == ["[]"]


def test_what_an_in_place_write_left_for_a_node_is_waited_for_and_belongs_to_the_writer():
    assert races("""
        with S[0]: x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True) * 1.0
        after(S[1], S[0])
        with S[1]: y = ag.sin(x)
        after(S[2], S[1])
        with S[2]: x[...] = 7.0
        with S[1]: loss = ag.sum(y)
        after(cupy.cuda.get_current_stream(), S[1])
        loss.backward()
        fence(*S)
    """) == ["[]"]


@pytest.mark.parametrize("hooks", ["lambda t: t, lambda t: t", "lambda t: [t], lambda kept: kept[0]"])
def test_what_hooks_packed_is_kept_for_the_stream_whose_memory_it_is(hooks):
    assert races(f"""
        with S[0]: c = ag.asarray(cupy.asarray([3.0, 4.0])) * 1.0
        after(S[1], S[0])
        with S[1], ag.autograd.graph.saved_tensors_hooks({hooks}):
            w = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            loss = ag.sum(c * w)
        fence(*S)
        del c
        loss.backward()
        del loss
    """) == ["[]"]


def test_what_a_function_set_on_ctx_is_kept_for_the_stream_whose_memory_it_is():
    assert races("""
        class Scale(ag.autograd.Function):
            @staticmethod
            def forward(ctx, x, t):
                ctx.t = t
                return x * t
            @staticmethod
            def backward(ctx, g):
                return g * ctx.t, None
        with S[0]: c = ag.asarray(cupy.asarray([3.0, 4.0])) * 1.0
        after(S[1], S[0])
        with S[1]:
            w = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            loss = ag.sum(Scale.apply(w, c))
        fence(*S)
        del c
        loss.backward()
        del loss
    """) == ["[]"]


def test_what_a_primitive_keeps_is_kept_for_the_stream_whose_memory_it_is():
    assert races("""
        scale = ag.primitive(lambda x, t: x * t)
        scale.defvjp(lambda ans, x, t: lambda g: g * t, None)
        with S[0]: c = ag.asarray(cupy.asarray([3.0, 4.0])) * 1.0
        after(S[1], S[0])
        with S[1]:
            w = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            loss = ag.sum(scale(w, c))
        fence(*S)
        del c
        loss.backward()
        del loss
    """) == ["[]"]


def test_atomic_updates_are_added_on_the_callers_stream_and_the_gradient_is_kept_for_that():
    assert races("""
        with S[0]:
            w = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            loss = ag.sum(ag.sin(w) * w)
        fence(*S)
        for _ in range(2):
            ag.autograd.backward(loss, retain_graph=True, atomic=True)
        del loss
        fence(*S)
    """) == ["[]"]


def test_gradients_that_are_recorded_are_kept_as_well():
    assert races("""
        with S[2]:
            x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
            y = x * x
        after(S[1], S[2])
        with S[1]: z = y + 1.0
        after(S[0], S[1])
        with S[0]: loss = ag.sum(ag.sin(z) * z)
        fence(*S)
        (g,) = ag.autograd.grad(loss, x, create_graph=True)
        fence(*S)
        with S[3]: h = ag.sum(g * g)
        fence(*S)
        h.backward()
        fence(*S)
        del g, h, loss, y, z
    """) == ["[]"]


def test_a_stream_waits_once_for_all_that_another_hands_to_a_node():
    waits = run("""
        with Stream(ptr=7):
            x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
            y = x * 2.0
        z = sum((y * float(i) for i in range(5)), y * 5.0)
        del calls[:]
        ag.sum(z).backward()
        print(sum(c == "0.7 waits for event of 0.0" for c in calls))
    """)
    assert waits == ["1"]


def test_a_value_brought_back_ahead_and_never_asked_for_is_waited_for():
    assert races("""
        with S[0]:
            x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True)
            with ag.autograd.graph.save_on_cpu():
                y = ag.exp(ag.sin(x))
            fail = []
            def stop(g):
                raise ValueError("stopped")
            ag.sin(y)
            y.grad_fn.register_hook(lambda *a: stop(None))
        fence(*S)
        try: y.backward(cupy.asarray([1.0, 1.0]))
        except ValueError: print("stopped")
        del y
    """) == ["stopped", "[]"]


def test_a_write_in_place_waits_for_the_copy_of_what_it_writes_over():
    assert races("""
        options["event_done"] = False
        with S[0]:
            x = ag.asarray(cupy.asarray([0.5, 1.0]), requires_grad=True) * 1.0
            with ag.autograd.graph.save_on_cpu():
                y = ag.sin(x)
            x[...] = 7.0
            x.detach()[:1] *= 2.0
        fence(*S)
    """) == ["[]"]
