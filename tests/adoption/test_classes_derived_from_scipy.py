"""Classes that a program derives from SciPy's and NumPy's, in adopted calls: Note [Methods that a class is asked for].

The class: bases that adoption exchanges (interpolants, densities, trees, sparse matrices, operators, poly1d) x how a
derived class calls its base (by name, by a name of the module, by super) x where its object is made (in the call,
before). With plain data such an object is what it is in a plain call, and the base itself is differentiated as before.

Imports the public names of arraygrad.
"""

import numpy as np
import pytest

import arraygrad as ag

BASES = {  # module and class; parameters; what is asked of the object; the same of the module, recorded in x
    "CubicSpline": ("interpolate.CubicSpline", "A, Y", "{base}__call__({me}1.5) + {base}derivative({me})(0.5)",
                    lambda s, x: s.interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2 * x)(1.5)),
    "interp1d": ("interpolate.interp1d", "A, Y", "{base}__call__({me}1.5)",
                 lambda s, x: s.interpolate.interp1d(np.arange(4.0), np.arange(4.0) ** 2 * x)(1.5)),
    "PPoly": ("interpolate.PPoly", "np.ones((2, 3)), A", "{base}integrate({me}0.0, 2.0)",
              lambda s, x: s.interpolate.PPoly(np.ones((2, 3)) * x, np.arange(4.0)).integrate(0.0, 2.0)),
    "gaussian_kde": ("stats.gaussian_kde", "Y", "{base}evaluate({me}1.0)[0]",
                     lambda s, x: s.stats.gaussian_kde(np.arange(4.0) ** 2 * x)(1.0)[0]),
    "KDTree": ("spatial.KDTree", "np.eye(3)", "{base}query({me}np.ones(3))[0]",
               lambda s, x: s.spatial.KDTree(np.eye(3)).query(np.ones(3) * x)[0]),
    "csr_matrix": ("sparse.csr_matrix", "np.eye(3)", "{base}sum({me[:-2]})",
                   lambda s, x: s.sparse.csr_matrix(np.eye(3) * x).sum()),
    "csr_array": ("sparse.csr_array", "np.eye(3)", "{base}dot({me}np.ones(3)).sum()",
                  lambda s, x: s.sparse.csr_array(np.eye(3) * x).sum()),
    "RegularGridInterpolator": ("interpolate.RegularGridInterpolator", "(A,), Y", "{base}__call__({me}[1.5])[0]",
                                lambda s, x: s.interpolate.RegularGridInterpolator((np.arange(4.0),), np.arange(4.0) * x
                                                                                   )([1.5])[0]),
}  # fmt: skip
CALLED = {
    "by name": ("from scipy.{module} import {cls}", "{cls}", "{cls}.", "self, "),
    "by the module": ("import scipy.{module}", "scipy.{module}.{cls}", "scipy.{module}.{cls}.", "self, "),
    "by super": ("from scipy import {module}", "{module}.{cls}", "super().", ""),
}


def derived(path, called):
    """(head of a program with a class Mine derived from one of SciPy's, that one, how its methods are called)."""
    module, cls = path.split(".")
    import_, base, prefix, me = (part.format(module=module, cls=cls) for part in CALLED[called])
    head = f"""
        import numpy as np
        {import_}
        A = np.arange(4.0)
        Y = np.array([0.0, 1.0, 2.0, 1.0])
        class Mine({base}):
            def __init__(self, *given):
                {prefix}__init__({me}*given)"""
    return head, base, prefix, me


@pytest.mark.parametrize("where", ["in the call", "before"])
@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("case", BASES)
def test_with_plain_data_it_is_what_it_is_in_a_plain_call(program, case, called, where):
    scipy = pytest.importorskip("scipy")
    path, given, asked, recorded = BASES[case]
    head, base, prefix, me = derived(path, called)
    asked = asked.replace("{me[:-2]}", me[:-2]).format(base=prefix, me=me)
    source = f"""{head}
            def asked(self):
                return {asked}
        def make():
            return Mine({given})
        BEFORE = make()
        def f(x):
            mine = {"make()" if where == "in the call" else "BEFORE"}
            assert isinstance(mine, {base})
            return float(mine.asked()) * x
        """
    run = program(derivedofscipy=source).f
    slope = run(1.0)
    assert ag.grad(run)(3.0) == pytest.approx(slope, rel=1e-13)
    assert run(1.0) == slope
    h = 1e-6
    difference = (recorded(scipy, 1.3 + h) - recorded(scipy, 1.3 - h)) / (2 * h)
    assert ag.grad(lambda x: recorded(scipy, x))(1.3) == pytest.approx(float(difference), rel=1e-6)


def test_of_numpy(program):
    run = program(
        derivedofnumpy="""
        import numpy as np
        class Mine(np.poly1d):
            def __init__(self, c):
                np.poly1d.__init__(self, c)
            def at(self, x):
                return np.poly1d.__call__(self, x)
        def f(x):
            return Mine([1.0, 2.0]).at(2.0) * x + np.poly1d([x, 1.0])(2.0)
        """
    ).f
    assert ag.grad(run)(3.0) == pytest.approx(6.0, rel=1e-14)


KEPT = {
    "CubicSpline": ("interpolate.CubicSpline", "A, Y * x", "1.5"),
    "interp1d": ("interpolate.interp1d", "A, Y * x", "1.5"),
    "PPoly": ("interpolate.PPoly", "np.ones((2, 3)) * x, A", "1.5"),
    "gaussian_kde": ("stats.gaussian_kde", "Y * x", "1.0"),
    "CubicSpline at x": ("interpolate.CubicSpline", "A, Y", "x"),
    "PPoly at x": ("interpolate.PPoly", "np.ones((2, 3)), A", "x"),
}


@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("case", KEPT)
def test_with_recorded_data_it_is_refused_and_an_attribute_is_a_way_out(program, case, called):
    pytest.importorskip("scipy")
    path, given, at = KEPT[case]
    cls = path.partition(".")[2]
    head, base, _, _ = derived(path, called)
    run = program(
        keptofscipy=f"""{head}
        class Keeps:
            def __init__(self, *given):
                self.kept = {base}(*given)
            def __call__(self, at):
                return self.kept(at)
        def f(x):
            return np.sum(Mine({given})({at}))
        def g(x):
            return np.sum(Keeps({given})({at}))
        """
    )
    with pytest.raises(
        TypeError, match=rf"keptofscipy\.py:\d+, in .*derived from scipy\.{path} .*keeps a {cls}\("
    ) as error:
        ag.grad(run.f)(1.3)
    assert "A list that holds" not in str(error.value)
    h = 1e-5
    difference = (run.f(1.3 + h) - run.f(1.3 - h)) / (2 * h)
    assert ag.grad(run.g)(1.3) == pytest.approx(difference, rel=1e-7)
