"""emcee: walkers that start where the posterior is, by its maximum and its Hessian. Needs emcee.

emcee itself asks for no gradient. Its chains are long where walkers begin far away or on a wrong scale, and both are
known from derivatives.
"""

import emcee
import numpy as np
from scipy.optimize import minimize

import arraygrad as ag

rng = np.random.default_rng(0)
x = np.linspace(-1.0, 1.0, 50)
y = 1.5 * x - 0.5 + 0.1 * rng.normal(size=x.size)


def log_posterior(theta):
    slope, offset, log_noise = theta
    misfit = (slope * x + offset - y) * np.exp(-log_noise)
    prior = np.sum((theta / 10.0) ** 2)
    return -0.5 * np.sum(misfit**2) - x.size * log_noise - 0.5 * prior


def loss(theta):
    return -log_posterior(theta)


def start(walkers):
    """The maximum, the covariance of the posterior's Gaussian there, and places (walkers, 3) drawn from it."""
    found = minimize(ag.value_and_grad(loss), np.zeros(3), jac=True, method="BFGS")
    covariance = np.linalg.inv(ag.hessian(loss)(found.x))
    generator = np.random.default_rng(1)
    return found.x, covariance, generator.multivariate_normal(found.x, covariance, size=walkers)


def sample(walkers=16, steps=400):
    best, covariance, places = start(walkers)
    sampler = emcee.EnsembleSampler(walkers, 3, log_posterior)
    sampler.random_state = np.random.RandomState(2).get_state()
    sampler.run_mcmc(places, steps)
    return best, covariance, sampler.get_chain(flat=True)


if __name__ == "__main__":
    best, covariance, chain = sample()
    print("maximum ", np.round(best, 3), " deviations", np.round(np.sqrt(np.diag(covariance)), 3))
    print("sampled ", np.round(chain.mean(axis=0), 3), " deviations", np.round(chain.std(axis=0), 3))
