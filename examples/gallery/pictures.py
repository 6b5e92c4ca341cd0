"""What the gallery draws of each example: one function per example. The function's body becomes part of its page.

Each gets `model` (the example's module), `found` (the fitted parameters) and `losses` (one per iteration).
"""

import matplotlib.pyplot as plt
import numpy as np


def count_regression(model, found, losses):
    """Left: the mean that the model expects, and the counts. Right: the loss over the iterations."""
    X, counts = model.data()
    mean = np.exp(X @ found["b"])
    order = np.argsort(mean)
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.plot(mean, counts, ".", color="0.6", label="counts")
    left.plot(mean[order], mean[order], color="C1", label="fitted mean")
    left.set(xlabel="fitted mean", ylabel="count", xscale="log", yscale="symlog")
    left.legend()
    right.semilogy(losses - np.min(losses) + 1e-12, color="C0")
    right.set(xlabel="iteration", ylabel="loss above its minimum")


def deconvolution(model, found, losses):
    """Left: the blurred record, the signal that made it, and the one that was found. Right: the loss."""
    (record,) = model.data()
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.plot(record, color="0.6", label="blurred record")
    left.plot(model.TRUTH, color="0.2", linestyle="--", label="true signal")
    left.plot(found, color="C1", label="found")
    left.legend()
    right.semilogy(losses, color="C0")
    right.set(xlabel="iteration", ylabel="loss")


def gaussian_process(model, found, losses):
    """Left: the data, and the mean and two standard deviations that the fitted process gives. Right: the loss."""
    x, y = model.data()
    length, amplitude, noise = np.exp(found)
    grid = np.linspace(0.0, 20.0, 400)
    cross = amplitude**2 * np.exp(-0.5 * ((grid[:, None] - x) / length) ** 2)
    weights = np.linalg.solve(model.kernel(x, found), cross.T).T
    mean, spread = (
        weights @ y,
        np.sqrt(amplitude**2 + noise**2 - np.sum(weights * cross, axis=1)),
    )
    _, (left, right) = plt.subplots(
        1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=(2, 1)
    )
    left.fill_between(
        grid, mean - 2 * spread, mean + 2 * spread, color="C0", alpha=0.2
    )
    left.plot(grid, mean, color="C0", label="mean")
    left.plot(x, y, ".", color="0.3", label="data")
    left.legend()
    right.plot(losses, color="C0")
    right.set(xlabel="iteration", ylabel="negative log likelihood")


def heat_inverse(model, found, losses):
    """Left: temperatures of the first, fourth and last cell, and what the fitted rod gives. Right: the conductivity."""
    (measured,) = model.data()
    fitted = model.temperatures(found)
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for number, cell in enumerate((0, 3, 7)):
        left.plot(measured[:, cell], ".", color=f"C{number}", markersize=3)
        left.plot(fitted[:, cell], color=f"C{number}", label=f"cell {cell + 1}")
    left.set(xlabel="time step", ylabel="temperature")
    left.legend()
    right.plot(model.START, color="0.7", label="start")
    right.plot(model.TRUTH, color="0.2", linestyle="--", label="truth")
    right.plot(found, "o-", color="C1", label="found")
    right.set(xlabel="cell", ylabel="conductivity")
    right.legend()


def hidden_markov(model, found, losses):
    """Emission probabilities of the two states: true, at the start, and found. Right: the loss."""
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    places = np.arange(6)
    for number, (name, params) in enumerate(
        (("start", model.START), ("truth", model.TRUTH), ("found", found))
    ):
        emissions = model.probabilities(params)[1]
        left.bar(
            places + 0.27 * number,
            np.ravel(emissions),
            width=0.25,
            color=("0.8", "0.4", "C1")[number],
            label=name,
        )
    left.set_xticks(
        places + 0.27, [f"state {s}\nsymbol {k}" for s in (1, 2) for k in (1, 2, 3)]
    )
    left.legend()
    right.plot(losses, color="C0")
    right.set(xlabel="iteration", ylabel="negative log likelihood")


def kalman(model, found, losses):
    """Left: the series. Right: the three noise levels before and after the fit, and the true ones."""
    (series,) = model.data()
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    left.plot(series, color="C0")
    left.set(xlabel="time", ylabel="observation")
    for number, (name, theta) in enumerate(
        (("start", model.START), ("truth", model.TRUTH), ("found", found))
    ):
        right.bar(
            np.arange(3) + 0.27 * number,
            np.exp(theta),
            width=0.25,
            color=("0.8", "0.4", "C1")[number],
            label=name,
        )
    right.set_xticks(np.arange(3) + 0.27, ["observation", "level", "slope"])
    right.set(ylabel="standard deviation")
    right.legend()


def lennard_jones(model, found, losses):
    """The seven atoms where the search began, and where it ended: a pentagonal bipyramid."""
    figure = plt.figure(figsize=(9, 3.8), layout="constrained")
    for number, (name, positions) in enumerate(
        (("start", model.START), ("found", found))
    ):
        axes = figure.add_subplot(1, 2, number + 1, projection="3d")
        for i, j in zip(model.FIRST, model.SECOND, strict=True):
            if np.linalg.norm(positions[i] - positions[j]) < 1.3:
                axes.plot(
                    *zip(positions[i], positions[j], strict=True), color="0.6"
                )
        axes.scatter(*positions.T, s=180, color="C1", depthshade=True)
        axes.set_title(f"{name}: energy {float(model.loss(positions)):.3f}")
        axes.set_axis_off()


