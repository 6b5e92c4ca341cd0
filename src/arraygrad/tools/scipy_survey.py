"""The survey of SciPy's public names: which have a derivative, and which of these `arraygrad.scipy` differentiates.

May import: scipy (the room), importlib, inspect. Names are those of the installed SciPy's modules. What takes no real
arrays and what has no derivative is declared here with the reason; everything else that is neither differentiated nor
declared constant counts as refused, whether a rule says so or nobody has looked at it.
"""

import importlib
import inspect
from dataclasses import dataclass, field

__all__ = ["SURVEYED", "Survey", "survey"]

_INTEGERS = "integers determine them"
_SETTINGS = "settings, errors, descriptions of methods"
_RANDOM = "random: it draws samples"
_STEPS = "the steps of a solver, or an approximation that a search makes of them"
_SEARCH = "a step of a search, on which what is found does not depend"

# Module -> reason -> names that take no real arrays.
TAKES_NONE = {
    "special": {
        _INTEGERS: """ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros kei_zeros keip_zeros ker_zeros
            kerp_zeros kelvin_zeros erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros jn_zeros jnp_zeros jnyn_zeros
            jnjnp_zeros yn_zeros ynp_zeros y0_zeros y1_zeros y1p_zeros bernoulli euler stirling2 factorial2 factorialk
            roots_legendre roots_chebyt roots_chebyu roots_chebyc roots_chebys roots_laguerre roots_hermite
            roots_hermitenorm roots_sh_legendre roots_sh_chebyt roots_sh_chebyu p_roots t_roots u_roots c_roots s_roots
            l_roots h_roots he_roots ps_roots ts_roots us_roots""",
        _SETTINGS: "geterr seterr errstate",
    },
    "stats": {
        _INTEGERS: """hypergeom nhypergeom randint multivariate_hypergeom random_table fisher_exact barnard_exact
            boschloo_exact""",
        _SETTINGS: "BootstrapMethod MonteCarloMethod PermutationMethod",
        "containers of data, without values of their own": "CensoredData",
        "classes to make a distribution of": "rv_continuous rv_discrete make_distribution",
        "of random variables as objects": "abs exp log truncate order_statistic",
        _RANDOM: "ortho_group special_ortho_group unitary_group random_correlation uniform_direction",
    },
    "fft": {_SETTINGS: "set_backend skip_backend set_global_backend register_backend set_workers get_workers"},
    "linalg": {
        _INTEGERS: "dft hadamard helmert hilbert invhilbert pascal invpascal",
        _SETTINGS: "find_best_blas_type get_blas_funcs get_lapack_funcs",
    },
    "signal": {_INTEGERS: "buttap besselap max_len_seq unit_impulse correlation_lags"},
    "integrate": {
        _INTEGERS: "lebedev_rule",
        _STEPS: "OdeSolver OdeSolution DenseOutput RK23 RK45 DOP853 Radau BDF LSODA ode complex_ode",
    },
    "optimize": {
        _SETTINGS: "Bounds LinearConstraint NonlinearConstraint OptimizeResult RootResults show_options "
                   "linprog_verbose_callback",
        _STEPS: "BFGS SR1 HessianUpdateStrategy BroydenFirst InverseJacobian KrylovJacobian LbfgsInvHessProduct",
    },
    "interpolate": {_SETTINGS: "BivariateSpline interp2d"},
    "ndimage": {_INTEGERS: "generate_binary_structure iterate_structure"},
    "spatial": {_SETTINGS: "Rectangle convex_hull_plot_2d delaunay_plot_2d voronoi_plot_2d"},
    "spatial.distance": {},
    "sparse": {
        _INTEGERS: "eye eye_array identity",
        _RANDOM: "random random_array rand",
        _SETTINGS: "spmatrix sparray get_index_dtype safely_cast_index_arrays",
        "files": "load_npz save_npz",
    },
    "sparse.linalg": {_INTEGERS: "LaplacianNd", _SETTINGS: "use_solver"},
}  # fmt: skip

# Module -> reason -> names that take real arrays and have no derivative that is not zero.
HAS_NONE = {
    "special": {},
    "stats": {
        _RANDOM: "bootstrap permutation_test monte_carlo_test power goodness_of_fit dunnett multiscale_graphcorr",
        "counts, or values that jump": "cumfreq relfreq mode",
    },
    "linalg": {
        "one of many bases of a space": "null_space orth",
        _RANDOM: "clarkson_woodruff_transform",
    },
    "signal": {"counts, or values that jump": "unique_roots"},
    "integrate": {},
    "optimize": {_SEARCH: "bracket line_search check_grad", "counts, or values that jump": "milp"},
    "interpolate": {"counts, or values that jump": "generate_knots"},
    "spatial": {"counts, or values that jump": "Delaunay"},
}  # fmt: skip

SURVEYED = tuple(TAKES_NONE)


@dataclass
class Survey:
    """Names of one module by what becomes of a gradient.

    Attributes
    ----------
    none : dict of str to list of str
        Names that take no real arrays, by reason.
    without : dict of str to list of str
        Names that have no derivative, by reason.
    constant, differentiated, refused : list of str
    """

    module: str
    none: dict = field(default_factory=dict)
    without: dict = field(default_factory=dict)
    constant: list = field(default_factory=list)
    differentiated: list = field(default_factory=list)
    refused: list = field(default_factory=list)

    @property
    def public(self):
        return self.real + sum(map(len, self.none.values()))

    @property
    def real(self):
        """How many take real arrays."""
        return self.with_derivative + len(self.constant) + sum(map(len, self.without.values()))

    @property
    def with_derivative(self):
        return len(self.differentiated) + len(self.refused)

    @property
    def share(self):
        """The part of those with a derivative that is differentiated."""
        return len(self.differentiated) / max(self.with_derivative, 1)


def _is_name(value):
    error = isinstance(value, type) and issubclass(value, (Exception, Warning))
    return not inspect.ismodule(value) and not error


def survey(module):
    """The `Survey` of a module of SciPy, by its dotted name below scipy."""
    from arraygrad.scipy._declare import REGISTRY

    theirs = importlib.import_module(f"scipy.{module}")
    importlib.import_module(f"arraygrad.scipy.{module}")
    found = Survey(module)
    reasons = {}
    for kind, table in (("none", TAKES_NONE), ("without", HAS_NONE)):
        for reason, names in table.get(module, {}).items():
            reasons.update(dict.fromkeys(names.split(), (kind, reason)))
    for name in dict.fromkeys(theirs.__all__):  # some stand twice
        if name.startswith("_") or not _is_name(getattr(theirs, name)):
            continue
        rules = [
            rule for key, rule in REGISTRY.items() if key == f"{module}.{name}" or key.startswith(f"{module}.{name}.")
        ]
        if name in reasons:
            kind, reason = reasons[name]
            getattr(found, kind).setdefault(reason, []).append(name)
        elif any(rule.of for rule in rules):
            found.differentiated.append(name)
        elif rules and all(rule.constant for rule in rules):
            found.constant.append(name)
        else:
            found.refused.append(name)
    return found
