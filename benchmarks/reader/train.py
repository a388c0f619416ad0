"""Train the reader, and write it with its weights into the package.

    python -m benchmarks.reader.train --data DATA --teachers FOLDER --refuse REFUSE.PY [--texts F …] [--epochs 8] [--state F]

`teachers.py` and `silver.py` write FOLDER first. A state that is there is taken instead of training; training takes some
15 minutes on two free cores. `calibrate.py` follows.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from benchmarks.reader.answers import IN_QUESTION, framed
from benchmarks.reader.composed import composed
from benchmarks.reader.corpus import corpus
from benchmarks.reader.export import export
from benchmarks.reader.frames import drawn
from benchmarks.reader.long import around, in_long
from benchmarks.reader.model import CASES, DEEPEST, Reader, weights_folder
from benchmarks.reader.replies import pairs, replies
from benchmarks.reader.rows import (
    CLASSES,
    COARSE,
    COUNTED,
    ENTITIES,
    KINDS,
    PERSONS,
    Row,
    Swaps,
    augmented,
    counts,
    held,
)
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from discreet.guard.text.reader import FOLDER
from discreet.guard.text.reply import inputs_of

LONGEST = 384
LAYERS = 6
"""Of MiniLM's six, those that ship."""
MASK = 103
HALVES = torch.backends.cpu.get_cpu_capability().startswith("AVX512")
"""Whether products of 16 bits are fast here."""
MAY = torch.tensor([[other in COARSE.get(kind, (kind,)) for other in KINDS] for kind in KINDS])
SEVERAL = torch.tensor([KINDS.index(kind) for kind in PERSONS])


def tokenizer() -> Tokenizer:
    tok = Tokenizer.from_file(str(weights_folder() / "tokenizer.json"))
    tok.no_padding()
    tok.enable_truncation(LONGEST)
    return tok


def new_reader(layers: int) -> Reader:
    from transformers import AutoModel

    # Dropout inside the trunk costs more time on a processor than the rest of its forward pass.
    return Reader(AutoModel.from_pretrained(weights_folder(), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                            attn_implementation="eager"), list(range(layers)))


def question(tok: Tokenizer, row: Row) -> list[int]:
    """The tokens of a text's question, a text of its own whose last tokens are read; none where there is none."""
    said = row.get("asked") or row.get("question") or ""
    if not said:
        return []
    tokens: list[int] = inputs_of([tok.encode(said).ids])["asked"][0].tolist()
    return tokens


def cases(row: Row, asked: bool) -> np.ndarray:
    """Which cases a text may be, by itself or behind its question, one of them at least; none where nothing is told."""
    case = row.get("case")
    if asked:
        known = bool(row.get("asked") or row.get("question"))
    else:  # A short reply says nothing without its question, and of a longer one the question may say that nobody is real.
        known = not row.get("asked") and not (case in IN_QUESTION and row.get("question"))
    if not known:
        return np.zeros(len(CASES), bool)
    if case is not None:
        return np.array([case == one for one in CASES])
    cluster, main = row.get("cluster"), row["people"].get(str(row.get("main", 0)))
    if cluster is None or (cluster != "no" and main not in ("third", "speaker")):
        return np.zeros(len(CASES), bool)
    told = {"yes": ("leak",), "one": ("one", "split")}.get(cluster)
    return np.array([one in told if told else one not in ("leak", "one", "split") for one in CASES])


