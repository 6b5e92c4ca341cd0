"""lmfit: a fit with bounds, whose Jacobian is exact. Needs lmfit.

lmfit's leastsq asks `Dfun` for the derivatives by the parameters that vary, as columns, and scales them for bounds
itself.
"""

import lmfit
import numpy as np

import arraygrad as ag

TRUTH = {"height": 2.0, "rate": 3.0, "offset": 0.5}
t = np.linspace(0.0, 1.0, 40)
data = TRUTH["height"] * np.exp(-TRUTH["rate"] * t) + TRUTH["offset"]


def model(values, t):
    return values["height"] * np.exp(-values["rate"] * t) + values["offset"]


def residuals(params):
    return model(params.valuesdict(), t) - data


def columns(params):
    """The Jacobian of the residuals: of a dict of numbers, a dict of columns."""
    by_name = ag.jacfwd(lambda values: model(values, t))(dict(params.valuesdict()))
    return np.stack([by_name[name] for name in params if params[name].vary], axis=1)


def fit(jacobian=columns):
    params = lmfit.Parameters()
    params.add("height", value=1.0, min=0.0)
    params.add("rate", value=1.0, min=0.0, max=20.0)
    params.add("offset", value=0.0)
    return lmfit.minimize(residuals, params, method="leastsq", Dfun=jacobian)


if __name__ == "__main__":
    result = fit()
    print({name: round(value, 6) for name, value in result.params.valuesdict().items()})
    print(f"{result.nfev} calls; {fit(None).nfev} with differences")
