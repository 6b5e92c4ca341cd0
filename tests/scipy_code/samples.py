"""One call of each public SciPy function that takes arrays of other libraries, for `survey`.

May import: arraygrad, numpy, scipy. (Imported only where SCIPY_ARRAY_API is set.)

A sample is the function's name, how it is called, and the arrays it is differentiated in; `f(x)` with a vector of five
distinct positive numbers where nothing else is said. `call(f, *arrays)` gets Tensors.
"""

from dataclasses import dataclass

import numpy as np

import arraygrad as ag


@dataclass(frozen=True)
class Sample:
    """`name` below scipy, e.g. "stats.gmean"; `call(f, *arrays)`."""

    name: str
    call: object
    arrays: tuple


def positive(*shape, low=0.2, high=2.2, seed=0):
    """Distinct random numbers."""
    n = int(np.prod(shape))
    rng = np.random.default_rng([seed, n])
    return np.reshape(low + (high - low) * rng.permutation((np.arange(n) + 0.3 + 0.4 * rng.uniform(size=n)) / n), shape)


def unit(*shape, seed=0):
    """Numbers between 0.1 and 0.9."""
    return positive(*shape, low=0.1, high=0.9, seed=seed)


def signed(*shape, seed=0):
    """Numbers between -2 and 2."""
    return positive(*shape, low=-2.0, high=2.0, seed=seed)


X = positive(5)
SAMPLES = []


def beside(x, values):
    """Constants of the library of `x`: SciPy refuses two libraries, and lists, in one call."""
    return x.__array_namespace__().asarray(values)


def plain(module, names, *arrays, call=None):
    """Samples of several functions that are called alike."""
    for name in names.split():
        SAMPLES.append(Sample(f"{module}.{name}", call or (lambda f, *a: f(*a)), arrays or (X,)))


def one(name, call, *arrays):
    """A sample with a call of its own."""
    SAMPLES.append(Sample(name, call, arrays or (X,)))


# constants, differentiate, integrate, linalg, optimize
one("constants.convert_temperature", lambda f, x: f(x, "Celsius", "Kelvin"))
plain("constants", "lambda2nu nu2lambda")
one("differentiate.derivative", lambda f, x: f(lambda t: t**3, x).df)
one("differentiate.jacobian", lambda f, x: f(lambda t: t**3, x).df)
one("integrate.trapezoid", lambda f, x: f(x))
one("integrate.simpson", lambda f, x: f(x))
one("integrate.romb", lambda f, x: f(x))
one("integrate.cumulative_trapezoid", lambda f, y, x: f(y, x=x), X, np.sort(X))
one("integrate.cumulative_simpson", lambda f, y, x: f(y, x=x), X, np.sort(X))
one("integrate.cubature", lambda f, a: f(lambda x: x[:, 0] * a, [0.0], [1.0]).estimate, positive(1))
one("integrate.tanhsinh", lambda f, a: f(lambda x, a: x * a, a * 0.0, a, args=(a,)).integral)
one("integrate.nsum", lambda f, a: f(lambda k, a: 1.0 / (k * k + a), 1.0, np.inf, args=(a,)).sum)
one("linalg.block_diag", lambda f, a, b: f(a, b), signed(2, 2), signed(1, 3))
one("linalg.fiedler", lambda f, x: f(x))
one("linalg.orthogonal_procrustes", lambda f, a, b: f(a, b), signed(3, 3), signed(3, 3, seed=1))
plain("optimize", "rosen rosen_der rosen_hess")
one("optimize.rosen_hess_prod", lambda f, x, p: f(x, p), X, signed(5))
one("optimize.elementwise.find_root", lambda f, a: f(lambda x, a: x * x - a, (a * 0.0, a + 1.0), args=(a,)).x)
one(
    "optimize.elementwise.find_minimum",
    lambda f, a: f(lambda x, a: (x - a) ** 2, (a - 2.0, a - 0.3, a + 1.0), args=(a,)).x,
)
one("optimize.elementwise.bracket_root", lambda f, a: f(lambda x, a: x * x - a, a * 0.1, args=(a,)).bracket)
one("optimize.elementwise.bracket_minimum", lambda f, a: f(lambda x, a: (x - a) ** 2, a * 0.1, args=(a,)).bracket)