def ode_fit(model, found, losses):
    """Left: counts of prey and predators, and the fitted curves. Right: the loss over the iterations."""
    (counts,) = model.data()
    times = model.STEP * model.EVERY * np.arange(1, len(counts) + 1)
    _, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for number, name in enumerate(("prey", "predators")):
        left.plot(times, counts[:, number], "o", color=f"C{number}", markersize=4)
        left.plot(
            times, model.simulate(found)[:, number], color=f"C{number}", label=name
        )
    left.set(xlabel="time", ylabel="count")
    left.legend()
    right.semilogy(losses, color="C0")
    right.set(xlabel="iteration", ylabel="loss")


def orbit(model, found, losses):
    """The planet, the three stations, and the orbits of the first guess, of the fit, and the true one."""
    from matplotlib.patches import Circle

    def path(state):
        place, speed, places = np.array(state[:2]), np.array(state[2:]), []
        for _ in range(model.STEPS):
            speed = speed - 0.5 * model.DT * place / np.linalg.norm(place) ** 3
            place = place + model.DT * speed
            speed = speed - 0.5 * model.DT * place / np.linalg.norm(place) ** 3
            places.append(place)
        return np.array(places).T

    _, axes = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    axes.add_patch(Circle((0.0, 0.0), 1.0, color="0.9"))
    axes.plot(*model.STATIONS.T, "^", color="0.2", label="stations")
    axes.plot(*path(model.START), color="0.7", label="first guess")
    axes.plot(*path(model.TRUTH), color="0.2", linestyle="--", label="truth")
    axes.plot(*path(found), color="C1", label="found")
    axes.set_aspect("equal")
    axes.legend(loc="upper left", fontsize=8)


def portfolio(model, found, losses):
    """The weights that were found, beside the solution in closed form."""
    _, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    axes.bar(
        np.arange(model.ASSETS) - 0.2,
        model.WEIGHTS,
        width=0.38,
        color="0.5",
        label="closed form",
    )
    axes.bar(
        np.arange(model.ASSETS) + 0.2,
        model.weights(found),
        width=0.38,
        color="C1",
        label="found",
    )
    axes.set(xlabel="asset", ylabel="weight")
    axes.legend()


def ray_optics(model, found, losses):
    """Where the rays meet the two screens: measured, of the first guess, and of the fitted lens."""
    heights, slopes, seen = model.data()
    _, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for number, screen in enumerate(model.SCREENS):
        axes[number].plot(
            heights,
            model.spots(model.START, heights, slopes)[number],
            ".",
            color="0.8",
            label="start",
        )
        axes[number].plot(
            heights, seen[number], "o", color="0.3", markersize=4, label="measured"
        )
        axes[number].plot(
            heights,
            model.spots(found, heights, slopes)[number],
            ".",
            color="C1",
            label="found",
        )
        axes[number].set(
            xlabel="height at the lens (mm)",
            ylabel="height on the screen (mm)",
            title=f"{screen:g} mm",
        )
    axes[0].legend()


def registration(model, found, losses):
    """The picture, the one to match, and their difference before and after the fit."""
    image, target = model.data()
    _, axes = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
    shown = (
        ("picture", image),
        ("target", target),
        ("before", image - target),
        ("after", model.moved(image, found) - target),
    )
    for number, (name, values) in enumerate(shown):
        limits = {} if number < 2 else {"vmin": -0.6, "vmax": 0.6, "cmap": "RdBu"}
        axes[number].imshow(values, **limits)
        axes[number].set_title(name)
        axes[number].set_axis_off()


def soft_clustering(model, found, losses):
    """The points, the centres of the first guess, and the fitted clusters (circles of two standard deviations)."""
    from matplotlib.patches import Circle

    (points,) = model.data()
    _, axes = plt.subplots(figsize=(5.2, 4.4), layout="constrained")
    axes.plot(*points.T, ".", color="0.7", markersize=4)
    axes.plot(*model.START["centres"].T, "x", color="0.3", label="start")
    for centre in found["centres"]:
        axes.add_patch(
            Circle(centre, 2 * np.exp(found["log_width"]), fill=False, color="C1")
        )
    axes.plot(*found["centres"].T, "o", color="C1", label="found")
    axes.set_aspect("equal")
    axes.legend()


def spline_fit(model, found, losses):
    """Data with outliers, and the fitted spline with its knots."""
    x, y = model.data()
    grid = np.linspace(0.0, 10.0, 400)
    _, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
    axes.plot(x, y, ".", color="0.7", markersize=4, label="data")
    axes.plot(
        grid,
        model.spline(model.TRUTH, grid),
        color="0.2",
        linestyle="--",
        label="truth",
    )
    axes.plot(grid, model.spline(found, grid), color="C1", label="found")
    axes.plot(model.KNOTS, found, "o", color="C1")
    axes.legend()


NAMES = tuple(
    name
    for name, value in list(globals().items())
    if callable(value) and value.__module__ == __name__
)
