"""A RawKernel and its gradient, a RawKernel too: the squared distances of all pairs of points.

`ag.primitive` gets a function on raw arrays and a rule on raw arrays; both launch CUDA C++ of your own.
"""

import cupy
import numpy as np

import arraygrad as ag

CODE = r"""
extern "C" __global__ void distances(const double* x, double* out, const int n, const int d) {
  const int pair = blockDim.x * blockIdx.x + threadIdx.x;
  if (pair >= n * n) return;
  const int i = pair / n, j = pair % n;
  double sum = 0;
  for (int k = 0; k < d; ++k) {
    const double away = x[i * d + k] - x[j * d + k];
    sum += away * away;
  }
  out[pair] = sum;
}

extern "C" __global__ void distances_backward(const double* g, const double* x, double* out, const int n, const int d) {
  const int place = blockDim.x * blockIdx.x + threadIdx.x;
  if (place >= n * d) return;
  const int i = place / d, k = place % d;
  double sum = 0;
  for (int j = 0; j < n; ++j) sum += 2 * (g[i * n + j] + g[j * n + i]) * (x[i * d + k] - x[j * d + k]);
  out[place] = sum;
}
"""

forward = cupy.RawKernel(CODE, "distances")
backward = cupy.RawKernel(CODE, "distances_backward")
THREADS = 128


def launch(kernel, arrays, out, n, d):
    """One thread per element of `out`."""
    kernel((-(-out.size // THREADS),), (THREADS,), (*arrays, out, np.int32(n), np.int32(d)))
    return out


@ag.primitive
def squared_distances(x):
    """(n, n) squared distances of the n points x, shape (n, d), float64."""
    n, d = x.shape
    return launch(forward, (cupy.ascontiguousarray(x),), cupy.empty((n, n)), n, d)


def rule(ans, x):
    """The gradient of x from that of the distances, on raw arrays."""
    n, d = x.shape

    def pull(g):
        return launch(backward, (cupy.ascontiguousarray(g), cupy.ascontiguousarray(x)), cupy.empty((n, d)), n, d)

    return pull


squared_distances.defvjp(rule)


def energy(x):
    """A repulsion of all points: a function of arraygrad's around the kernel."""
    return ag.sum(ag.exp(-squared_distances(x)))


def check():
    """Whether the gradient is that of finite differences."""
    points = cupy.asarray(np.random.default_rng(0).normal(size=(5, 3)))
    return ag.gradcheck(energy, (ag.asarray(points, requires_grad=True),))


if __name__ == "__main__":
    print("gradient agrees with finite differences:", check())
