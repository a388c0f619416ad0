"""Sources to typed tables: answers to judge, labelled answers to evaluate on, texts and data sets to train on.

Names are imported when first asked for, so that reading an answer needs no numpy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.inputs.answers import LabelledAnswer, read_answers, read_labelled
    from discreet.inputs.bundles import bundle, pool
    from discreet.inputs.canaries import draw_canaries
    from discreet.inputs.datasets import Dataset, read_dataset
    from discreet.inputs.duplicates import NearDuplicates, find_duplicates, without_duplicates
    from discreet.inputs.pairs import Units, draw_pairs
    from discreet.inputs.splits import Split, halves, split_texts
    from discreet.inputs.texts import LabelledText, read_texts

__all__ = ["Dataset", "LabelledAnswer", "LabelledText", "NearDuplicates", "Split", "Units", "bundle", "draw_canaries",
           "draw_pairs", "find_duplicates", "halves", "pool", "read_answers", "read_dataset", "read_labelled",
           "read_texts", "split_texts", "without_duplicates"]
HOMES = {
    "Dataset": "discreet.inputs.datasets", "LabelledAnswer": "discreet.inputs.answers",
    "LabelledText": "discreet.inputs.texts", "NearDuplicates": "discreet.inputs.duplicates",
    "Split": "discreet.inputs.splits", "Units": "discreet.inputs.pairs", "bundle": "discreet.inputs.bundles",
    "draw_canaries": "discreet.inputs.canaries", "draw_pairs": "discreet.inputs.pairs",
    "find_duplicates": "discreet.inputs.duplicates", "halves": "discreet.inputs.splits",
    "pool": "discreet.inputs.bundles", "read_answers": "discreet.inputs.answers",
    "read_dataset": "discreet.inputs.datasets", "read_labelled": "discreet.inputs.answers",
    "read_texts": "discreet.inputs.texts", "split_texts": "discreet.inputs.splits",
    "without_duplicates": "discreet.inputs.duplicates",
}
__getattr__ = lazily(__name__, HOMES)