# fft
plain("fft", "fft ifft fftshift ifftshift hfft ihfft rfft dct idct dst idst")
plain("fft", "fft2 ifft2 fftn ifftn rfft2 rfftn ihfft2 ihfftn dctn idctn dstn idstn", signed(4, 4))
plain("fft", "irfft irfft2 irfftn hfft2 hfftn", signed(4, 4) + 1j * signed(4, 4, seed=1))
one("fft.fht", lambda f, x: f(x, 0.1, 0.5), positive(8))
one("fft.ifht", lambda f, x: f(x, 0.1, 0.5), positive(8))

# special: elementwise functions of one, two and three numbers
ONE = (
    "cbrt cosdg cosm1 cotdg digamma ellipk ellipkm1 entr erf erfc erfcx erfinv exp1 exp10 exp2 expi expit exprel gamma "
    "gammaln i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e log_ndtr loggamma logit ndtr ndtri psi rgamma sinc sindg spence "
    "tandg y0 y1"
)
plain("special", ONE, unit(5))
plain("special", "log_softmax logsumexp softmax")
plain("special", "betaln binom poch", positive(4, low=1.2), positive(4, low=1.2, seed=1))
plain("special", "gammainc gammaincc chdtr chdtrc stdtr", X, call=lambda f, x: f(1.7, x))
plain(
    "special",
    "boxcox boxcox1p huber inv_boxcox inv_boxcox1p kl_div pseudo_huber rel_entr xlog1py xlogy",
    X,
    positive(5, seed=1),
)
plain("special", "betainc betaincc betaincinv", unit(3), call=lambda f, x: f(1.3, 0.8, x))
plain("special", "gammaincinv gammainccinv pdtri stdtrit chdtri", unit(3), call=lambda f, p: f(2.0, p))
plain("special", "fdtr fdtrc gdtr gdtrc hyp1f1", positive(3, low=1.0), positive(3, low=1.0, seed=1), X[:3])
plain("special", "pdtr pdtrc", X[:3], positive(3, seed=1))
one("special.expn", lambda f, x: f(2, x))
one("special.yn", lambda f, x: f(2, x))
one("special.multigammaln", lambda f, x: f(x, 2), positive(3, low=1.2))
one("special.polygamma", lambda f, x: f(1, x))
one("special.zeta", lambda f, q: f(2.5, q), positive(3, low=1.5))
one("special.zetac", lambda f, x: f(x), positive(3, low=1.5))
one("special.radian", lambda f, x: f(x, 1.0, 2.0))

