"""Does the host device work? Exits with 1 where it does not. The stream mode is that of HOST_CUDA_STREAMS."""

import subprocess
import sys

import cupy
import host_cuda
import numpy as np

failed = []


def check(name: str, got, wanted) -> None:
    if not np.allclose(np.asarray(got), wanted):
        failed.append(name)
        print(f"FAILED {name}: {got} wanted {wanted}")


rng = np.random.default_rng(0)
a, b = rng.normal(size=(33, 40)), rng.normal(size=(40, 21))
x, y = cupy.asarray(a), cupy.asarray(b)
check("sum", x.sum().get(), a.sum())
check("sum over an axis", x.sum(axis=0).get(), a.sum(axis=0))
check("argmax", cupy.argmax(x, axis=1).get(), a.argmax(axis=1))
check("large sum", cupy.arange(100_000, dtype="float64").sum().get(), 99_999 * 50_000)
check("half precision", x.astype("float16").astype("float64").get(), a.astype("float16"))
check("complex exp", cupy.exp(x * (1 + 2j)).get(), np.exp(a * (1 + 2j)))
check(
    "elementwise kernel", cupy.ElementwiseKernel("T x, T y", "T z", "z = x * y + 1", "hc_axpy")(x, x).get(), a * a + 1
)
norm = cupy.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "hc_norm")
check("reduction kernel", norm(x, axis=1).get(), np.linalg.norm(a, axis=1))
raw = cupy.RawKernel(
    r"""extern "C" __global__ void hc_blocks(const double* x, double* out, int n) {
    extern __shared__ double part[];
    int t = threadIdx.x;
    part[t] = t < n ? x[blockIdx.x * n + t] : 0;
    __syncthreads();
    double v = part[t];
    for (int s = 16; s; s >>= 1) v += __shfl_xor_sync(0xffffffff, v, s);
    __syncthreads();
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t == 0) { v = 0; for (int w = 0; w < blockDim.x / 32; w++) v += part[w]; out[blockIdx.x] = v; }
}""",
    "hc_blocks",
)
out = cupy.empty(33)
raw((33,), (64,), (x, out, np.int32(40)), shared_mem=64 * 8)
check("raw kernel with barriers and shuffles", out.get(), a.sum(axis=1))
pairs = cupy.RawKernel(
    r"""extern "C"
    void __global__ hc_pairs(float2* x) { x[threadIdx.x] = make_float2(x[threadIdx.x].y, x[threadIdx.x].x); }""",
    "hc_pairs",
)
z = cupy.asarray(np.array([1 + 2j, 3 + 4j], dtype="complex64"))
pairs((1,), (2,), (z,))
check("vector types, void __global__", z.get(), [2 + 1j, 4 + 3j])
module = cupy.RawModule(
    code="template <typename T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }", name_expressions=["twice<float>"]
)
z = cupy.arange(8, dtype="float32")
module.get_function("twice<float>")((1,), (8,), (z,))
check("template kernel", z.get(), np.arange(8) * 2)
check("product", (x @ y).get(), a @ b)
check("complex product", ((x + 1j) @ (y - 1j)).get(), (a + 1j) @ (b - 1j))
check("stack of products", cupy.matmul(cupy.stack([x, x]), y).get(), np.matmul(np.stack([a, a]), b))
check("dot", cupy.dot(x[0], x[1]).get(), a[0] @ a[1])
check("sort", cupy.sort(x, axis=1).get(), np.sort(a, axis=1))
check("argsort", cupy.argsort(x[0]).get(), np.argsort(a[0]))
check("inverse", cupy.linalg.inv(x[:20, :20]).get(), np.linalg.inv(a[:20, :20]))
check("Fourier transform", cupy.fft.rfft(x).get(), np.fft.rfft(a))
check("random numbers", abs(float(cupy.random.RandomState(1).standard_normal(4000).mean())) < 0.1, True)
check("scatter", cupy.bincount(cupy.asarray([0, 1, 1, 3])).get(), [1, 2, 0, 1])

# Two streams: with an event the second reads what the first wrote; without, only lazy and random modes may show the
# old value.
first, second = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
stale = 0
# In random mode most work runs soon after it was issued: about one missing wait of twenty shows.
tries = 300 if host_cuda.mode() == "random" else 20
for _ in range(tries):
    for waits in (True, False):
        source, copy = cupy.zeros(1000), cupy.zeros(1000)
        cupy.cuda.Device().synchronize()
        with first:
            source += 1
            written = first.record()
        with second:
            if waits:
                second.wait_event(written)
            copy[...] = source * 2
        second.synchronize()
        if waits:
            check("event", copy.get().mean(), 2.0)
        else:
            stale += float(copy.get().mean()) != 2.0
        first.synchronize()
expected = {"eager": stale == 0, "lazy": stale == tries, "random": 0 < stale < tries}[host_cuda.mode()]
check(f"missing waits seen in {tries} tries: {stale}", expected, True)
check(
    "no work before it is awaited",
    host_cuda.waiting() > 0 if (w := cupy.zeros(3) + 1) is not None and host_cuda.mode() == "lazy" else True,
    True,
)

# A captured step, on two streams
with first:
    source, copy = cupy.zeros(100), cupy.zeros(100)
    first.begin_capture()
    source += 1
    second.wait_event(first.record())
    with second:
        copy += source
    first.wait_event(second.record())
    graph = first.end_capture()
    check("nothing runs while a stream captures", source.get().sum(), 0)
    for _ in range(3):
        graph.launch(first)
    first.synchronize()
    check("graph", copy.get(), 1 + 2 + 3)

# Devices
if cupy.cuda.runtime.getDeviceCount() > 1:
    with cupy.cuda.Device(1):
        far = cupy.asarray(a)
        assert far.device.id == 1
        check("the other device", (far * 2).get(), a * 2)
        check("copy between devices", cupy.asarray(x).get(), a)

# Memory
pool = cupy.cuda.MemoryPool()
try:
    pool.malloc(1 << 50)
    failed.append("out of memory")
except cupy.cuda.memory.OutOfMemoryError:
    pass
# The order of imports
cupyx_first = subprocess.run([sys.executable, "-c", "import cupyx, cupy; cupy.sort(cupy.arange(3))"]).returncode
check("cupyx imported first", cupyx_first, 0)
print(
    f"{'FAILED' if failed else 'ok'}: {host_cuda.mode()}, {cupy.cuda.runtime.getDeviceCount()} devices, "
    f"CuPy {cupy.__version__}, NumPy {np.__version__}, {host_cuda.counters()}"
)
sys.exit(bool(failed))
