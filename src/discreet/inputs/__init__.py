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
__getattr__ = lazily(__name__, __file__)
