#!/usr/bin/env python3
"""Draws the text lines that the demo reads, 48 pixels high: PNG files beside this one, and lines.json with the truth.

Run by hand when the texts change (the results are committed): pip install pillow==13.0.0 && python3 render.py
The font is the one inside Pillow (Aileron, CC0). Paper and ink vary, and the lines lean a little, as in a photograph.
"""
import json
import random
from pathlib import Path

from PIL import Image, ImageDraw, ImageFilter, ImageFont

HERE = Path(__file__).resolve().parent
HEIGHT = 48
TEXTS = [
    "Platform 9, 07:42",
    "Total: EUR 128.50",
    "Tracking no. 4417-Q",
    "Best before 03/2027",
    "Gate B17 closes 18:05",
    "Flat white, oat milk x2",
    "Meter reading 008 213 kWh",
    "Fragile - this side up",
    "The ship leaves at dawn on Tuesday",
    "Invoice 2024-00317, due in 30 days",
    "Please keep this door closed today",
    "Licence plate K-AB 1234, in row 6",
]


def main():
    for index, text in enumerate(TEXTS):
        draw(text, random.Random(index)).save(HERE / file_name(index), optimize=True)
    lines = [{"file": file_name(index), "text": text} for index, text in enumerate(TEXTS)]
    (HERE / "lines.json").write_text("[\n" + ",\n".join("  " + json.dumps(line) for line in lines) + "\n]\n")


def file_name(index):
    return f"{index + 1:02}.png"


def draw(text, chance):
    font = ImageFont.load_default(size=chance.randint(26, 32))
    paper, ink = chance.randint(205, 250), chance.randint(15, 70)
    left, top, right, bottom = font.getbbox(text)
    image = Image.new("L", (right - left + 24, HEIGHT), paper)
    ImageDraw.Draw(image).text((12 - left, (HEIGHT - bottom - top) // 2), text, fill=ink, font=font)
    lean = image.rotate(chance.uniform(-0.6, 0.6), Image.Resampling.BICUBIC, fillcolor=paper)
    # Few greys keep the files small.
    return lean.filter(ImageFilter.GaussianBlur(chance.uniform(0.3, 0.9))).quantize(16).convert("L")


if __name__ == "__main__":
    main()