def encode(tok: Tokenizer, row: Row) -> Row:
    """Token ids and targets; -1 in a target where the row does not tell."""
    enc = tok.encode(row["text"])
    at, ids = np.array(enc.offsets, np.int64), enc.ids
    t, known = len(ids), row.get("marks")
    inside = np.zeros((t, len(CLASSES)), np.float32)
    begins = np.zeros((t, len(CLASSES)), np.float32)
    if known is not None:
        for i, c in enumerate(CLASSES):
            if known.get(c) != "all":
                inside[:, i] = begins[:, i] = -1
    real = at[:, 1] > at[:, 0]
    spans = []
    each = held(row) if "cluster" in row else None
    for s in row["spans"]:
        where = np.flatnonzero(real & (at[:, 0] < s[1]) & (at[:, 1] > s[0]))
        if not len(where):
            continue
        i = CLASSES.index(s[2])
        if "w" in s[4]:  # Merely having a job is no occupation that counts; what else is weak teaches nothing either way.
            inside[where, i] = begins[where, i] = 0 if s[2] == "occupation" else -1
            continue
        inside[where, i] = 1
        begins[where, i] = 0
        begins[where[0], i] = 1
        kind = row["people"].get(str(s[3]), "nobody" if s[3] == 0 else None)
        # Nobody counts what a group, staff or somebody made up has.
        has = -1 if each is None or kind not in KINDS or str(s[3]) not in each else each[str(s[3])] if kind in KINDS[:3] else 0
        spans.append((where[0], where[-1] + 1, i, KINDS.index(kind) if kind in KINDS else -1, s[3], has, bool(row.get("status"))))
    entity = np.full((t, len(ENTITIES)), -1 if "entities" not in row else 0, np.float32)
    for s in row.get("entities", []):
        if s[2] in ENTITIES:
            entity[real & (at[:, 0] < s[1]) & (at[:, 1] > s[0]), ENTITIES.index(s[2])] = 1
    told = counts(row) if "cluster" in row else None
    count = np.full((3, DEEPEST), -1, np.float32)
    if told is not None:
        count = np.array([[float(told[k] > d) for d in range(DEEPEST)] for k in KINDS[:3]], np.float32)
    inferred = np.full(len(COUNTED), -1, np.float32)
    if "inferred" in row and told is not None:
        inferred = np.array([float(any(c == k for k, _ in row["inferred"])) for c in COUNTED], np.float32)
    return {"ids": np.array(ids), "asked": np.array(question(tok, row), np.int64), "inside": inside, "begins": begins, "spans": spans, "entity": entity,
            "counts": count, "inferred": inferred, "case": np.stack([cases(row, asked) for asked in (False, True)]),
            "weight": row.get("weight", 1.0)}  # fmt: skip


def batches(items: list[Row], size: int, rng: random.Random) -> list[list[Row]]:
    """Batches of like length, in random order."""
    order = sorted(range(len(items)), key=lambda i: len(items[i]["ids"]) + len(items[i]["asked"]) + rng.random() * 24)
    cuts = [[items[i] for i in order[k : k + size]] for k in range(0, len(order), size)]
    rng.shuffle(cuts)
    return cuts


def masked(items: list[Row], rng: random.Random, share: float = 0.08) -> list[Row]:
    """Half of the rows with some of their tokens hidden, so that what stands around a word teaches too."""
    out = []
    for item in items:
        if rng.random() < 0.5:
            item = {**item, **{name: _hidden(item[name], rng, share) for name in ("ids", "asked")}}  # noqa: PLW2901
        out.append(item)
    return out


def _hidden(ids: np.ndarray, rng: random.Random, share: float) -> np.ndarray:
    hidden = np.array([rng.random() < share for _ in ids], bool)
    hidden[:1] = hidden[-1:] = False
    return np.where(hidden, MASK, ids)


def padded(batch: list[Row], name: str, fill: float) -> Tensor:
    longest = max(len(b[name]) for b in batch)
    return torch.from_numpy(np.stack([np.pad(b[name], [(0, longest - len(b[name]))] + [(0, 0)] * (b[name].ndim - 1),
                                             constant_values=fill) for b in batch]))  # fmt: skip


