"""Pictures for docs/tutorial.md: fruit on a table, by numpy and libvips' command line. Always the same ones."""

import pathlib
import subprocess

import numpy

COLORS = {"cherries": (190, 25, 45), "lemons": (240, 205, 40), "limes": (90, 170, 50), "plums": (85, 50, 130)}


def picture(random, color, width, height):
    """A round fruit or three in `color`, lit from above, on a gray or brown ground with the noise of a sensor."""
    y, x = numpy.mgrid[0:height, 0:width].astype(numpy.float64)
    tone, warmth = random.uniform(70, 190), random.uniform(0, 25)
    ground = tone + random.uniform(-40, 40) * y / height
    pixels = numpy.stack([ground + warmth, ground, ground - warmth], axis=-1)
    for _ in range(random.integers(1, 4)):
        radius = random.uniform(0.2, 0.33) * min(width, height)
        center_x, center_y = random.uniform(0.3, 0.7) * width, random.uniform(0.3, 0.7) * height
        distance = ((x - center_x) / (radius * random.uniform(0.85, 1.25))) ** 2 + ((y - center_y) / radius) ** 2
        light = numpy.clip(1.15 - 0.35 * distance - 0.25 * (y - center_y) / radius, 0.2, 1.4)
        light *= random.uniform(0.8, 1.1)
        inside = distance < 1
        pixels[inside] = light[inside, None] * numpy.array(color) * random.uniform(0.92, 1.08, size=3)
    pixels += random.normal(0, 6, size=pixels.shape)
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8)


def write_ppm(path, pixels):
    height, width, _ = pixels.shape
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + pixels.tobytes())


def vips(*arguments):
    subprocess.run(["vips", *map(str, arguments)], check=True)


def odd(source, folder):
    """What lies among people's pictures: other formats, wrong names, CMYK, 16 bits a channel, a palette, a film."""
    vips("copy", source, folder / "scan.tif")
    vips("copy", source, folder / "from the web.webp")
    vips("copy", source, "%s/really a png.png" % folder)
    (folder / "really a png.png").rename(folder / "really a png.jpg")
    vips("colourspace", source, folder / "for print.jpg", "cmyk")
    vips("colourspace", source, folder / "sixteen bits.png", "rgb16")
    vips("copy", source, "%s/few colors.png[palette]" % folder)
    (folder / "notes.txt").write_text("no picture\n")


def fill(folder, name, count, seed, oddities=False, least=150, most=330, save="jpg[Q=90]"):
    """`count` files 000.jpg, 001.jpg, ... of the fruit `name` in `folder`, with sides of `least` to `most` pixels."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng([seed, *name.encode()])
    sources = []
    for i in range(count):
        size = random.integers(least, most, size=2)
        sources.append(folder / ("%03d.ppm" % i))
        write_ppm(sources[-1], picture(random, COLORS[name], *size))
    # The size is that of none of them: nothing is scaled.
    subprocess.run(["vipsthumbnail", "--size", "4000x4000>", "--output", "%s." + save, *map(str, sources)],
                   check=True)
    if oddities:
        odd(sources[0], folder)
    for source in sources:
        source.unlink()
