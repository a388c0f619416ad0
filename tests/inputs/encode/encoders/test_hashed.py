from __future__ import annotations

import hashlib
import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet
from discreet.core.errors import UsageError
from discreet.inputs.encode.encoders.hashed import HashedEncoder, hashed_row

CORPUS = [
    "The patient is a 52-year-old litigator from Omaha; the patient has two children.",
    "a bb ccc dddd eeeee ffffff, don't stop", "Straße in ÉTÉ: naïve café, 日本語 и кириллица", "one",
]
M64 = (1 << 64) - 1


def key(purpose: str, count: int) -> list[int]:
    digest = hashlib.blake2b(f"discreet.hashed.1.{purpose}".encode(), digest_size=8 * count).digest()
    return [int.from_bytes(digest[8 * i : 8 * i + 8], "little") | 1 for i in range(count)]


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def word_hash(word: str) -> int:
    base = key("word", 1)[0]
    return mix(sum(ord(c) * pow(base, j + 1, 1 << 64) for j, c in enumerate(word)) & M64)


def part_hash(gram: str) -> int:
    keys = key(f"part{len(gram)}", len(gram) + 1)
    return mix((keys[-1] + sum(ord(c) * k for c, k in zip(gram, keys, strict=False))) & M64)


def pair_hash(one: str, two: str) -> int:
    first, second = key("pair", 2)
    return mix((word_hash(one) * first + word_hash(two) * second) & M64)


def slowly(text: str, dim: int) -> list[float]:
    """The same vector from scikit-learn's n-grams and hashes in whole numbers."""
    feature_text = pytest.importorskip("sklearn.feature_extraction.text", reason="the oracle of n-grams")
    folded = "".join("0" if c in "0123456789" else c for c in text).casefold()
    pattern = {"token_pattern": r"[^\W_]+", "lowercase": False}
    words = feature_text.CountVectorizer(ngram_range=(1, 1), **pattern).build_analyzer()(folded)
    whole = Counter(map(word_hash, words))
    whole.update(pair_hash(a, b) for a, b in pairwise(words))
    split = feature_text.CountVectorizer(analyzer="char_wb", ngram_range=(3, 5), lowercase=False).build_analyzer()
    parts = Counter(map(part_hash, split(" ".join(words))))
    total = [0.0] * dim
    for family in (whole, parts):
        row = [0.0] * dim
        for h, count in family.items():
            row[h % dim] += (1 + math.log(count)) * (1 if h >> 63 else -1)
        norm = math.sqrt(sum(v * v for v in row))
        total = [t + v / norm for t, v in zip(total, row, strict=True)]
    norm = math.sqrt(sum(v * v for v in total))
    return [v / norm for v in total]


@pytest.mark.parametrize("dim", [4096, 100])
@pytest.mark.parametrize("text", CORPUS)
def test_against_the_slow_way(text: str, dim: int) -> None:
    np.testing.assert_allclose(hashed_row(text, dim), slowly(text, dim), atol=1e-6)


@given(st.text())
def test_norm_is_one_or_zero(text: str) -> None:
    row = hashed_row(text, 256)
    assert row.shape == (256,)
    has_word = any(c.isalnum() for c in text)
    assert abs(float(np.linalg.norm(row)) - (1.0 if row.any() else 0.0)) < 1e-6
    assert has_word or not row.any()


def test_vectors_are_the_same_in_every_process() -> None:
    code = ("from discreet.inputs.encode.encoders.hashed import hashed_row\nimport hashlib\n"
            f"print(hashlib.sha256((hashed_row({CORPUS[0]!r}, 512) * 2**16).round().tobytes()).hexdigest())")
    home = str(Path(discreet.__file__).parents[1])
    printed = {
        subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": home, "PYTHONHASHSEED": seed},
                       capture_output=True, text=True, check=True).stdout.strip()
        for seed in ("1", "2")
    }
    here = hashlib.sha256((hashed_row(CORPUS[0], 512) * 2**16).round().tobytes()).hexdigest()
    assert printed == {here}


def test_case_digits_and_form_are_folded() -> None:
    row = hashed_row("Aged 52, of OMAHA", 512)
    for same in ("aged 47, of omaha", "AGED 52 of Omaha!", "aged ５２ of Om\u00adaha"):
        np.testing.assert_array_equal(hashed_row(same, 512), row)
    assert float(hashed_row("aged 152, of omaha", 512) @ row) < 0.999


def test_order_of_words_matters_little_and_other_words_much() -> None:
    row = hashed_row("the nurse from Omaha called the bank", 4096)
    swapped = float(row @ hashed_row("the bank called the nurse from Omaha", 4096))
    other = float(row @ hashed_row("quarterly dividends depend on profit", 4096))
    assert 0.8 < swapped < 0.999
    assert abs(other) < 0.15


def test_hashing_keeps_angles() -> None:
    """Inner products of hashed rows estimate those of unhashed counts without bias (Weinberger et al., 2009)."""
    apart = [float(hashed_row(a, 1 << 20) @ hashed_row(b, 1 << 20)) - float(hashed_row(a, 2048) @ hashed_row(b, 2048))
             for a in CORPUS for b in CORPUS if a != b]
    assert max(map(abs, apart)) < 0.12
    assert abs(float(np.mean(apart))) < 0.05


@pytest.mark.parametrize("dim", [0, 15, (1 << 20) + 1, True, 64.0])
def test_impossible_dimensions(dim: int) -> None:
    with pytest.raises(UsageError, match="expected a whole number from 16"):
        HashedEncoder(dim)
