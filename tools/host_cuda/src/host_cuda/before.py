"""Imported by CuPy's and cupyx's `__init__` first, so that the device's libraries are found for CUDA's."""

import ctypes
import glob
import os

import host_cuda

begun: set = set()  # packages of CuPy's whose import has begun

os.environ["CUPY_ACCELERATORS"] = ""  # CUB's and cuTENSOR's kernels are compiled into CuPy's wheel, for a GPU
os.environ["CUDA_PATH"] = os.path.join(os.path.dirname(host_cuda.HERE), "nvidia", "cu13")
os.environ.setdefault(
    "CUPY_CACHE_DIR",
    os.path.join(host_cuda.CACHE, "cupy_nvrtc" if os.environ.get("HOST_CUDA_NVRTC") == "1" else "cupy"),
)

host_cuda.library()
for name in sorted(glob.glob(os.path.join(host_cuda.HERE, "lib", "lib*.so.*"))):
    ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
