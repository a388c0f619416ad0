"""What the reader's weights give away about the passages that it was trained on: our own two audits of it.

    python -m benchmarks.reader.audit --data DATA --teachers FOLDER --refuse REFUSE.PY --state STATE.PT [--texts F …] [--output F]

The attacker has the shipped file and asks it through onnxruntime. *Membership*: losses of rows that were trained on against those of
reserved rows, through `discreet.audit_membership`. *Canaries*: which of two classes did a coin give an invented word? through
`discreet.audit_labels`. Two networks trained on other passages are control model and reference; they are kept next to STATE. The positive
control of both is the shipped network trained for eight more epochs on a random half of the reserved rows and held-out canaries.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.reader.canaries import TIMES, canaries, reserved
from benchmarks.reader.corpus import corpus, labelled, written
from benchmarks.reader.passages import shared_shingles
from benchmarks.reader.rows import ENTITIES, Row, Swaps, augmented
from benchmarks.reader.train import LAYERS, SHARES, batches, encode, fit, loss_of, new_reader, tokenizer
from torch import Tensor

import discreet
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold
from discreet.audit.labels.attacks.reference import ReferenceCalibrated
from discreet.audit.scores.table import CANARY, CONTROL, HELDOUT, UNKNOWN, Canaries, Examples, Model, ScoreTable
from discreet.core.records import Estimate
from discreet.guard.text.reader import FOLDER, Reader
from discreet.stats import auroc_estimate, tpr_at_fpr_estimate

LOSSES = ("span", "count", "training")  # The last is the sum that training lowers.
Network = tuple[Callable[[Tensor], dict[str, Tensor]], Callable[..., Tensor]]
"""Logits by name of token ids (1, t), and the log-odds that two spans are of one person."""


def shipped(folder: Path) -> Network:
    """The file that ships, as `discreet.guard.text.reader` runs it; a row fits one window."""
    reader = Reader(folder)
    names = [o.name for o in reader._session.get_outputs()]
    gate, shift = torch.from_numpy(reader._gate), torch.from_numpy(reader._shift)

    def said(ids: Tensor) -> dict[str, Tensor]:
        found = dict(zip(names, map(torch.from_numpy, reader._session.run(names, {"ids": ids.numpy()})), strict=True))
        return {**found, "entity": torch.zeros(*ids.shape, len(ENTITIES))}  # Not in the file; these rows tell none.

    def alike(a: Tensor, a_class: Tensor, b: Tensor, b_class: Tensor) -> Tensor:
        left, right = a * gate[a_class] + shift[a_class], b * gate[b_class] + shift[b_class]
        odds: Tensor = (left * right).sum(-1) * reader._scale + reader._bias
        return odds

    return said, alike


def trained(model: Any) -> Network:
    model.eval()
    return lambda ids: model(ids, torch.ones_like(ids)), model.alike


@torch.no_grad()
def judged(network: Network, item: Row) -> list[float]:
    """LOSSES of a row, NaN where it tells nothing of the kind; then log-odds of the last against the first known class on its spans."""
    out = network[0](torch.from_numpy(item["ids"])[None])
    fixed = type("Said", (), {"__call__": lambda *_: out, "alike": staticmethod(network[1])})()
    words = (item["inside"] == 1).any(1)
    only = {k: np.where(words[:, None], item[k], -1) for k in ("inside", "begins")}
    whole, spans = loss_of(fixed, [item]), loss_of(fixed, [{**item, **only}])
    span = float(spans["inside"] + SHARES["begins"] * spans["begins"]) if words.any() else math.nan
    count = float(whole["counts"]) if (item["counts"] >= 0).any() else math.nan
    odds = out["inside"][0, torch.from_numpy(words)].mean(0)[item["inside"][1] >= 0]
    return [span, count, float(sum(SHARES[k] * v for k, v in whole.items())), float(odds[-1] - odds[0])]


def table_of(losses: Any, rows: Sequence[Row], member: Any, others: int, name: str) -> ScoreTable:
    """Losses (models, rows) of a target, `others` control models and neutral references, as logits of two classes with just this loss."""
    models = (Model(name), *(Model(f"other {i}", *(("control",) if i == 0 else ("reference", "neutral"))) for i in range(others)))
    told = np.flatnonzero(np.isfinite(losses[0]))
    loss = np.maximum(losses[:, told], 1e-9)
    logits = np.stack([np.zeros_like(loss), -loss - np.log(-np.expm1(-loss))], -1)[:, :, None, :]
    ids, planted = (np.array([rows[int(i)].get(key, 0) for i in told]) for key in ("id", "planted"))
    membership = np.stack([member[told], *np.zeros((others, len(told)))]).astype(np.int8)
    return ScoreTable(models, Examples(ids.astype(np.object_), np.ones(len(told), np.int64), planted), logits, membership)


def families(losses: Any, rows: Sequence[Row], member: Any) -> dict[str, Any]:
    """Loss and calibrated loss by family and pooled: AUC, TPR at 1% and 10% FPR, and AUC of the control model."""
    of, found = np.array([r["family"] for r in rows]), dict[str, Any]()
    told = np.isfinite(losses[0]) & (of != "canary")
    for family in ("pooled", *sorted(set(of[told]))):
        at = told & ((of == family) | (family == "pooled"))
        truth = member[at]
        found[family] = {"members": int(truth.sum()), "reserved": int((1 - truth).sum())}
        for way, score in (("loss", -losses[0, at]), ("calibrated", losses[2, at] - losses[0, at]), ("control", -losses[1, at])):
            rates = {f"tpr_at_{share:.0%}": plain(tpr_at_fpr_estimate(score, truth, share)) for share in (0.01, 0.1)}
            found[family][way] = {"auc": plain(auroc_estimate(score, truth)), **rates}
    return found


def plain(e: Estimate) -> list[float] | None:
    return None if e.value is None else [round(float(x), 3) for x in (e.value, e.low, e.high) if x is not None]


def membership(losses: Any, rows: Sequence[Row], member: Any, name: str, seed: int) -> dict[str, Any]:
    """An audit of each loss; the span loss was to decide. `losses` is (target and others, rows, LOSSES)."""
    texts, found = {r["id"]: r["text"] for r in rows}, {}
    for k, loss in enumerate(LOSSES):
        table = table_of(losses[:, :, k], rows, member, len(losses) - 1, name)
        audit = discreet.audit_membership(table, design="randomised", texts=texts, seed=seed, attacks=["loss"])
        found[loss] = {"families": families(losses[:, :, k], rows, member), "audit": audit.to_json()}
        print(f"{name}, {loss} loss: {audit.verdict}:", *audit.decisive.judgement.reasons, json.dumps(found[loss]["families"]["pooled"]))
    return found


def labels(odds: Any, rows: Sequence[Row], member: Any, name: str, seed: int) -> dict[str, Any]:
    """A label audit of canaries: the coin is the label, the log-odds less their median over the frame the score; (networks, rows)."""
    frame, coin = (np.array([r[key] for r in rows]) for key in ("frame", "coin"))
    centred = odds - np.stack([np.median(odds[:, frame == f], axis=1) for f in frame], 1)
    planted = np.array([r["planted"] if r["planted"] > 1 and t else 0 for r, t in zip(rows, member, strict=True)])
    own = (np.where(member == 1, CANARY, CONTROL), coin, coin, planted)  # The others were trained on none of these words.
    drawn = Canaries(*(np.stack([mine, *[np.full(len(rows), theirs)] * (len(odds) - 1)]).astype(np.int64)
                       for mine, theirs in zip(own, (HELDOUT, coin, UNKNOWN, 0), strict=True)))  # type: ignore[arg-type]
    models = (Model(name), *(Model(f"other {i}", "reference") for i in range(len(odds) - 1)))
    original = np.random.default_rng((seed, 7)).integers(0, 2, len(rows))  # An invented word has no label of its own: another coin.
    logits, ids = np.stack([np.zeros_like(centred), centred], -1), np.array([r["id"] for r in rows], np.object_)
    audit = discreet.audit_labels(ScoreTable.of_canaries(models, ids, original, drawn, logits), seed=seed,
                                  attacks=(LiaThreshold("median"), ReferenceCalibrated(centred=True)), tune=False)
    print(f"{name}, canaries: {audit.verdict}:", *audit.decisive.judgement.reasons,
          *((row.settings.attack, plain(row.success), "held out", plain(row.held_out)) for row in audit.attacks))
    return audit.to_json()


def loaded(path: Path) -> Any:
    model = new_reader(LAYERS)
    model.load_state_dict(torch.load(path))
    return model


def overtrained(state: Path, rows: Sequence[Row], seed: int) -> Any:
    torch.manual_seed(seed)
    rng, tok, model = random.Random(seed), tokenizer(), loaded(state)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(8):
        for batch in batches([encode(tok, augmented(r, rng)) for r in rows], 16, rng):
            loss = sum((SHARES[k] * v for k, v in loss_of(model.train(), batch).items()), torch.zeros(()))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    return model


def others_of(state: Path, rows: list[Row], more: list[Row]) -> list[Network]:
    """Two networks trained on passages of families that do not teach; kept next to the state."""
    for seed, path in (paths := {seed: state.with_suffix(f".other{seed}.pt") for seed in (11, 12)}).items():
        if not path.exists():
            torch.save(fit(rows, layers=LAYERS, epochs=2, seed=seed, swaps=Swaps([]), teachers=[], each=0, frames=0).state_dict(), path)
    return [trained(loaded(path)) for path in paths.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "teachers", "refuse", "state"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--model", type=Path, default=FOLDER)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, default=Path("reader_audit.json"))
    args = parser.parse_args()
    teach, rest, more, _ = corpus(args.data, args.texts, args.teachers, args.refuse)
    overlaps = shared_shingles(args.refuse)
    kept = [r for r in (*labelled(args.data, args.texts), *written()) if r["teaches"] and reserved(r["id"]) and overlaps(r["text"]) < 2]
    members = [r for r in teach if r["family"] != "canary" and not reserved(r["id"])]
    members = random.Random(args.seed).sample(members, min(len(members), 5 * len(kept)))  # More of them tell hardly more.
    inside = list({r["id"]: {**r, "planted": max(r["planted"], 1)} for r in canaries(args.seed)}.values())
    outside = [{**r, "planted": TIMES} for r in canaries(args.seed, held_out=True)]
    rows = [*members, *kept, *inside, *outside]
    networks, items = [shipped(args.model), *others_of(args.state, rest, more)], [encode(tokenizer(), r) for r in rows]
    member = np.array([1] * len(members) + [0] * len(kept) + [1] * len(inside) + [0] * len(outside))
    canary = np.array([r["family"] == "canary" for r in rows])
    said = np.array([[judged(network, item) for item in items] for network in networks])
    record: dict[str, Any] = {"seed": args.seed, "weights": Reader(args.model).card["sha256"],
                              "membership": membership(said, rows, member, "shipped", args.seed),
                              "labels": labels(said[:, canary, -1], [*inside, *outside], member[canary], "shipped", args.seed)}  # fmt: skip
    known = np.flatnonzero(member == 0)
    half = np.random.default_rng(args.seed).permuted(np.arange(len(known)) % 2)
    left, of = [rows[i] for i in known], canary[known]
    model = trained(overtrained(args.state, [rows[i] for i in known[half == 1]], args.seed))
    said = np.concatenate([[[judged(model, items[i]) for i in known]], said[1:, known]])
    alone = [{**r, "planted": 1} for r, canary in zip(left, of, strict=True) if canary]
    record["positive"] = {"membership": membership(said, left, half, "overtrained", args.seed),
                          "labels": labels(said[:, of, -1], alone, half[of], "overtrained", args.seed)}
    args.output.write_text(json.dumps(record, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
