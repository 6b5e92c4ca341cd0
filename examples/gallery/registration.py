"""Image registration: the rotation and shift between two pictures, with bilinear interpolation. Imports: NumPy."""

import numpy as np

SIZE = 48
# Angle in radians, shift in pixels by rows and columns.
TRUTH = np.array([0.12, 2.5, -1.75])
START = np.array([0.01, 0.3, -0.2])
TOLERANCE = 0.05


def sample(image, rows, columns):
    """Values of an image between its pixels; outside it goes on as at its edge."""
    rows = np.clip(rows, 0.0, SIZE - 1.001)
    columns = np.clip(columns, 0.0, SIZE - 1.001)
    r, c = np.floor(rows).astype(int), np.floor(columns).astype(int)
    fr, fc = rows - r, columns - c
    top = (1.0 - fc) * image[r, c] + fc * image[r, c + 1]
    bottom = (1.0 - fc) * image[r + 1, c] + fc * image[r + 1, c + 1]
    return (1.0 - fr) * top + fr * bottom


def moved(image, motion):
    """The image rotated about its middle and shifted."""
    angle, down, right = motion
    rows, columns = np.meshgrid(
        np.arange(SIZE) - SIZE / 2, np.arange(SIZE) - SIZE / 2, indexing="ij"
    )
    turned_rows = np.cos(angle) * rows - np.sin(angle) * columns + SIZE / 2 + down
    turned_columns = (
        np.sin(angle) * rows + np.cos(angle) * columns + SIZE / 2 + right
    )
    return sample(image, turned_rows, turned_columns)


def picture():
    """A few smooth blobs."""
    rng = np.random.default_rng(10)
    rows, columns = np.meshgrid(np.arange(SIZE), np.arange(SIZE), indexing="ij")
    image = np.zeros((SIZE, SIZE))
    for r, c, size in zip(
        rng.uniform(8, 40, 7),
        rng.uniform(8, 40, 7),
        rng.uniform(3, 7, 7),
        strict=True,
    ):
        image += np.exp(-0.5 * ((rows - r) ** 2 + (columns - c) ** 2) / size**2)
    return image


def data():
    image = picture()
    rng = np.random.default_rng(11)
    return image, moved(image, TRUTH) + 0.01 * rng.normal(size=image.shape)


def loss(motion, image, target):
    return np.mean((moved(image, motion) - target) ** 2)


if __name__ == "__main__":
    from examples.gallery.show import show

    show("registration")