# stats
plain(
    "stats",
    "describe differential_entropy entropy gmean gstd gzscore hmean iqr jarque_bera kurtosis",
    signed(20) ** 2 + 0.1,
)
plain(
    "stats",
    "kurtosistest median_abs_deviation normaltest sem skew skewtest tmean tstd tvar tsem variation zscore",
    signed(20) ** 2 + 0.1,
)
plain("stats", "circmean circstd circvar", positive(6, low=0.1, high=1.5))
plain("stats", "rankdata mode tmin tmax sigmaclip", X)
one("stats.boxcox_llf", lambda f, x: f(0.7, x))
one("stats.yeojohnson_llf", lambda f, x: f(0.7, x))
one("stats.kstat", lambda f, x: f(x, 3))
one("stats.kstatvar", lambda f, x: f(x, 2))
one("stats.lmoment", lambda f, x: f(x))
one("stats.moment", lambda f, x: f(x, 3))
one("stats.pmean", lambda f, x: f(x, 3.0))
one("stats.quantile", lambda f, x, p: f(x, p), X, unit(2))
one("stats.trim_mean", lambda f, x: f(x, 0.2))
one("stats.zmap", lambda f, a, b: f(a, b), X, positive(6))
one("stats.combine_pvalues", lambda f, p: f(p), unit(4))
one("stats.false_discovery_control", lambda f, p: f(p), unit(4))
one("stats.directional_stats", lambda f, x: f(x).mean_direction, signed(4, 3))
one("stats.ttest_1samp", lambda f, x: f(x, 1.0))
one("stats.ttest_ind", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.ttest_rel", lambda f, a, b: f(a, b), X, positive(5, seed=1))
one("stats.ttest_ind_from_stats", lambda f, m, s: f(m, s, 10.0, 0.0, 1.0, 12.0), np.asarray(0.3), np.asarray(1.2))
one("stats.f_oneway", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.alexandergovern", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.bartlett", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.levene", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.fligner", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.mood", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.ansari", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.kruskal", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.mannwhitneyu", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.brunnermunzel", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.wilcoxon", lambda f, a: f(a), signed(8))
one("stats.cramervonmises", lambda f, x: f(x, lambda t: t / 3.0))
one("stats.cramervonmises_2samp", lambda f, a, b: f(a, b), X, positive(6, seed=1))
one("stats.ks_1samp", lambda f, x: f(x, lambda t: t / 3.0))
one("stats.epps_singleton_2samp", lambda f, a, b: f(a, b), positive(8), positive(9, seed=1))
one("stats.friedmanchisquare", lambda f, a, b, c: f(a, b, c), X, positive(5, seed=1), positive(5, seed=2))
one("stats.pearsonr", lambda f, a, b: f(a, b), X, positive(5, seed=1))
one("stats.spearmanrho", lambda f, a, b: f(a, b), X, positive(5, seed=1))
one("stats.chatterjeexi", lambda f, a, b: f(a, b), X, positive(5, seed=1))
one("stats.chisquare", lambda f, x: f(x))
one("stats.power_divergence", lambda f, x: f(x, lambda_=0.5))

# signal
plain("signal", "detrend envelope hilbert medfilt", signed(8))
plain("signal", "hilbert2 medfilt2d wiener", signed(6, 6))
plain("signal", "convolve correlate fftconvolve oaconvolve", signed(6), signed(3))
plain("signal", "convolve2d correlate2d", signed(4, 4), signed(2, 2))
plain("signal", "freqs freqz", positive(3), positive(3, seed=1), call=lambda f, b, a: f(b, a, beside(a, [0.1, 0.7]))[1])
plain("signal", "tf2zpk tf2sos", positive(3), positive(3, seed=1))
plain("signal", "zpk2tf", unit(2), unit(2, seed=1), call=lambda f, z, p: f(z, p, 2.0))
plain("signal", "bilinear", positive(2), positive(3))
plain("signal", "lp2lp lp2hp lp2bp lp2bs", positive(2), positive(3))
plain("signal", "abcd_normalize", signed(2, 2), signed(2, 1), call=lambda f, a, b: f(a, b, a[:1, :], b[:1, :]))
one("signal.deconvolve", lambda f, y, b: f(y, b), signed(6), positive(3))
one("signal.decimate", lambda f, x: f(x, 2, ftype="fir"), signed(40))
one("signal.filtfilt", lambda f, x: f(beside(x, [0.5, 0.5]), beside(x, [1.0, 0.2]), x), signed(20))
one("signal.lfilter", lambda f, b, x: f(b, beside(x, [1.0]), x), positive(3), signed(8))
one("signal.sosfilt", lambda f, x: f(beside(x, [[1.0, 0.5, 0.2, 1.0, 0.1, 0.05]]), x), signed(8))
one("signal.resample", lambda f, x: f(x, 12), signed(8))
one("signal.resample_poly", lambda f, x: f(x, 3, 2), signed(8))
one("signal.upfirdn", lambda f, h, x: f(h, x, 2, 1), positive(3), signed(6))
one("signal.savgol_filter", lambda f, x: f(x, 5, 2), signed(12))
one("signal.minimum_phase", lambda f, h: f(h), positive(9))
one("signal.vectorstrength", lambda f, x: f(x, 1.7))
one("signal.order_filter", lambda f, x: f(x, beside(x, [1.0, 1.0, 1.0]), 1), signed(8))
one("signal.sosfiltfilt", lambda f, x: f(beside(x, [[1.0, 0.5, 0.2, 1.0, 0.1, 0.05]]), x), signed(20))
one("signal.normalize", lambda f, b, a: f(b, a), positive(2), positive(3))
one("signal.cspline1d", lambda f, x: f(x), signed(8))
one("signal.gauss_spline", lambda f, x: f(x, 3), signed(5))

# ndimage: all of it is compiled; a few of each kind
plain("ndimage", "gaussian_filter uniform_filter median_filter zoom shift", signed(5, 5), call=lambda f, x: f(x, 2))
plain("ndimage", "laplace sobel spline_filter sum mean variance maximum center_of_mass label", signed(5, 5))
one("ndimage.convolve", lambda f, x, w: f(x, w), signed(5, 5), signed(3, 3))
one("ndimage.map_coordinates", lambda f, x, c: f(x, c), signed(5, 5), positive(2, 3))
one("ndimage.rotate", lambda f, x: f(x, 20.0), signed(5, 5))
one("ndimage.affine_transform", lambda f, x, m: f(x, m), signed(5, 5), signed(2, 2))
one("ndimage.vectorized_filter", lambda f, x: f(x, lambda w, axis: (w * w).sum(axis=axis), size=3), signed(6))

# interpolate: objects of compiled code
one("interpolate.CubicSpline", lambda f, y: f(beside(y, np.arange(5.0)), y)(beside(y, [2.5])))
one("interpolate.PchipInterpolator", lambda f, y: f(beside(y, np.arange(5.0)), y)(beside(y, [2.5])))
one("interpolate.make_interp_spline", lambda f, y: f(beside(y, np.arange(5.0)), y)(beside(y, [2.5])))
one("interpolate.RegularGridInterpolator", lambda f, y: f((beside(y, np.arange(5.0)),), y)(beside(y, [[2.5]])))

# cluster
one("cluster.vq.whiten", lambda f, x: f(x), signed(5, 2))
one("cluster.vq.vq", lambda f, x, c: f(x, c), signed(5, 2), signed(2, 2))
one("cluster.vq.kmeans", lambda f, x: f(x, 2, rng=0), signed(6, 2))
one("cluster.hierarchy.linkage", lambda f, x: f(x), signed(5, 2))

# spatial.transform
QUATERNION = np.array([0.1, 0.2, 0.3, 0.9])
one("spatial.transform.Rotation.from_quat", lambda f, q: f(q).as_matrix(), QUATERNION)
one("spatial.transform.Rotation.from_rotvec", lambda f, v: f(v).as_matrix(), positive(3))
one("spatial.transform.Rotation.from_matrix", lambda f, m: f(m).as_quat(), np.eye(3) + 0.0)
one("spatial.transform.Rotation.from_euler", lambda f, a: f("xyz", a).as_quat(), positive(3, high=1.0))
one("spatial.transform.Rotation.from_mrp", lambda f, v: f(v).as_matrix(), positive(3, high=0.8))
one("spatial.transform.Rotation.from_davenport", lambda f, a: f(np.eye(3), "e", a).as_matrix(), positive(3, high=1.0))
ROTATION = "spatial.transform.Rotation"
one(f"{ROTATION}.apply", lambda f, q, v: f(_rotation(q), v), QUATERNION, signed(3))
one(f"{ROTATION}.as_rotvec", lambda f, q: f(_rotation(q)), QUATERNION)
one(f"{ROTATION}.as_euler", lambda f, q: f(_rotation(q), "xyz"), QUATERNION)
one(f"{ROTATION}.as_mrp", lambda f, q: f(_rotation(q)), QUATERNION)
one(f"{ROTATION}.magnitude", lambda f, q: f(_rotation(q)), QUATERNION)
one(f"{ROTATION}.inv", lambda f, q: f(_rotation(q)).as_quat(), QUATERNION)
one(f"{ROTATION}.mean", lambda f, q: f(_rotation(q)).as_quat(), np.stack([QUATERNION, QUATERNION[::-1]]))
one("spatial.transform.RigidTransform.from_translation", lambda f, t: f(t).as_matrix(), positive(3))
one("spatial.transform.RigidTransform.from_exp_coords", lambda f, t: f(t).as_matrix(), positive(6))
one(
    "spatial.transform.Slerp",
    lambda f, q: f([0.0, 1.0], _rotation(q))(0.4).as_quat(),
    np.stack([QUATERNION, QUATERNION[::-1]]),
)


def _rotation(q):
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q)


