"""Layer 1: direct identifiers, by recognisers of formats, check digits, cues and names.

A recogniser of your own is a function of `Facts` that yields `Hit`s, registered in
`discreet.guard.text.direct.detect.recognisers`.
"""

from discreet.guard.text.direct.detect import BOUND, CHECKED, SHAPED, DirectSpan, Facts, Hit, find_direct, recogniser

__all__ = ["BOUND", "CHECKED", "SHAPED", "DirectSpan", "Facts", "Hit", "find_direct", "recogniser"]
