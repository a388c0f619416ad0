"""The corpora of the study: campaigns written by the grammar, or those that `discreet synth run` left, as sets of rows.

A domain is a chain of campaigns. The first holds what is calibrated and evaluated on, later ones what is fitted on, a
block each, so that a larger study goes on with the texts and the vectors of a smaller one:

    OUT/data/<domain>-<n>/           campaigns, with their texts
    OUT/store/vectors/<key>/         vectors, float32, a file for every `SHARD` texts of a partition

A set of unsafe texts is what the paper's rule of a cluster calls unsafe: some of them bind classes of the domain alone
(`domain_only`), and are no leak under the default rule.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError
from discreet.core.files import write_atomic
from discreet.guard.domains import Domain, DomainLike, load_domain
from discreet.inputs.encode.base import Encoder
from discreet.synth.campaign import draft_key, run_campaign
from discreet.synth.plan import PARTITIONS, ROLES, Plan, make_plan
from discreet.synth.records import PASSAGES, Record

SHARD = 250
"""Texts of a file of vectors: what a kill can cost."""
DOMAIN_ONLY = 0.054
"""Share of the paper's unsafe records that bind the domain's own three classes of eight alone, when k of them are drawn
as in section IV-B: .45 · C(3, 2) / C(8, 2) + .35 · C(3, 3) / C(8, 3)."""
GRAMMAR = "grammar"
"""The source of texts that no model wrote."""
FIT, CALIBRATION, HOLDOUT = "fit", "calibration", "holdout"
UNSEEN = ("unsafe_heldout", "borderline_eval", "matched_unsafe", "matched_borderline")
OPTIONAL = ("matched_unsafe", "matched_borderline")
"""What the paper has not: where nobody has the role *matched*, figures of that pairing are undefined."""
SETS = (*(f"{kind}_{part}" for kind in ("safe", "unsafe") for part in (FIT, CALIBRATION, HOLDOUT)), "borderline_fit",
        *UNSEEN)
"""Every set: of safe and unsafe texts what is fitted, calibrated and evaluated on; borderline texts to fit on; and the
partitions that nothing is fitted on."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many texts a domain has: `fit` a side with `borderline` to go with them, `calibration` and `holdout` a side,
    and of the unseen partitions."""

    fit: int
    borderline: int
    calibration: int
    holdout: int
    unsafe_heldout: int
    borderline_eval: int
    matched: int

    def of(self, name: str) -> int:
        """Texts of one of `SETS`."""
        if name in UNSEEN:
            return self.matched if name.startswith("matched") else int(getattr(self, name))
        kind, part = name.split("_")
        return self.borderline if kind == "borderline" else int(getattr(self, part))


@dataclass(frozen=True, slots=True, eq=False)
class PPECorpus:
    """One domain: by set its records and their vectors (n, dim) float32, row by row.

    `source` is "grammar" or the name of the folder of campaigns; `dims` are the columns of each encoder; `short`
    says of sets that have fewer records than were asked for how many are missing; `key` names what all
    of it was made of.
    """

    domain: Domain
    source: str
    dims: tuple[int, ...]
    records: Mapping[str, Sequence[Record]] = field(repr=False)
    vectors: Mapping[str, NDArray[np.float32]] = field(repr=False)
    short: Mapping[str, int] = field(default_factory=dict)
    key: str = ""

    def texts(self, name: str) -> list[str]:
        """The answers of a set."""
        return [record.draft.answer for record in self.records[name]]

    def leaks(self, name: str) -> NDArray[np.bool_]:
        """Which records of a set are a leak under the default rule (`identifying`), not only under the paper's."""
        return np.array([record.spec.kind == "unsafe" for record in self.records[name]], dtype=np.bool_)

    def axis(self, name: str, axis: str) -> NDArray[np.str_]:
        """The level of an axis (`profile`, `subtype`, `mode`, …) of each record of a set; "" where it has none."""
        return np.array([getattr(record.spec, axis) or "" for record in self.records[name]], dtype=np.str_)

    def fitted(self, *, borderline: bool) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Rows and labels (1 unsafe) of the sets that are fitted on, with or without the borderline texts (v4, v3)."""
        safe = [self.vectors["safe_fit"], *([self.vectors["borderline_fit"]] if borderline else [])]
        unsafe = self.vectors["unsafe_fit"]
        return np.vstack([*safe, unsafe]), np.repeat([0, 1], [sum(map(len, safe)), len(unsafe)])


def write_campaigns(domain: DomainLike, sizes: Sizes, seed: int, to: Path, *, block: int = 1_000,
                    roles: str = "strict") -> Iterator[Path]:
    """The folders of a domain's campaigns, each written before it is yielded; what is there already is not written.

    The first is for calibration and evaluation, each later one for `block` texts a side to fit on.
    """
    held = sizes.calibration + sizes.holdout
    only = int(DOMAIN_ONLY * held) + 2
    plans = [{"safe": held, "unsafe": held, "domain_only": only, "unsafe_heldout": sizes.unsafe_heldout,
              "borderline_eval": sizes.borderline_eval, "matched_unsafe": sizes.matched,
              "matched_borderline": sizes.matched}]
    # One more than the share, so that the sum over blocks is never short for rounding.
    only, voiced = int(DOMAIN_ONLY * block) + 1, -(-sizes.borderline * block // sizes.fit)
    plans += [{"safe": block, "unsafe": block, "domain_only": only, "borderline": voiced}
              for _ in range(-(-sizes.fit // block))]
    for number, counts in enumerate(plans):
        folder = to / f"{load_domain(domain).name}-{number}"
        plan = make_plan(domain, counts, seed * 1_000 + number, roles=ROLES[roles])
        # A finished campaign is data: a later grammar, which would write it anew, leaves it alone.
        if not (folder / "manifest.json").is_file() or Plan.load(folder / "plan.json") != plan:
            run_campaign(plan, folder)
        yield folder


def read_corpus(domain: DomainLike, campaigns: Sequence[Path], encoders: Sequence[Encoder], sizes: Sizes, store: Path,
                *, source: str = GRAMMAR) -> PPECorpus:
    """The sets of a domain from the folders of its campaigns, encoded as far as they are not yet.

    InputError where a folder is no campaign's, or has no text for a set.
    """
    domain = load_domain(domain)
    parts: dict[str, _Found] = {name: [(folder, row) for folder in campaigns for row in _rows(folder, name)]
                                for name in PARTITIONS}
    parts["safe"] = _once(parts["safe"])
    chosen = _sets(parts, sizes)
    records, vectors, short = {}, {}, {}
    for name in SETS:
        if not chosen[name] and name not in OPTIONAL:
            raise InputError(f"the campaigns of {domain.name} have no text left for {name}: expected the partitions "
                             "that 'discreet synth run' writes, with more records; safe ones of a campaign of models "
                             "are passages of its --seeds; or fit on fewer (--texts)")
        records[name] = [row.record for _, row in chosen[name]]
        vectors[name] = np.hstack([_encoded(chosen[name], one, store) for one in encoders])
        if len(records[name]) < sizes.of(name):
            short[name] = sizes.of(name) - len(records[name])
    dims = tuple(one.dim for one in encoders)
    facts = json.dumps([[_manifest(folder)["key"] for folder in campaigns], "+".join(one.name for one in encoders),
                        dims, str(sizes)])
    return PPECorpus(domain, source, dims, records, _balanced(vectors, dims), short,
                     hashlib.sha256(facts.encode()).hexdigest()[:24])


def writers(folder: Path) -> dict[str, set[str]]:
    """The models that wrote a campaign, by name without its owner, with their roles; empty where no model did.

    The matched pair, which the paper does not have, is left out.
    """
    found: dict[str, set[str]] = {}
    for one in _manifest(folder).get("endpoints", ()):
        if roles := set(one["roles"]) - {"matched"}:
            found.setdefault(one["model"].rpartition("/")[2], set()).update(roles)
    return found


def encode_campaign(folder: Path, encoders: Sequence[Encoder], store: Path) -> None:
    """Encode every partition of one campaign; shards that are there are left alone."""
    for name in PARTITIONS:
        rows = [(folder, row) for row in _rows(folder, name)]
        for one in encoders if rows else ():
            _encoded(rows, one, store)


@dataclass(frozen=True, slots=True)
class _Row:
    """A record, and which row of which partition it is."""

    partition: str
    place: int
    record: Record


def _rows(folder: Path, partition: str) -> list[_Row]:
    path = folder / f"{partition}.jsonl"
    if not path.is_file():
        return []
    try:
        with path.open(encoding="utf-8") as handle:
            return [_Row(partition, place, Record.from_json(json.loads(line))) for place, line in enumerate(handle)]
    except ValueError as error:
        raise InputError(f"{path} holds a line that is no record ({error}); expected what 'discreet synth run' leaves"
                         ) from None


_Found = Sequence[tuple[Path, _Row]]


def _sets(parts: Mapping[str, _Found], sizes: Sizes) -> dict[str, _Found]:
    """The rows of each set: calibration, hold-out and fit from the head of a partition on, one after the other."""
    found: dict[str, _Found] = {name: parts[name][: sizes.of(name)] for name in UNSEEN}
    found["borderline_fit"] = parts["borderline"][: sizes.borderline]
    starts = {"safe": 0, "unsafe": 0, "domain_only": 0}
    for part in (CALIBRATION, HOLDOUT, FIT):
        n = int(getattr(sizes, part))
        only = min(round(DOMAIN_ONLY * n), len(parts["domain_only"]) - starts["domain_only"])
        taken: dict[str, _Found] = {}
        for kind, wanted in (("safe", n), ("unsafe", n - only), ("domain_only", only)):
            taken[kind] = parts[kind][starts[kind]: starts[kind] + wanted]
            starts[kind] += wanted
        found[f"safe_{part}"] = taken["safe"]
        found[f"unsafe_{part}"] = [*taken["unsafe"], *taken["domain_only"]]
    return found


def _once(found: _Found) -> _Found:
    """Without passages that an earlier campaign of the domain has too: they may start from the same corpora."""
    seen, kept = set[str](), []
    for one in found:
        record = one[1].record
        key = draft_key(record.draft) if record.generator == PASSAGES else ""
        if not key or key not in seen:
            kept.append(one)
        seen.add(key)
    return kept


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        return {**found, "key": str(found["key"])}
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{folder} has no manifest.json of a finished campaign: expected the folder that "
                         "'discreet synth run' leaves; run it to its end") from None


def _key(folder: Path, encoder: Encoder) -> str:
    """What vectors depend on: the campaign, as its manifest names it, and the encoder."""
    facts: Any = {"campaign": _manifest(folder)["key"], "encoder": encoder.name, "kind": encoder.kind,
                  "dim": encoder.dim, "facts": getattr(encoder, "facts", {})}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:24]


def _encoded(rows: _Found, encoder: Encoder, store: Path) -> NDArray[np.float32]:
    """Vectors (n, dim) of rows, from the shards of their partitions; shards that are missing are made."""
    out = np.empty((len(rows), encoder.dim), dtype=np.float32)
    shards: dict[tuple[Path, str, int], list[tuple[int, int]]] = {}
    for at, (folder, row) in enumerate(rows):
        shards.setdefault((folder, row.partition, row.place // SHARD), []).append((at, row.place % SHARD))
    for (folder, partition, number), pairs in shards.items():
        path = store / "vectors" / _key(folder, encoder) / f"{partition}-{number}.npy"
        if not path.is_file():
            texts = [row.record.draft.answer for row in _rows(folder, partition)[number * SHARD: (number + 1) * SHARD]]
            path.parent.mkdir(parents=True, exist_ok=True)
            made = io.BytesIO()
            np.save(made, encoder.encode(texts))
            write_atomic(path, made.getvalue())
        block = np.load(path, allow_pickle=False)
        ats, places = (list(some) for some in zip(*pairs, strict=True))
        out[ats] = block[places]
    return out


def _balanced(vectors: Mapping[str, NDArray[np.float32]], dims: Sequence[int]) -> dict[str, NDArray[np.float32]]:
    """The blocks of several encoders scaled to the same mean squared norm over what is fitted on, as `Fusion` does."""
    if len(dims) == 1:
        return dict(vectors)
    fitted = np.vstack([vectors[name] for name in SETS if name.endswith(f"_{FIT}")]).astype(np.float64)
    weights, start = np.empty(sum(dims), dtype=np.float32), 0
    for width in dims:
        squared = float((fitted[:, start: start + width] ** 2).sum(axis=1).mean())
        weights[start: start + width] = 1.0 / np.sqrt(squared) if squared > 0 else 1.0
        start += width
    return {name: rows * weights for name, rows in vectors.items()}