# scikit-learn, with array_api_dispatch=True
ROWS, OTHERS = positive(5, 3), positive(4, 3, seed=1)
KERNELS = (
    "additive_chi2_kernel chi2_kernel cosine_distances cosine_similarity euclidean_distances laplacian_kernel "
    "linear_kernel manhattan_distances polynomial_kernel rbf_kernel sigmoid_kernel"
)
plain("sklearn.metrics.pairwise", KERNELS, ROWS, OTHERS)
plain("sklearn.metrics.pairwise", "paired_cosine_distances paired_euclidean_distances", OTHERS, positive(4, 3, seed=2))
plain("sklearn.metrics", "mean_squared_error mean_absolute_error r2_score", X, positive(5, seed=1))
TRANSFORMERS = "KernelCenterer MaxAbsScaler MinMaxScaler Normalizer PolynomialFeatures"
for _name in TRANSFORMERS.split():
    _arrays = (positive(4, 4),) if _name == "KernelCenterer" else (ROWS,)
    one(f"sklearn.preprocessing.{_name}", lambda f, x: f().fit_transform(x), *_arrays)
one("sklearn.preprocessing.StandardScaler", lambda f, x: _masked(f().fit_transform, x), ROWS)
one("sklearn.preprocessing.normalize", lambda f, x: f(x), ROWS)
one("sklearn.preprocessing.scale", lambda f, x: f(x), ROWS)
one("sklearn.decomposition.PCA", lambda f, x: f(2, svd_solver="full").fit_transform(x) ** 2, ROWS)
one("sklearn.linear_model.Ridge", lambda f, x, y: f(solver="svd").fit(x, y).coef_, ROWS, X)
one("sklearn.linear_model.LinearRegression", lambda f, x, y: f().fit(x, y).coef_, ROWS, X)
one("sklearn.covariance.empirical_covariance", lambda f, x: f(x), ROWS)


