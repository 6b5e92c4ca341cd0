"""build_runtime.py: builds CuPy's `runtime` module, a setup script for the folder of its sources (build_ext --inplace).

In CuPy's wheel this module holds NVIDIA's runtime library, linked statically; here it is linked against the host
device. Its sources stay as they are. Environment: HOST_CUDA_INCLUDE (folders of CUDA's headers), HOST_CUDA_LIB (the
folder of libhostcuda.so), HOST_CUDA_RPATH.
"""

import os

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup

VERSION = 13000  # of CUDA: with what CuPy's wheel for it is compiled

setup(
    name="runtime",
    packages=[],
    ext_modules=cythonize(
        [
            Extension(
                "cupy_backends.cuda.api.runtime",
                ["cupy_backends/cuda/api/runtime.pyx"],
                language="c++",
                include_dirs=[*os.environ["HOST_CUDA_INCLUDE"].split(":"), "cupy_backends"],
                define_macros=[("CUPY_CUDA_VERSION", str(VERSION))],
                extra_compile_args=["-O1", "-g0", "-w"],
                libraries=["hostcuda"],
                library_dirs=[os.environ["HOST_CUDA_LIB"]],
                extra_link_args=[f"-Wl,-rpath,{os.environ['HOST_CUDA_RPATH']}"],
            )
        ],
        quiet=True,
        language_level=3,
        compile_time_env={
            "CUPY_CUDA_VERSION": VERSION,
            "CUPY_HIP_VERSION": 0,
            "CUPY_USE_CUDA_PYTHON": False,
            "CUPY_CUFFT_STATIC": False,
            "CUPY_CYTHON_VERSION": Cython.__version__,
        },
        compiler_directives={
            "embedsignature": True,
            "c_api_binop_methods": True,
            "binding": False,
            "freethreading_compatible": True,
        },
    ),
)
