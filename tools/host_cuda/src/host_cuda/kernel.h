// What a CUDA kernel's source needs to be compiled by g++. It comes before the source; kernels.py adds one HC_KERNEL per kernel.
#pragma once
#include <algorithm>
#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <math.h>
#include <tuple>
#include <type_traits>
#include <utility>

#include <vector_types.h>  // float2 and its like, which NVRTC knows without a header
#include <vector_functions.h>

#undef __global__
#undef __device__
#undef __host__
#undef __constant__
#undef __forceinline__
#undef __noinline__
#undef __launch_bounds__
#undef __shared__
#undef __align__
#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __shared__ static  // blocks run one after the other
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC_VER_MAJOR__ 13

// ---- where a thread is

struct HcThree { unsigned x, y, z; };
extern "C" {
extern HcThree hc_threadIdx, hc_blockIdx, hc_blockDim, hc_gridDim;
extern char hc_shared[], hc_lanes[];
void hc_sync(unsigned mask);
}
#define threadIdx hc_threadIdx
#define blockIdx hc_blockIdx
#define blockDim hc_blockDim
#define gridDim hc_gridDim
static const int warpSize = 32;
static inline unsigned hc_thread() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

// ---- barriers, and values passed between the lanes of a warp

static inline void __syncthreads() { hc_sync(0); }
static inline void __syncwarp(unsigned mask = 0xffffffff) { hc_sync(mask); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
template <class T>
static inline T hc_from_lane(unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= 16, "too large for a shuffle");
  unsigned t = hc_thread();
  memcpy(hc_lanes + t * 16, &value, sizeof value);
  hc_sync(mask);
  T result;
  memcpy(&result, hc_lanes + ((t & ~31u) | (lane & 31)) * 16, sizeof result);
  hc_sync(mask);
  return result;
}
static inline unsigned hc_lane() { return hc_thread() & 31; }
template <class T> static inline T __shfl_sync(unsigned m, T v, int lane, int width = 32) { return hc_from_lane(m, v, (hc_lane() & ~(width - 1)) | (lane & (width - 1))); }
template <class T> static inline T __shfl_xor_sync(unsigned m, T v, int bits, int width = 32) {
  unsigned to = hc_lane() ^ bits;
  return hc_from_lane(m, v, to / width <= hc_lane() / width ? to : hc_lane());
}
template <class T> static inline T __shfl_up_sync(unsigned m, T v, unsigned by, int width = 32) { return hc_from_lane(m, v, (hc_lane() & (width - 1)) >= by ? hc_lane() - by : hc_lane()); }
template <class T> static inline T __shfl_down_sync(unsigned m, T v, unsigned by, int width = 32) { return hc_from_lane(m, v, (hc_lane() & (width - 1)) + by < (unsigned)width ? hc_lane() + by : hc_lane()); }
static inline unsigned __ballot_sync(unsigned m, int yes) {
  unsigned found = 0;
  for (int l = 0; l < 32; l++) {
    if (!(m >> l & 1)) continue;
    found |= (unsigned)(hc_from_lane(m, yes, l) != 0) << l;
  }
  return found;
}
static inline int __any_sync(unsigned m, int yes) { return __ballot_sync(m, yes) != 0; }
static inline int __all_sync(unsigned m, int yes) { return __ballot_sync(m, yes) == m; }
static inline unsigned __activemask() { return 0xffffffff; }

// ---- atomics: no two threads ever run at the same time

// (float16 has one of CuPy's own)
template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
static inline T atomicAdd(T* p, T v) { T o = *p; *p = o + v; return o; }
template <class T> static inline T atomicSub(T* p, T v) { T o = *p; *p = o - v; return o; }
template <class T> static inline T atomicMax(T* p, T v) { T o = *p; if (v > o) *p = v; return o; }
template <class T> static inline T atomicMin(T* p, T v) { T o = *p; if (v < o) *p = v; return o; }
template <class T> static inline T atomicExch(T* p, T v) { T o = *p; *p = v; return o; }
template <class T> static inline T atomicCAS(T* p, T c, T v) { T o = *p; if (o == c) *p = v; return o; }
template <class T> static inline T atomicOr(T* p, T v) { T o = *p; *p = o | v; return o; }
template <class T> static inline T atomicAnd(T* p, T v) { T o = *p; *p = o & v; return o; }
template <class T> static inline T atomicXor(T* p, T v) { T o = *p; *p = o ^ v; return o; }

// ---- bits