def _masked(f, x):
    """f(x) where it computes 0 / 0 on the way and then chooses something else."""
    with ag.zero_annihilates():
        return f(x)


# The rest of what SciPy lists, called as simply as it can be: nearly all of it is compiled.
IMAGE = signed(5, 5)
plain(
    "ndimage",
    "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening",
    IMAGE,
)
plain("ndimage", "distance_transform_bf distance_transform_cdt distance_transform_edt extrema", IMAGE)
plain("ndimage", "maximum_position median minimum minimum_position prewitt spline_filter1d standard_deviation", IMAGE)
plain("ndimage", "generic_gradient_magnitude", IMAGE, call=lambda f, x: f(x, _laplace))
one("ndimage.sum_labels", lambda f, x: f(x), IMAGE)
plain(
    "ndimage",
    "black_tophat grey_closing grey_dilation grey_erosion grey_opening maximum_filter",
    IMAGE,
    call=lambda f, x: f(x, 3),
)
plain(
    "ndimage",
    "minimum_filter morphological_gradient morphological_laplace white_tophat",
    IMAGE,
    call=lambda f, x: f(x, 3),
)
plain("ndimage", "gaussian_filter1d gaussian_gradient_magnitude gaussian_laplace", IMAGE, call=lambda f, x: f(x, 1.5))
plain("ndimage", "maximum_filter1d minimum_filter1d uniform_filter1d", IMAGE, call=lambda f, x: f(x, 3))
plain("ndimage", "fourier_ellipsoid fourier_gaussian fourier_shift fourier_uniform", IMAGE, call=lambda f, x: f(x, 0.5))
plain("ndimage", "percentile_filter rank_filter", IMAGE, call=lambda f, x: f(x, 1, 3))
plain("ndimage", "convolve1d correlate1d", IMAGE, positive(3))
plain("ndimage", "correlate", IMAGE, positive(3, 3))
one("ndimage.binary_propagation", lambda f, x: f(x), IMAGE)
one("ndimage.generic_filter", lambda f, x: f(x, np.sum, 3), IMAGE)
one("ndimage.generic_filter1d", lambda f, x: f(x, _laplace, 3), IMAGE)
one("ndimage.generic_laplace", lambda f, x: f(x, _laplace), IMAGE)
one("ndimage.geometric_transform", lambda f, x: f(x, lambda at: at), IMAGE)
one("ndimage.histogram", lambda f, x: f(x, 0.0, 1.0, 3), IMAGE)
one("ndimage.labeled_comprehension", lambda f, x: f(x, None, None, np.sum, float, 0.0), IMAGE)
one("ndimage.iterate_structure", lambda f, x: f(x, 2), IMAGE)
one("ndimage.find_objects", lambda f, x: f(x), IMAGE)
one("ndimage.value_indices", lambda f, x: f(x), IMAGE)
one("ndimage.watershed_ift", lambda f, x, m: f(x, m), IMAGE, IMAGE)

