from __future__ import annotations

from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.records import Public
from discreet.guard.text.quotes import common_phrases, find_quotes

NOTE = ("The claimant had worked nights at the cannery for eleven years when a falling pallet struck her shoulder on "
        "14 March, and she has not returned to any duties since the operation at the county hospital.")
FILLER = "Compensation is paid from the first day."


def quoted(said: str, *sources: str, least: int = 12, common: tuple[str, ...] = ()) -> list[str]:
    answer = f"{FILLER} {said} {FILLER}"
    return [answer[q.start : q.end] for q in find_quotes(answer, sources or (NOTE,), least=least, common=common)]


@pytest.mark.parametrize("said", [
    NOTE[4:96], NOTE[4:96].upper(), NOTE[4:96].replace(" ", ", "),
    "worked nights at the cannery for twelve years when a falling pallet struck her shoulder on 9 May",
    "worked nights at the **cannery** for some eleven years when a heavy falling pallet struck her shoulder",
    "had worked shifts at the cannery for eleven years when a falling crate struck her shoulder",
    "struck her shoulder on 14 March, and she has not to any duties since the operation",
])
def test_small_edits_do_not_hide_a_quote(said: str) -> None:
    (found,) = quoted(said)
    assert SequenceMatcher(None, found, said).ratio() > 0.85


@pytest.mark.parametrize("said", [
    "worked nights at the cannery for eleven years", "A pallet fell on the claimant at night.", "",
    "It was said to the one who had been there and that it is of the same as it was in the first of them.",
])
def test_what_is_no_quote(said: str) -> None:
    assert not quoted(said, NOTE, "It was said to the one who had been there and that it is of the same as it was.")


def test_the_passage_is_named_and_one_that_is_public_is_none() -> None:
    said = NOTE[4:95]
    (found,) = find_quotes(said, ("Nothing of it.", NOTE))
    assert (found.source, found.start, found.end) == (2, 0, len(said))
    assert not find_quotes(said, ("Nothing of it.", Public(NOTE)))
    assert not find_quotes(said, (NOTE, Public(f"A leaflet. {NOTE}")))
    assert not find_quotes(said, ())


def test_common_phrases_are_none() -> None:
    listed = "This information is not a substitute for professional medical advice, diagnosis or treatment."
    assert not quoted(listed, f"{NOTE} {listed}")
    assert quoted(NOTE[4:96], least=12)
    assert not quoted(NOTE[4:96], common=(NOTE,))
    assert not quoted(NOTE[4:96], least=30)


def test_phrases_of_many_documents() -> None:
    form = "the clerk of this registry certifies that the above is a true copy"
    names = "oak elm ash fir yew box bay fig sloe pear lime palm teak".split()
    words = [[f"{a}{b}" for b in names] for a in names[:7]]
    texts = [f"{' '.join(w)} {form} {' '.join(reversed(w))}" for w in words]
    assert common_phrases(texts, documents=5) == [form]
    assert common_phrases(texts, documents=8) == []
    # Chunks of one document, or the same document again, make nothing common.
    assert common_phrases([texts[0]] * 9, documents=5) == []
    with pytest.raises(ValueError, match="expected at least 2 and 4"):
        common_phrases(texts, documents=1)


_WORDS = st.lists(st.sampled_from("tin oak elm the of and ash fir a yew".split()), min_size=12, max_size=40)


@given(_WORDS, st.text(max_size=60))
def test_every_exact_quote_of_telling_words_is_found_and_offsets_fit(words: list[str], other: str) -> None:
    telling = [f"{word}{number}x" for number, word in enumerate(words)]
    said = " ".join(telling)
    answer = f"{FILLER} {said} {FILLER}"
    (found,) = find_quotes(answer, (other, said))
    assert (found.source, found.words, answer[found.start : found.end]) == (2, len(words), said)
    for one in find_quotes(f"{other} {said}", (f"{said} {other}", other)):
        assert 0 <= one.start < one.end <= len(other) + 1 + len(said)


@pytest.mark.parametrize("every", [6, 7, 9])
def test_a_long_quote_with_words_left_out_all_along_is_found_in_parts(every: int) -> None:
    words = [f"word{chr(97 + k % 26)}{chr(97 + k // 26 % 26)}{chr(97 + k // 676)}" for k in range(3_000)]
    answer = " ".join(word for k, word in enumerate(words) if k % every)
    found = find_quotes(answer, [" ".join(words)])
    assert len(found) > 1
    assert sum(quote.words for quote in found) > 0.9 * len(answer.split())