template <class To, class From> static inline To hc_bits(From x) { To r; static_assert(sizeof r == sizeof x, ""); memcpy(&r, &x, sizeof r); return r; }
static inline double __longlong_as_double(long long x) { return hc_bits<double>(x); }
static inline long long __double_as_longlong(double x) { return hc_bits<long long>(x); }
static inline float __int_as_float(int x) { return hc_bits<float>(x); }
static inline int __float_as_int(float x) { return hc_bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return hc_bits<float>(x); }
static inline unsigned __float_as_uint(float x) { return hc_bits<unsigned>(x); }
static inline int __double2hiint(double x) { return (int)(hc_bits<long long>(x) >> 32); }
static inline int __double2loint(double x) { return (int)hc_bits<long long>(x); }
static inline double __hiloint2double(int high, int low) { return hc_bits<double>((long long)high << 32 | (unsigned)low); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll(x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
template <class T> static inline T __ldg(const T* p) { return *p; }

// ---- numbers

using std::abs; using std::fmod; using std::isfinite; using std::isinf; using std::isnan; using std::max; using std::min; using std::pow; using std::signbit;
#define HC_MIN_MAX(A, B) \
  static inline std::common_type_t<A, B> min(A a, B b) { typedef std::common_type_t<A, B> T; return T(b) < T(a) ? T(b) : T(a); } \
  static inline std::common_type_t<A, B> max(A a, B b) { typedef std::common_type_t<A, B> T; return T(a) < T(b) ? T(b) : T(a); }
HC_MIN_MAX(int, unsigned) HC_MIN_MAX(unsigned, int) HC_MIN_MAX(long, int) HC_MIN_MAX(int, long) HC_MIN_MAX(long long, int) HC_MIN_MAX(int, long long)
HC_MIN_MAX(long, long long) HC_MIN_MAX(long long, long) HC_MIN_MAX(float, double) HC_MIN_MAX(double, float)
HC_MIN_MAX(unsigned long, unsigned) HC_MIN_MAX(unsigned, unsigned long)
#undef HC_MIN_MAX
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float rsqrt(float x) { return 1 / sqrtf(x); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rcbrt(double x) { return 1 / cbrt(x); }
static inline float rcbrt(float x) { return 1 / cbrtf(x); }
static inline double sinpi(double x) { return sin(M_PI * x); }
static inline double cospi(double x) { return cos(M_PI * x); }
static inline void sincospi(double x, double* s, double* c) { *s = sinpi(x); *c = cospi(x); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * M_SQRT1_2); }
static inline double erfinv(double y) {  // Giles's start, then Newton
  if (!(y > -1 && y < 1)) return y == 1 ? HUGE_VAL : y == -1 ? -HUGE_VAL : NAN;
  double l = log((1 - y) * (1 + y)), a = 2 / (M_PI * 0.147) + l / 2, x = copysign(sqrt(sqrt(a * a - l / 0.147) - a), y);
  for (int i = 0; i < 4; i++) x -= (fabs(y) < 0.5 ? erf(x) - y : y > 0 ? (1 - y) - erfc(x) : erfc(-x) - (1 + y)) / (M_2_SQRTPI * exp(-x * x));
  return x;
}
static inline double erfcinv(double y) { return erfinv(1 - y); }
static inline double normcdfinv(double y) { return M_SQRT2 * erfinv(2 * y - 1); }
static inline double cyl_bessel_i0(double x) { return std::cyl_bessel_i(0.0, fabs(x)); }
static inline double cyl_bessel_i1(double x) { return copysign(std::cyl_bessel_i(1.0, fabs(x)), x); }
// A clock on which every look at it is a long time: kernels that wait for the clock end at once. `lazy` mode is what
// makes work late. (The C library has a clock of its own.)
static inline long long clock64() { static long long t; return t += 1000000000LL; }
static inline long long hc_clock() { return clock64(); }
#define clock() hc_clock()

// ---- functions that CUDA has and C++ has not

static inline float cyl_bessel_i0f(float x) { return (float)cyl_bessel_i0(x); }
static inline float cyl_bessel_i1f(float x) { return (float)cyl_bessel_i1(x); }
static inline double erfcx(double x) {  // exp(x * x) erfc(x)
  if (!(x < 100)) return (1 - 0.5 / (x * x)) / (x * std::sqrt(M_PI));
  return (double)(expl((long double)x * x) * erfcl((long double)x));
}
static inline float erfcxf(float x) { return (float)erfcx((double)x); }
static inline float erfcx(float x) { return erfcxf(x); }

// ---- how the device calls a kernel

template <class F> struct HcKernel;
template <class... A>
struct HcKernel<void (*)(A...)> {
  static constexpr int count = sizeof...(A);
  static constexpr size_t sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
  template <size_t... I>
  static void call(void (*f)(A...), void** p, std::index_sequence<I...>) { f(*(std::remove_const_t<A>*)p[I]...); }
  static void call(void (*f)(A...), void** p) { call(f, p, std::make_index_sequence<sizeof...(A)>()); }
};
#define HC_KERNEL(NAME, ...) \
  extern "C" { \
  __attribute__((visibility("default"))) void hc_call_##NAME(void** p) { HcKernel<decltype(&__VA_ARGS__)>::call(&__VA_ARGS__, p); } \
  __attribute__((visibility("default"))) int hc_count_##NAME = HcKernel<decltype(&__VA_ARGS__)>::count; \
  __attribute__((visibility("default"))) const size_t* hc_sizes_##NAME = HcKernel<decltype(&__VA_ARGS__)>::sizes; \
  }