DISTANCES = positive(6)  # between four points
LINKS = np.array([[0.0, 1.0, 0.3, 2.0], [2.0, 3.0, 0.4, 2.0], [4.0, 5.0, 0.9, 4.0]])
plain("cluster.hierarchy", "average centroid complete median single ward weighted", DISTANCES)
plain(
    "cluster.hierarchy",
    "cophenet inconsistent leaves_list maxdists num_obs_linkage is_monotonic is_valid_linkage",
    LINKS,
)
plain("cluster.hierarchy", "dendrogram is_valid_im", LINKS)
plain("cluster.hierarchy", "fcluster", LINKS, call=lambda f, z: f(z, 0.5))
plain("cluster.hierarchy", "fclusterdata", signed(5, 2), call=lambda f, x: f(x, 0.5))
plain("cluster.hierarchy", "optimal_leaf_ordering correspond", LINKS, DISTANCES)
plain("cluster.hierarchy", "maxinconsts", LINKS, LINKS)
plain("cluster.hierarchy", "maxRstat", LINKS, LINKS, call=lambda f, a, b: f(a, b, 1))
one("cluster.vq.kmeans2", lambda f, x: f(x, 2, rng=0), signed(6, 2))

GRID = np.arange(5.0)
one("interpolate.Akima1DInterpolator", lambda f, y: f(beside(y, GRID), y)(beside(y, [2.5])))
one("interpolate.BPoly", lambda f, c: f(c, beside(c, [0.0, 1.0, 2.0]))(beside(c, [0.5])), signed(3, 2))
one("interpolate.PPoly", lambda f, c: f(c, beside(c, [0.0, 1.0, 2.0]))(beside(c, [0.5])), signed(3, 2))
one(
    "interpolate.BSpline",
    lambda f, c: f(beside(c, [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0]), c, 2)(beside(c, [0.5])),
    signed(4),
)
one("interpolate.NdBSpline", lambda f, c: f((beside(c, np.arange(8.0)),), c, k=2)(beside(c, [[3.5]])), signed(5))
one("interpolate.CubicHermiteSpline", lambda f, y: f(beside(y, GRID), y, y * 0.0)(beside(y, [2.5])))
one("interpolate.make_smoothing_spline", lambda f, y: f(beside(y, GRID), y)(beside(y, [2.5])))
one("interpolate.make_splrep", lambda f, y: f(beside(y, GRID), y)(beside(y, [2.5])))
one("interpolate.make_splprep", lambda f, y: f(y)[1], positive(2, 5))
one("interpolate.generate_knots", lambda f, y: list(f(beside(y, GRID), y)))
one(
    "interpolate.make_lsq_spline",
    lambda f, y: f(beside(y, GRID), y, beside(y, [0.0, 0.0, 2.0, 4.0, 4.0]), k=1)(beside(y, [2.5])),
)

