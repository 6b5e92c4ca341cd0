// Gradients of polynomials by their roots and of fits, coefficients with the highest power first; evenly spaced numbers.
// May include: shared_loops.hpp, the C++ library. Knows neither Python objects nor NumPy.
#pragma once
#include <cmath>
#include <complex>

#include "shared_loops.hpp"

namespace arraygrad {

#define ARRAYGRAD_REAL(slot, ...)                                                                                       \
    if ((slot) == SLOT_F64) { typedef double T; __VA_ARGS__; } else { typedef float T; __VA_ARGS__; }
#define ARRAYGRAD_ANY(slot, ...)                                                                                        \
    switch (slot) {                                                                                                     \
        case SLOT_F32: { typedef float T; __VA_ARGS__; } break;                                                         \
        case SLOT_F64: { typedef double T; __VA_ARGS__; } break;                                                        \
        case SLOT_C64: { typedef std::complex<float> T; __VA_ARGS__; } break;                                           \
        default: { typedef std::complex<double> T; __VA_ARGS__; } break;                                                \
    }

static inline float conjugate(float x) { return x; }
static inline double conjugate(double x) { return x; }
template <typename R> static inline std::complex<R> conjugate(const std::complex<R>& x) { return std::conj(x); }

// The gradient of n roots from that of the coefficients of the product of (x - root), back through the products one by
// one. `work` has n * n elements, `g` is used up.
static inline void product_gradient(int slot, const char* roots, char* gradient, char* work, char* result,
                                    std::ptrdiff_t n) {
    ARRAYGRAD_ANY(slot,
        const T* r = (const T*)roots; T* g = (T*)gradient; T* out = (T*)result; T* rows = (T*)work;
        if (n > 0) rows[0] = T(1);
        for (std::ptrdiff_t k = 1; k < n; k++) {  // row k: the product of the first k, of k + 1 coefficients
            const T* before = rows + (k - 1) * n; T* row = rows + k * n;
            row[0] = T(1);
            for (std::ptrdiff_t j = 1; j < k; j++) row[j] = before[j] - r[k - 1] * before[j - 1];
            row[k] = -r[k - 1] * before[k - 1];
        }
        for (std::ptrdiff_t k = n; k-- > 0;) {
            const T* row = rows + k * n; T sum = T(0); const T back = conjugate(r[k]);
            for (std::ptrdiff_t j = 0; j <= k; j++) sum += g[j + 1] * conjugate(row[j]);
            out[k] = -sum;
            for (std::ptrdiff_t j = 0; j <= k; j++) g[j] -= back * g[j + 1];
        })
}

// The gradient of the n + 1 coefficients of a polynomial from that of its roots: root^k over the derivative there, which
// is the first coefficient times the distances to the other roots.
static inline void roots_gradient(const std::complex<double>* r, const std::complex<double>* g,
                                  std::complex<double> first, std::complex<double>* out, std::ptrdiff_t n) {
    typedef std::complex<double> C;
    for (std::ptrdiff_t k = 0; k <= n; k++) out[k] = C(0);
    for (std::ptrdiff_t i = 0; i < n; i++) {
        // Powers grow or fall off, and so do the products of distances: they are divided factor by factor, beginning with
        // the largest power, so that nothing overflows on the way that is in range at its end.
        const bool large = std::abs(r[i]) > 1.0;
        C t = (large ? r[i] : C(1)) / first;
        for (std::ptrdiff_t j = 0; j < n; j++)
            if (j != i) t *= (large ? r[i] : C(1)) / (r[i] - r[j]);
        for (std::ptrdiff_t k = 0; k <= n; k++) {
            out[large ? k : n - k] -= g[i] * std::conj(t);
            t = large ? t / r[i] : t * r[i];
        }
    }
}

static inline void roots_gradient_of(const char* r, const char* g, const char* first, char* out, std::ptrdiff_t n) {
    typedef std::complex<double> C;
    roots_gradient((const C*)r, (const C*)g, *(const C*)first, (C*)out, n);
}

// Least squares of a polynomial of k coefficients at n >= k points, for each of m columns of a gradient g (k x m) of the
// coefficients c: `direct` (n x m) is the gradient of the values, A v, and `inverse` (k x m) is v, the inverse of the
// normal matrix of A times g. By the factors of A, whose columns are scaled, so that nothing is squared.
// `columns` has k * n elements, `numbers` 3 * k + n.
static inline void fit_gradient(const double* x, std::ptrdiff_t n, std::ptrdiff_t k, const double* g, std::ptrdiff_t m,
                                double* columns, double* numbers, double* direct, double* inverse) {
    unlocked(n * k * k, [=] {
        double *scale = numbers, *corner = numbers + k, *z = numbers + 2 * k, *along = numbers + 3 * k;
        for (std::ptrdiff_t i = 0; i < n; i++) columns[(k - 1) * n + i] = 1.0;
        for (std::ptrdiff_t j = k - 1; j-- > 0;)
            for (std::ptrdiff_t i = 0; i < n; i++) columns[j * n + i] = columns[(j + 1) * n + i] * x[i];
        for (std::ptrdiff_t j = 0; j < k; j++) {
            double sum = 0.0;
            for (std::ptrdiff_t i = 0; i < n; i++) sum += columns[j * n + i] * columns[j * n + i];
            scale[j] = std::sqrt(sum);
            for (std::ptrdiff_t i = 0; i < n; i++) columns[j * n + i] /= scale[j];
        }
        // Reflections: column j keeps its own from row j on, of square length 2; above it stand the factor's elements,
        // of which the diagonal is in `corner`.
        for (std::ptrdiff_t j = 0; j < k; j++) {
            double* u = columns + j * n;
            double sum = 0.0;
            for (std::ptrdiff_t i = j; i < n; i++) sum += u[i] * u[i];
            const double length = std::sqrt(sum), last = u[j] < 0 ? length : -length;
            corner[j] = last;
            u[j] -= last;
            const double whole = std::sqrt(length * (length + std::fabs(u[j] + last)));
            for (std::ptrdiff_t i = j; i < n && whole > 0.0; i++) u[i] /= whole;
            for (std::ptrdiff_t l = j + 1; l < k; l++) {
                double* other = columns + l * n;
                double dot = 0.0;
                for (std::ptrdiff_t i = j; i < n; i++) dot += u[i] * other[i];
                for (std::ptrdiff_t i = j; i < n; i++) other[i] -= dot * u[i];
            }
        }
        for (std::ptrdiff_t c = 0; c < m; c++) {
            for (std::ptrdiff_t j = 0; j < k; j++) {
                double sum = g[j * m + c] / scale[j];
                for (std::ptrdiff_t l = 0; l < j; l++) sum -= columns[j * n + l] * z[l];
                z[j] = sum / corner[j];
            }
            for (std::ptrdiff_t i = 0; i < n; i++) along[i] = i < k ? z[i] : 0.0;
            for (std::ptrdiff_t j = k; j-- > 0;) {
                const double* u = columns + j * n;
                double dot = 0.0;
                for (std::ptrdiff_t i = j; i < n; i++) dot += u[i] * along[i];
                for (std::ptrdiff_t i = j; i < n; i++) along[i] -= dot * u[i];
            }
            for (std::ptrdiff_t i = 0; i < n; i++) direct[i * m + c] = along[i];
            for (std::ptrdiff_t j = k; j-- > 0;) {
                double sum = z[j];
                for (std::ptrdiff_t l = j + 1; l < k; l++) sum -= columns[l * n + j] * z[l];
                z[j] = sum / corner[j];
                inverse[j * m + c] = z[j] / scale[j];
            }
        }
        return 0;
    });
}

// How far along each of `num` points is, from 0 to 1, which is the last one's place if `endpoint`.
static inline double share_of(std::ptrdiff_t i, std::ptrdiff_t num, bool endpoint) {
    const std::ptrdiff_t parts = endpoint ? num - 1 : num;
    return endpoint && num > 1 && i == num - 1 ? 1.0 : parts > 0 ? (double)i * (1.0 / (double)parts) : 0.0;
}

// Points from one number to another, by the operations of numpy.linspace, whose last bits they have.
static inline int spaced(int slot, const char* start, const char* stop, char* points, std::ptrdiff_t num, bool endpoint) {
    fp_begin();
    ARRAYGRAD_REAL(slot,
        const T a = *(const T*)start; const T b = *(const T*)stop; T* out = (T*)points;
        const T parts = T(endpoint ? num - 1 : num); const T whole = b - a;
        const T step = parts > 0 ? whole / parts : T(0);
        for (std::ptrdiff_t i = 0; i < num; i++) {
            const T share = step == 0 && parts > 0 ? T(i) / parts : T(i);  // a step of denormal numbers may be 0
            const T moved = share * (step == 0 ? whole : step);
            out[i] = moved + a;
        }
        if (endpoint && num > 1) out[num - 1] = b;)
    return fp_end();
}

// The gradient of each point times its share of the number at the end, or of the one at the beginning.
static inline void shares(int slot, const char* gradient, char* result, std::ptrdiff_t num, bool endpoint, bool of_stop) {
    ARRAYGRAD_REAL(slot,
        const T* g = (const T*)gradient; T* out = (T*)result;
        for (std::ptrdiff_t i = 0; i < num; i++) {
            const T w = (T)share_of(i, num, endpoint);
            out[i] = g[i] * (of_stop ? w : T(1) - w);
        })
}

#undef ARRAYGRAD_REAL
#undef ARRAYGRAD_ANY

}  // namespace arraygrad
