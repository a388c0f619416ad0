"""Tokenisers trained on a few sentences."""

from __future__ import annotations

from collections.abc import Sequence

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers


def wordpiece(corpus: Sequence[str]) -> Tokenizer:
    """As published MiniLMs have it: lowercase, and read as it stands, every text would be cut and padded."""
    found = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    found.normalizer = normalizers.BertNormalizer(lowercase=True)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    found.train_from_iterator(corpus, trainers.WordPieceTrainer(vocab_size=300, special_tokens=special,
                                                                show_progress=False))
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    found.enable_truncation(7)
    found.enable_padding(length=7)
    return found