ZEROS, POLES = positive(2), positive(2, seed=1)
plain("signal", "lp2bp_zpk lp2bs_zpk lp2hp_zpk lp2lp_zpk zpk2sos", ZEROS, POLES, call=lambda f, z, p: f(z, p, 2.0))
plain("signal", "bilinear_zpk", ZEROS, POLES, call=lambda f, z, p: f(z, p, 2.0, 10.0))
plain("signal", "freqs_zpk freqz_zpk", ZEROS, POLES, call=lambda f, z, p: f(z, p, 2.0, beside(z, [0.1, 0.7]))[1])
SECTIONS = np.array([[1.0, 0.5, 0.2, 1.0, 0.1, 0.05]])
plain("signal", "freqz_sos sosfreqz", SECTIONS[:, :3], call=lambda f, b: f(_sections(b), beside(b, [0.1, 0.7]))[1])
plain("signal", "sos2tf sos2zpk sosfilt_zi", SECTIONS)
plain("signal", "lfilter_zi lfiltic", positive(3), positive(3, seed=1), call=lambda f, b, a: f(b, a, *_state(f, a)))
plain(
    "signal", "group_delay", positive(3), positive(3, seed=1), call=lambda f, b, a: f((b, a), beside(a, [0.1, 0.7]))[1]
)
plain("signal", "qspline1d", signed(8))
plain("signal", "cspline1d_eval qspline1d_eval", signed(8), call=lambda f, c: f(c, beside(c, [2.5])))
plain("signal", "cspline2d spline_filter", signed(6, 6))
plain("signal", "firwin", np.asarray(0.3), call=lambda f, c: f(5, c))
plain("signal", "firls firwin2 remez", unit(2), call=lambda f, g: f(5, beside(g, [0.0, 1.0]), g, fs=2.0))
plain("signal", "choose_conv_method", signed(6), signed(3))
plain("signal", "place_poles", signed(2, 2), signed(2, 1), call=lambda f, a, b: f(a, b, beside(a, [-1.0, -2.0])))

plain("special", "bdtr bdtrc bdtri nbdtr nbdtrc nbdtri", unit(3), call=lambda f, p: f(2.0, 5.0, p))
one("special.fdtri", lambda f, p: f(2.0, 5.0, p), unit(3))
one("special.gammasgn", lambda f, x: f(x), signed(5))
one("special.lpmv", lambda f, x: f(1.0, 2.0, x), unit(3))

one("fft.fftfreq", lambda f, d: f(5, d), np.asarray(0.3))
one("fft.rfftfreq", lambda f, d: f(5, d), np.asarray(0.3))

# Functions that SciPy lists, but that take no array to differentiate in: why.
_WHOLE = "takes whole numbers: links of a tree, labels"
_DESIGN = "designs a filter or window from Python numbers"
_RANDOM = "draws random numbers, so that a finite difference means nothing"
NOT_SAMPLED = {
    **dict.fromkeys(
        [
            f"cluster.hierarchy.{name}"
            for name in "from_mlab_linkage is_isomorphic leaders to_mlab_linkage to_tree".split()
        ],
        _WHOLE,
    ),
    **dict.fromkeys(
        (
            *(
                f"signal.{name}"
                for name in (
                    "bessel besselap bode buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 cheby2 ellip "
                    "ellipap ellipord gammatone get_window iircomb iirdesign iirfilter iirnotch iirpeak impulse "
                    "savgol_coeffs"
                ).split()
            ),
            *(
                f"signal.windows.{name}"
                for name in (
                    "barthann bartlett blackman blackmanharris bohman boxcar chebwin cosine exponential flattop "
                    "gaussian general_cosine general_gaussian general_hamming get_window hamming hann kaiser "
                    "kaiser_bessel_derived lanczos nuttall parzen taylor triang tukey"
                ).split()
            ),
        ),
        _DESIGN,
    ),
    **dict.fromkeys(
        ("integrate.qmc_quad", "stats.bootstrap", "stats.monte_carlo_test", "stats.permutation_test", "stats.power"),
        _RANDOM,
    ),
}


def _sections(b):
    """Second-order sections with numerators b: SciPy wants the fourth column to be all ones."""
    return b.__array_namespace__().concat([b, beside(b, [[1.0, 0.1, 0.05]])], axis=1)


def _laplace(x, *args, **kwargs):
    return x


def _state(f, a):
    return (beside(a, [0.5, 0.2]),) if f.__name__ == "lfiltic" else ()
