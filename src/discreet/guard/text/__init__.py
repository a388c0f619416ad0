"""Text: direct identifiers (layer 1) and quasi-identifier evidence, with spans and the subject each is bound to.

`direct` finds identifiers, `evidence` finds attributes of persons; both read word lists and patterns from `data/`.
"""

from discreet.guard.text.doc import Doc, Token
from discreet.guard.text.language import Language, guess_language
from discreet.inputs.encode.chunk import chunk_spans, chunks

__all__ = ["Doc", "Language", "Token", "chunk_spans", "chunks", "guess_language"]
