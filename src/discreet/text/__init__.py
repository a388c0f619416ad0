"""Text: direct identifiers (layer 1) and quasi-identifier evidence, with spans and the subject each is bound to.

`discreet.text.direct` finds identifiers, `discreet.text.evidence` finds attributes of persons; both read word lists
and patterns from `data/`.
"""

from discreet.text.chunk import chunk_spans, chunks
from discreet.text.doc import Doc, Token
from discreet.text.language import Language, guess_language

__all__ = ["Doc", "Language", "Token", "chunk_spans", "chunks", "guess_language"]
