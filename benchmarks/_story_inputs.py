"""What the two stories begin with, drawn by a fixed seed: photographs of skin and visits to wards.

Nobody has prepared them: images have mixed sizes and kinds, one in five is turned by its EXIF tag;
the table has identifiers, names, dates, times, money, codes with zeros in front, notes and gaps.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

_TURNED = 274  # EXIF's tag of the orientation
CLASSES = ("benign", "suspicious")
NEW = ("new_1.jpg", "new_2.png")


def draw_images(folder: Path, count: int) -> None:
    """Draw images into a folder for each class, two of them beside: the colleague's new ones."""
    rng = np.random.default_rng(7)
    for number in range(count):
        label = int(number % 20 >= 13)
        _save(_lesion(rng, label), folder / CLASSES[label], number)
    (folder / "Thumbs.db").write_bytes(b"not an image")
    for label, name in enumerate(NEW):
        _lesion(rng, label).save(folder.parent / name)


def _save(image: Any, folder: Path, number: int) -> None:
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    if number % 9 == 0:
        image.save(folder / f"img_{number:04d}.png")
    elif number % 17 == 0:
        image.convert("RGBA").save(folder / f"scan {number}.png")
    else:
        exif = Image.Exif()
        if number % 5 == 0:
            exif[_TURNED] = 6
        ending = "JPG" if number % 3 else "jpg"
        image.save(folder / f"IMG_{number:04d}.{ending}", quality=88, exif=exif)


def _lesion(rng: np.random.Generator, label: int) -> Any:
    """Return skin with a spot: round and even, or ragged and of several colours."""
    from PIL import Image, ImageDraw, ImageFilter

    width, height = (int(side) for side in rng.integers(180, 420, 2))
    skin = np.array([224, 180, 158]) + rng.normal(0, 12, 3)
    light = np.linspace(-1, 1, height)[:, None, None] * rng.normal(0, 10)
    pixels = skin + light + rng.normal(0, 4, (height, width, 3))
    image = Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    pen = ImageDraw.Draw(image)
    middle = np.array([width, height]) / 2 + rng.normal(0, 0.07 * min(width, height), 2)
    radius = min(width, height) * rng.uniform(0.13, 0.3)
    colour = np.array([120, 72, 52]) + rng.normal(0, 12, 3)
    turn = np.linspace(0, 2 * np.pi, 60)
    ragged = (0.22 if label else 0.05) * rng.uniform(0.6, 1.4)
    waves = [rng.normal() / k * np.sin(k * turn + rng.uniform(0, 6)) for k in range(1, 6)]
    edge = radius * (1 + ragged * np.sum(waves, axis=0))
    points = middle + (edge * np.array([1.1 * np.cos(turn), np.sin(turn)])).T
    pen.polygon([tuple(point) for point in points], fill=_byte(colour))
    for _ in range(14 if label else 3):
        x, y = middle + rng.normal(0, 0.4 * radius, 2)
        size = radius * rng.uniform(0.06, 0.3)
        shade = colour * (rng.uniform(0.35, 1.1) if label else rng.uniform(0.85, 1.1))
        pen.ellipse([x - size, y - size, x + size, y + size], fill=_byte(shade))
    for _ in range(int(rng.integers(0, 8))):
        hair = rng.uniform(0, 1, 4) * [width, height, width, height]
        pen.line(list(hair), fill=(50, 35, 30), width=1)
    return image.filter(ImageFilter.GaussianBlur(float(rng.uniform(0.5, 2))))


def _byte(colour: np.ndarray) -> tuple[int, ...]:
    return tuple(int(value) for value in colour.clip(0, 255))


def visits(count: int) -> Any:
    """Return a table of visits with 20 columns, all of them texts or plain numbers."""
    import pandas as pd

    rng = np.random.default_rng(7)

    def pick(values: tuple[str, ...], shares: tuple[float, ...] | None = None) -> np.ndarray:
        return rng.choice(values, count, p=shares)

    def with_gaps(values: np.ndarray, share: float) -> np.ndarray:
        return np.where(rng.random(count) < share, "", values.astype(str))

    age = rng.normal(58, 18, count).clip(0, 101).round().astype(int)
    ward = pick(("surgery", "cardiology", "neurology", "oncology"), (0.35, 0.25, 0.2, 0.2))
    first = [
        datetime.date(2023, 1, 1) + datetime.timedelta(int(d)) for d in rng.integers(0, 730, count)
    ]
    stay = np.where(rng.random(count) < 0.25, 0, rng.gamma(1.6, 3.0, count).round()).astype(int)
    last = [day + datetime.timedelta(int(days)) for day, days in zip(first, stay, strict=True)]
    cost = (200 + 650 * stay * rng.lognormal(0, 0.3, count)).round(2)
    paid = (cost * np.where(rng.random(count) < 0.7, 0.9, 0.5)).round(2)
    upper = rng.normal(118 + 0.3 * age, 14).round().astype(int)
    lower = (upper * 0.62 + rng.normal(0, 6, count)).round().astype(int)
    odds = -3.4 + 0.02 * (age - 50) + 0.12 * stay + 0.8 * (ward == "oncology")
    again = rng.random(count) < 1 / (1 + np.exp(-odds))
    hours, minutes = rng.normal(12, 4, count).clip(0, 23).astype(int), rng.integers(0, 60, count)
    names = zip(
        pick(("Anna", "Ben", "Cleo", "Eva")), pick(("Meier", "Novak", "Rossi")), strict=True
    )
    return pd.DataFrame(
        {
            "patient_id": [f"P{100000 + number}" for number in range(count)],
            "name": [" ".join(parts) for parts in names],
            "age": age,
            "sex": pick(("f", "m")),
            "postcode": pick(("01067", "04109", "10115", "20095", "80331")),
            "ward": ward,
            "admitted": [day.strftime("%d.%m.%Y") for day in first],
            "discharged": [day.strftime("%d.%m.%Y") for day in last],
            "arrival": [f"{h:02d}:{m:02d}" for h, m in zip(hours, minutes, strict=True)],
            "length_of_stay": stay,
            "diagnosis": pick(("I10", "E11.9", "J45.0", "C50.9", "K35.8", "Z00.0")),
            "systolic": with_gaps(upper, 0.08),
            "diastolic": with_gaps(lower, 0.08),
            "bmi": with_gaps(rng.normal(26, 4.5, count).clip(14, 55).round(1), 0.15),
            "smoker": pick(("yes", "no", "ex", "")),
            "crp": with_gaps(rng.lognormal(1.5, 1.1, count).round(1), 0.3),
            "cost": [f"${value:,.2f}" for value in cost],
            "paid": [f"${value:,.2f}" for value in paid],
            "note": pick(("", "stable", "see letter", "allergic to penicillin")),
            "readmitted": np.where(again, "yes", "no"),
        }
    )
