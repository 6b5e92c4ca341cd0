"""Ray tracing: the curvatures of a lens's two surfaces and its glass, from where it sends rays. Imports: NumPy."""

import numpy as np

# Curvature of the front and of the back (1/mm), refractive index.
TRUTH = np.array([1.0 / 52.0, -1.0 / 80.0, 1.52])
START = np.array([1.0 / 70.0, -1.0 / 70.0, 1.6])
TOLERANCE = 0.02
SCALE = np.array([1.0 / 50.0, 1.0 / 50.0, 1.0])
THICKNESS = 6.0
SCREENS = (40.0, 90.0)


def refract(direction, normal, ratio):
    """Snell's law for unit vectors (n, 2); the normal points against the ray."""
    cosine = -np.sum(direction * normal, axis=1, keepdims=True)
    root = np.sqrt(1.0 - ratio**2 * (1.0 - cosine**2))
    return ratio * direction + (ratio * cosine - root) * normal


def meet(position, direction, vertex, curvature):
    """Where rays meet a circle through (vertex, 0), and its normal there."""
    z, y = position[:, 0] - vertex, position[:, 1]
    dz, dy = direction[:, 0], direction[:, 1]
    a = curvature * (z**2 + y**2) - 2.0 * z
    b = dz - curvature * (z * dz + y * dy)
    way = a / (b + np.sqrt(b**2 - curvature * a))
    point = position + way[:, None] * direction
    normal = np.stack(
        [curvature * (point[:, 0] - vertex) - 1.0, curvature * point[:, 1]], axis=1
    )
    return point, normal / np.linalg.norm(normal, axis=1, keepdims=True)


def spots(lens, heights, slopes):
    """Heights (len(SCREENS), n) at which rays reach the screens."""
    front, back, index = lens[0], lens[1], lens[2]
    position = np.stack(
        [np.full(len(heights), -10.0), heights - 10.0 * slopes], axis=1
    )
    direction = np.stack([np.cos(slopes), np.sin(slopes)], axis=1)
    position, normal = meet(position, direction, 0.0, front)
    direction = refract(direction, normal, 1.0 / index)
    position, normal = meet(position, direction, THICKNESS, back)
    direction = refract(direction, normal, index)
    rise = direction[:, 1] / direction[:, 0]
    return np.stack(
        [position[:, 1] + (screen - position[:, 0]) * rise for screen in SCREENS]
    )


def data():
    rng = np.random.default_rng(4)
    heights, slopes = (
        rng.uniform(-12.0, 12.0, size=200),
        rng.uniform(-0.05, 0.05, size=200),
    )
    return (
        heights,
        slopes,
        spots(TRUTH, heights, slopes) + 1e-4 * rng.normal(size=(len(SCREENS), 200)),
    )


def loss(lens, heights, slopes, seen):
    return np.mean((spots(lens, heights, slopes) - seen) ** 2)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("ray_optics")
