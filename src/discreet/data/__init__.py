"""Sources to typed tables: answers to judge, labelled answers to evaluate on, texts and data sets to train on.

Names are imported when first asked for, so that reading an answer needs no numpy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.data.answers import LabelledAnswer, read_answers, read_labelled
    from discreet.data.bundles import bundle, pool
    from discreet.data.canaries import draw_canaries
    from discreet.data.datasets import Dataset, read_dataset
    from discreet.data.duplicates import find_duplicates, near_groups, without_duplicates
    from discreet.data.pairs import Units, draw_pairs
    from discreet.data.splits import Split, halves, split_texts
    from discreet.data.texts import LabelledText, read_texts

_HOMES = {
    "Dataset": "datasets", "LabelledAnswer": "answers", "LabelledText": "texts", "Split": "splits", "Units":
    "pairs", "bundle": "bundles", "draw_canaries": "canaries", "draw_pairs": "pairs", "find_duplicates":
    "duplicates", "halves": "splits", "near_groups": "duplicates", "pool": "bundles", "read_answers": "answers",
    "read_dataset": "datasets", "read_labelled": "answers", "read_texts": "texts", "split_texts": "splits",
    "without_duplicates": "duplicates",
}  # fmt: skip

__all__ = ["Dataset", "LabelledAnswer", "LabelledText", "Split", "Units", "bundle", "draw_canaries", "draw_pairs",
           "find_duplicates", "halves", "near_groups", "pool", "read_answers", "read_dataset", "read_labelled",
           "read_texts", "split_texts", "without_duplicates"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"discreet.data.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'discreet.data' has no attribute {name!r}")
