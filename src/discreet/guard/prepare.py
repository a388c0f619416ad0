"""From files to rows: texts that layer 2 may see, dealt into three sets, and encoded once for all that is fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError
from discreet.core.files import progress
from discreet.encode.base import Encoder
from discreet.encode.encoders.evidence import EvidenceEncoder
from discreet.encode.fusion import Fusion
from discreet.guard.corpus import PARTS, Kind, Part, Sample, deal, read_side, without_repeats
from discreet.guard.detector import ENCODED, Encoded, Rows, fit_fusion, reading_of, rows_of_many
from discreet.guard.policy import Policy
from discreet.guard.reading import Read, counts_directly, read_answer

Files = Path | str | Sequence[Path | str]


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """Texts that layer 1 lets pass, what was read in each, and the set that each belongs to.

    Attributes
    ----------
    counts : mapping
        Texts `read`; `repeated`, `contradictory`, `direct`, `empty` and `not_english` ones that were dropped, in this
        order; and `PART_KIND` for what was left.
    files : tuple of (kind, path)
        Where they came from.
    """

    policy: Policy
    samples: Sequence[Sample] = field(repr=False)
    reads: Sequence[Read] = field(repr=False)
    parts: Sequence[Part] = field(repr=False)
    counts: Mapping[str, int]
    files: tuple[tuple[Kind, Path], ...] = ()

    def of(self, part: Part) -> tuple[list[Sample], list[Read]]:
        """The texts of one set."""
        places = [i for i, p in enumerate(self.parts) if p == part]
        return [self.samples[i] for i in places], [self.reads[i] for i in places]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedCorpus:
    """A corpus as rows.

    Attributes
    ----------
    features : (n, dim) float32
        Of the fit set, a row a text.
    evidence : (n, k) float32
        Of the fit set.
    held : mapping
        Rows of the calibration and the evaluation set.
    """

    corpus: Corpus
    encoded: Encoded
    fusion: Fusion
    reader: EvidenceEncoder
    features: NDArray[np.float32] = field(repr=False)
    evidence: NDArray[np.float32] = field(repr=False)
    held: Mapping[Part, Rows] = field(repr=False)

    def kinds(self, part: Part) -> NDArray[np.str_]:
        """ "safe", "unsafe" or "borderline" of each text of a set."""
        return np.array([sample.kind for sample in self.corpus.of(part)[0]])


def read_corpus(policy: Policy, safe: Files, unsafe: Files, borderline: Files = (), *, seed: int = 42,
                quiet: bool = True) -> Corpus:
    """Read the files of all sides, drop repeats and what never reaches layer 2, and deal the rest into three sets.

    What layer 1 flags, what is empty and what is not English never reaches layer 2.

    Raises
    ------
    InputError
        For files that cannot be read and sides with too few texts.
    """
    sides: list[tuple[Kind, list[Path]]] = [
        ("safe", _paths(safe)), ("unsafe", _paths(unsafe)), ("borderline", _paths(borderline))
    ]  # fmt: skip
    samples = [s for kind, paths in sides for s in read_side(paths, kind, policy.domain.name)]
    counts = Counter(read=len(samples))
    samples, repeats = without_repeats(samples)
    reads = [read_answer(s.answer, policy) for s in progress(samples, len(samples), quiet=quiet, label="texts read")]
    lost = [never_judged(read, policy) for read in reads]
    counts.update({**repeats, **{why: lost.count(why) for why in ("direct", "empty", "not_english")}})
    kept = [i for i, why in enumerate(lost) if why is None]
    samples, reads = [samples[i] for i in kept], [reads[i] for i in kept]
    parts = deal(samples, seed)
    counts.update(f"{part}_{s.kind}" for part, s in zip(parts, samples, strict=True))
    files = tuple((kind, path) for kind, paths in sides for path in paths)
    return Corpus(policy, samples, reads, parts, dict(counts), files)


def never_judged(read: Read, policy: Policy) -> str | None:
    """Why layer 2 would never be asked about a text."""
    if any(counts_directly(span, subject, policy) for span, subject in read.direct):
        return "direct"
    if read.empty:
        return "empty"
    return None if read.english else "not_english"


def _paths(given: Files) -> list[Path]:
    return [Path(given)] if isinstance(given, str | Path) else [Path(p) for p in given]


def encode_corpus(corpus: Corpus, encoders: Sequence[Encoder], encoded: Encoded = "answer") -> EncodedCorpus:
    """The rows of every set; the encoders are weighed on the fit set. Raises UsageError for an unknown `encoded`."""
    if encoded not in ENCODED:
        raise UsageError(f"--encoded {encoded!r}: expected one of {', '.join(ENCODED)}")
    reader = EvidenceEncoder(corpus.policy.domain)
    samples, reads = corpus.of("fit")
    fusion, features = fit_fusion(encoders, [s.answer for s in samples], reads, encoded)
    evidence = reader.rows([reading_of(read) for read in reads])
    held: dict[Part, Rows] = {}
    for part in PARTS[1:]:
        samples, reads = corpus.of(part)
        held[part] = rows_of_many(fusion, reader, [s.answer for s in samples], reads, encoded)
    return EncodedCorpus(corpus, encoded, fusion, reader, features, evidence, held)
