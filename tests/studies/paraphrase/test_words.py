from __future__ import annotations

import re
from itertools import chain

import pytest

from discreet.studies.paraphrase import words

PATTERNS = [*words.IN_CONTEXT, *words.FRAMES, *words.CONTRACTIONS]


def test_phrases_stand_in_one_list() -> None:
    both_ways = list(chain.from_iterable(words.EITHER_WAY))
    assert len(both_ways) == len(set(both_ways))
    assert not set(both_ways) & set(words.ONE_WAY)
    assert all(phrase == phrase.lower() for phrase in (*both_ways, *words.ONE_WAY))
    assert all(phrase not in options for phrase, options in words.ONE_WAY.items())


@pytest.mark.parametrize(("pattern", "options"), PATTERNS, ids=[pattern for pattern, _ in PATTERNS])
def test_options_have_the_groups_of_their_pattern(pattern: str, options: tuple[str, ...]) -> None:
    groups = re.compile(pattern).groups
    assert options
    assert len(set(options)) == len(options)
    assert groups <= 1
    assert all(("{0}" in option) <= (groups == 1) for option in options)
    assert groups == 0 or all("{0}" in option for option in options)


def test_frames_enough_for_the_largest_number_of_copies() -> None:
    for kind, openers in words.OPENERS.items():
        closers = words.CLOSERS[kind]
        assert len(set(openers)) * (1 + len(set(closers))) >= 63
        assert not any(one.isdigit() for text in (*openers, *closers) for one in text)
        assert all(text[0].isupper() for text in (*openers, *closers))
