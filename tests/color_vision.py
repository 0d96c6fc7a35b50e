"""How far apart colours look to people with and without a colour vision deficiency: the simulation of
Machado, Oliveira and Fernandes (2009, severity 1.0), distances in CIE Lab (1976)."""

import itertools
import math

KINDS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def linear(value):
    value /= 255
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def lab(rgb, matrix):
    seen = [min(1, max(0, value)) for value in times(matrix, [linear(value) for value in rgb])]
    x, y, z = (value / white for value, white in zip(times(TO_XYZ, seen), WHITE))
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def nearest_pair(names, colors, matrix):
    """(distance, name, name) of the two that look most alike."""
    seen = {name: lab(color, matrix) for name, color in zip(names, colors)}
    return min((math.dist(seen[a], seen[b]), a, b) for a, b in itertools.combinations(names, 2))
