"""Writes what another implementation makes of a model: pieces by the tokenizers library, vectors by numpy.

Run after train.py: python3 reference.py ENCODER_FOLDER MODEL_FILE > packages/embed/test/reference.json
The package's test compares itself with it, so that splitting, unpacking and averaging are seen twice.
"""

import json
import pathlib
import struct
import sys

import numpy as np
from tokenizers import Tokenizer

from inputs import checked_encoder

TEXTS = [
    "Do I have any allergies?",
    "I'm allergic to peanuts",
    "Our whippet yells at the postman.",
    "Zażółć gęślą jaźń, naïve café — déjà vu!",
    "東京でラーメンを食べた。我喜欢北京烤鸭",
    "price: $4.50 (~5%) <b>x</b>",
    "tab\tnew\nline\u200bzero\ufeffwidth",
    "antidisestablishmentarianism",
    "emoji 🎉 and 👩‍👩‍👧 family",
    "",
    "  ",
    "ÅNGSTRÖM İstanbul ﬁne ½",
    "a" * 101 + " end",
    "don't can't I'll",
    "snake_case camelCase http://example.org/a?b=c#d",
    "שלום مرحبا नमस्ते สวัสดี",
]


def table_of(path):
    raw = path.read_bytes()
    rows, wide, group, _ = struct.unpack("<IIII", raw[8:24])
    at = 24
    bias = np.frombuffer(raw, "<f4", wide, at).astype(np.float64)
    at += 4 * wide
    scales = np.frombuffer(raw, "<f2", rows * wide // group, at).astype(np.float64).reshape(rows, -1, 1)
    at += 2 * rows * wide // group
    pairs = np.frombuffer(raw, np.uint8, rows * wide // 2, at).reshape(rows, wide // 2)
    levels = np.stack([pairs & 15, pairs >> 4], 2).reshape(rows, wide // group, group).astype(np.float64) - 8
    return (levels * scales).reshape(rows, wide), bias


def main(encoder, model):
    tokenizer = Tokenizer.from_file(str(checked_encoder(pathlib.Path(encoder)) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    table, bias = table_of(pathlib.Path(model))
    kept = []
    for text in TEXTS:
        pieces = tokenizer.encode(text).ids[1:-1]
        vector = table[pieces or [100]].mean(0) + bias
        vector /= np.linalg.norm(vector)
        kept.append({"text": text, "pieces": pieces, "vector": [round(float(x), 7) for x in vector[:8]]})
    print(json.dumps(kept, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