def bce(logits: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    known = (target >= 0).float() if weight is None else (target >= 0).float() * weight
    loss = functional.binary_cross_entropy_with_logits(logits.float(), target.clamp(min=0), reduction="none") * known
    return loss.sum() / known.sum().clamp(min=1)


def mean_of(values: Tensor, segment: Tensor, size: Tensor) -> Tensor:
    """Means of the rows of each segment."""
    total = torch.zeros(len(size), *values.shape[1:]).index_add(0, segment, values)
    return total / size[:, None]


def loss_of(model: Reader, batch: list[Row]) -> dict[str, Tensor]:
    ids, asked = padded(batch, "ids", 0), padded(batch, "asked", 0)
    places = torch.arange(asked.shape[1]).expand_as(asked)
    heads = torch.zeros(min(1, asked.shape[1]), dtype=torch.long)
    out = {k: v.float() for k, v in model(ids, (ids != 0).long(), asked, (asked != 0).long(), places, heads).items()}
    weight = torch.tensor([b["weight"] for b in batch]).view(-1, 1, 1)
    losses = {"inside": bce(out["inside"], padded(batch, "inside", -1), weight) * len(CLASSES),
              "begins": bce(out["begins"], padded(batch, "begins", -1), weight) * len(CLASSES),
              "entity": bce(out["entity"], padded(batch, "entity", -1)) * len(ENTITIES)}  # fmt: skip
    spans = [(n, *s) for n, b in enumerate(batch) for s in b["spans"] if s[3] >= 0]
    zero = out["inside"].sum() * 0
    losses["whose"] = losses["same"] = losses["held"] = zero
    if spans:
        row, first, last, c, kind, person, has, fine = (torch.tensor(x) for x in zip(*spans, strict=True))
        size = last - first
        segment = torch.arange(len(spans)).repeat_interleave(size)
        token = torch.arange(int(size.sum())) - (size.cumsum(0) - size).repeat_interleave(size) + first.repeat_interleave(size)
        place = row[segment] * ids.shape[1] + token
        whose = mean_of(out["whose"].flatten(0, 1)[place, c[segment]], segment, size)
        may = torch.where(fine[:, None], torch.eye(len(KINDS), dtype=torch.bool)[kind], MAY[kind])
        losses["whose"] = (whose.logsumexp(-1) - whose.masked_fill(~may, -1e4).logsumexp(-1)).mean()
        least = mean_of(out["held"].flatten(0, 1)[place], segment, size)
        target = torch.where(has[:, None] < 0, -1.0, (has[:, None] > torch.arange(DEEPEST)).float())
        losses["held"] = bce(least, target, weight[row, 0] / torch.bincount(row, minlength=len(batch))[row, None].sqrt())
        vector = mean_of(out["person"].flatten(0, 1)[place], segment, size)
        i, j = torch.triu_indices(len(spans), len(spans), 1)
        told = torch.isin(kind, SEVERAL) & (person > 0)
        kept = (row[i] == row[j]) & told[i] & told[j]
        i, j = i[kept], j[kept]
        if len(i):
            odds = model.alike(vector[i], c[i], vector[j], c[j])
            loss = functional.binary_cross_entropy_with_logits(odds, (person[i] == person[j]).float(), reduction="none")
            shares = torch.bincount(row[i], minlength=len(batch)).float()  # A passage counts once, however many pairs it has.
            losses["same"] = (loss / shares[row[i]]).sum() / (shares > 0).sum()
    may = torch.from_numpy(np.stack([b["case"] for b in batch]))[:, : out["case"].shape[1]]
    told = may.any(-1)
    case = out["case"][told]
    losses["case"] = (case.logsumexp(-1) - case.masked_fill(~may[told], -1e4).logsumexp(-1)).mean() if told.any() else zero
    losses["counts"] = bce(out["counts"], torch.from_numpy(np.stack([b["counts"] for b in batch])), weight)
    losses["inferred"] = bce(out["inferred"], torch.from_numpy(np.stack([b["inferred"] for b in batch])), weight[:, 0])
    return losses


SHARES = {"inside": 1.0, "begins": 0.5, "entity": 0.3, "whose": 0.5, "same": 0.5, "held": 1.0, "counts": 0.7, "inferred": 0.3, "case": 1.0}


def fit(rows: list[Row], *, layers: int, epochs: int, seed: int, swaps: Swaps, teachers: Sequence[Row], each: int, frames: int, long: int = 0,
        rate: float = 3e-4, size: int = 16, share: float = 1.0, whole: Sequence[str] = (), asked: float = 1.0, start: Path | None = None) -> Reader:  # fmt: skip
    """Train, each epoch, on the rows of the writers `whole` and a `share` of the others, on a share `asked` of the requests, on some of the
    teachers' and of the frames', and texts and `long` answers put together anew; the mean of the late weights."""
    torch.manual_seed(seed)
    torch.set_flush_denormal(True)
    rng = random.Random(seed)
    model, tok = new_reader(layers), tokenizer()
    if start is not None:
        before = {k: v for k, v in torch.load(start).items() if v.shape == model.state_dict()[k].shape}
        model.load_state_dict(before, strict=False)  # A state of before may lack a head, or have one of other classes.
    for p in model.trunk.embeddings.parameters():
        p.requires_grad = False
    trunk = [p for p in model.trunk.parameters() if p.requires_grad]
    heads = [p for n, p in model.named_parameters() if not n.startswith("trunk.")]
    optimiser = torch.optim.AdamW([{"params": trunk, "lr": rate}, {"params": heads, "lr": 5 * rate}], weight_decay=0.02)
    always, others = [r for r in rows if r.get("writer") in whole], [r for r in rows if r.get("writer") not in whole]
    read = round(share * len(others))
    behind, requests = list(pairs()), round(asked * len(list(replies(random.Random(seed)))))
    total = epochs * math.ceil((len(always) + read + min(each, len(teachers)) + 2 * frames + long + len(behind) + requests) / size)
    plan = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / (0.06 * total)) * max(0.02, 1 - s / total))
    began, step = time.time(), 0
    said = [r for r in rows if r["family"] == "assistants" and r.get("case")]
    nobody = around(said)
    average = [p.detach().clone() for p in model.parameters()]
    for epoch in range(epochs):
        model.train()
        seen: dict[str, list[float]] = defaultdict(list)
        taken = rng.sample(list(teachers), min(each, len(teachers)))
        items = [encode(tok, augmented(framed(swaps.of(r, rng), rng), rng)) for r in [*always, *rng.sample(others, read), *taken, *drawn(rng, frames), *(composed(rng) for _ in range(frames))]]
        items += [encode(tok, augmented(in_long(framed(swaps.of(r, rng), rng), nobody, rng), rng)) for r in rng.sample(said, min(long, len(said)))]
        items += [encode(tok, row) for row in [*behind, *rng.sample(list(replies(rng)), requests)]]
        cuts = batches(masked(items, rng), size, rng)
        for number, batch in enumerate(cuts):
            if number % 100 == 0:
                print(f"{number} of {len(cuts)} batches, {time.time() - began:.0f}s", flush=True)
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALVES):
                losses = loss_of(model, batch)
            loss = sum((SHARES[k] * v for k, v in losses.items()), torch.zeros(()))
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trunk + heads, 1.0)
            optimiser.step()
            plan.step()
            step += 1
            with torch.no_grad():  # The mean of the late weights reads unseen text better than the last ones.
                keep = min(0.997, step / (step + 100))
                for mean, now in zip(average, model.parameters(), strict=True):
                    mean.mul_(keep).add_(now, alpha=1 - keep)
            for k, v in losses.items():
                seen[k].append(float(v.detach()))
        print(f"epoch {epoch + 1}/{epochs} {time.time() - began:.0f}s " + " ".join(f"{k} {np.mean(v):.4f}" for k, v in seen.items()))
    with torch.no_grad():
        for mean, now in zip(average, model.parameters(), strict=True):
            now.copy_(mean)
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "teachers", "refuse"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="*", default=[])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--layers", type=int, default=LAYERS, help="how many of MiniLM's six")
    parser.add_argument("--frames", type=int, default=900)
    parser.add_argument("--long", type=int, default=0, help="answers among others, put together anew in each epoch; with 2,800 the reader ranked no better")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--without", nargs="*", default=[], help="families that teach nothing, to be judged on")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--share", type=float, default=1.0, help="of the rows, requests and roles apart, those that are read, drawn anew each epoch")
    parser.add_argument("--asked", type=float, default=1.0, help="of requests and roles, those that are read in each epoch")
    parser.add_argument("--whole", nargs="*", default=[], help="writers of answers of whom every row is read in each epoch")
    parser.add_argument("--start", type=Path, help="a state from which training goes on")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--output", type=Path, default=FOLDER)
    args = parser.parse_args()
    teach, others, more, refused = corpus(args.data, args.texts, args.teachers, args.refuse, args.without)
    print(f"{len(teach)} labelled or written rows teach, {len(more)} of teachers; {len(others)} choose; refused {refused}")
    said = (r["text"][s[0] : s[1]] for r in [*teach, *more] for s in r["spans"] if s[2] == "name")
    names = sorted({name for name in said if name.count(" ") == 1})
    if args.state and args.state.exists():
        model = new_reader(args.layers)
        model.load_state_dict(torch.load(args.state))
    else:
        model = fit(teach, layers=args.layers, epochs=args.epochs, seed=args.seed, swaps=Swaps(names), teachers=more, each=700, frames=args.frames, long=args.long,
                    rate=args.rate, share=args.share, whole=args.whole, asked=args.asked, start=args.start)
        if args.state:
            torch.save(model.state_dict(), args.state)
    facts = {"made": "benchmarks/reader/train.py", "rows": len(teach), "teachers": len(more), "refused": refused, "epochs": args.epochs,
             "seed": args.seed, "families": dict(Counter(r["family"] for r in teach)), "thresholds": dict.fromkeys(CLASSES, 0.5)}  # fmt: skip
    export(model.eval(), args.output, facts)


if __name__ == "__main__":
    main()
