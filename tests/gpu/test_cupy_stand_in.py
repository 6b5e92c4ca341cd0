"""CuPy's backend with a stand-in for the library: NumPy arrays under CuPy's names, every CUDA call recorded.

Shows that the backend uses what CuPy documents; what a device makes of it is tested by tests/gpu/test_cupy.py. Each
test runs in a process of its own, so that nobody else meets the stand-in. Imports the public names of arraygrad there.
"""

from programs import run


def test_a_backward_on_one_device_is_driven_by_its_caller():
    assert run("""
        import threading
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = x * x
        seen = []
        y.register_hook(lambda g: seen.append(threading.current_thread() is threading.main_thread()))
        ag.sum(y).backward()
        print(type(x.grad.array).__name__, x.grad.numpy().tolist(), seen, list(device_threads()))
    """) == ["ndarray [2.0, 4.0] [True] []"]


def test_gradients_of_two_devices_are_computed_on_the_devices_own_threads():
    assert run("""
        import threading
        seen = []
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = x * x
        y.register_hook(lambda g: seen.append(threading.current_thread() is threading.main_thread()))
        z = y.to_device(cupy.cuda.Device(1))
        with cupy.cuda.Device(1):
            ag.sum(z * 1.0).backward()
        print(x.grad.numpy().tolist(), seen, list(device_threads()))
    """) == ["[2.0, 4.0] [False] [('cupy', 'cuda', 1), ('cupy', 'cuda', 0)]"]


def test_values_know_their_device_and_stream():
    assert run("""
        from arraygrad.core.tensor import metadata_of
        x = ag.asarray(cupy.asarray([1.0]))
        meta = metadata_of(x)
        print(meta.device, meta.device_key, meta.stream.stream.ptr)
    """) == ["<CUDA Device 0> ('cupy', 'cuda', 0) 0"]


def test_nodes_run_on_the_stream_of_their_values():
    assert run("""
        current[0] = 7
        x = ag.asarray(cupy.asarray([1.0]), requires_grad=True)
        y = x * 2.0
        current[0] = 0
        seen = []
        y.register_hook(lambda g: seen.append(current[0]))
        y.backward(cupy.asarray([1.0]))
        print(seen, current[0])
    """) == ["[7] 0"]


def test_adjoint_of_indexing_is_one_launch_for_real_numbers_and_add_at_for_complex_ones():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0, 3.0]), requires_grad=True)
        ag.sum(x[cupy.asarray([0, 2, 0])] * 2.0).backward()
        print(x.grad.numpy().tolist(), launches.count("arraygrad_scatter"), "add.at" in calls)
        x = ag.asarray(cupy.asarray([1.0 + 1j, 2.0, 3.0]), requires_grad=True)
        ag.sum(ag.real(x[cupy.asarray([0, 2, 0])] * 2.0)).backward()
        print(x.grad.numpy().tolist(), "add.at" in calls)
    """) == ["[4.0, 0.0, 2.0] 1 False", "[(4+0j), 0j, (2+0j)] True"]


def test_slices_are_views_and_writes_are_recorded():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0, 3.0]), requires_grad=True)
        y = x * 1.0
        y[1:][0] = x[0] * 10.0
        ag.sum(y).backward()
        print(y.numpy().tolist(), x.grad.numpy().tolist())
    """) == ["[1.0, 10.0, 3.0] [11.0, 0.0, 1.0]"]


def test_transfer_brings_the_gradient_back_to_the_device():
    assert run("""
        x = ag.asarray(cupy.asarray([1.0, 2.0]), requires_grad=True)
        y = ag.to_backend(x * x, "numpy")
        (y * y).sum().backward()
        z = ag.to_backend(ag.tensor([1.0, 2.0], requires_grad=True), "cupy")
        print(type(y.array).__name__, type(x.grad.array).__name__, x.grad.numpy().tolist(), type(z.array).__name__)
    """) == ["ndarray ndarray [4.0, 32.0] ndarray"]


def test_namespace_is_complete():
    assert run("""
        xp = ag.cupy
        own = ag.asarray(cupy.asarray([1.0])).__array_namespace__()
        print(xp.__name__, set(xp.__all__) == {*ag.numpy.__all__, "capture"}, own is xp)
    """) == ["arraygrad.cupy True True"]


def test_subclass_is_refused():
    assert run("""
        class Units(ndarray): pass
        try: ag.asarray(cupy.asarray([1.0]).view(Units))
        except TypeError as error: print("subclass of cupy.ndarray" in str(error))
    """) == ["True"]
