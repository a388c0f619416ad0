"""Teach the classifier to read a source: whether it tells of somebody private, or is a novel, an exercise, a decision as published.

    python -m benchmarks.reader.sources --data DATA --refuse REFUSE.PY [--epochs 3] [--seed 1] [--state F] [--output FOLDER]

The network stays as it is: what is taught are small products beside those of its last layers (LoRA; Hu and others, ICLR 2022) and a head,
some 200,000 numbers, which `adapt.py` writes as a network of its own beside the classifier. Thirteen writers teach, each of whose answers
comes out of two sources, one public and one a record (`pairs/brief_sources.md`, `_too`), records that are told as examples, and real
passages; whole, in pieces of one to four sentences, and such pieces beside a sentence of a public source.
Three epochs take some ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from benchmarks.reader.adapt import PRODUCTS, WIDTH, adapted, name_of
from benchmarks.reader.answers import CHOOSING
from benchmarks.reader.canaries import reserved
from benchmarks.reader.classifier import Together
from benchmarks.reader.corpus import labelled
from benchmarks.reader.export import write_card
from benchmarks.reader.fuse import HEADS
from benchmarks.reader.passages import shared_shingles
from benchmarks.reader.replies import PAIRS
from benchmarks.reader.restore import restored_classifier
from benchmarks.reader.rows import Row, lines
from torch import Tensor, nn
from torch.nn import functional

from discreet.guard.text.classifier import WINDOW, parts_of
from discreet.guard.text.reader import CARD, CLASSIFIER, FOLDER, SOURCES, Reader

FIRST, LAYERS, RANK, HIDDEN = 3, 6, 8, 32
"""The first layer that is taught, how many there are, the rank of what is added, and the width of the head."""
WHOLE, PIECE, REAL = 1.0, 0.5, 0.6
"""What a whole source, a piece of one, and a real passage weigh."""
DRESSED = ("dressed_d1", "dressed_d2")
EXERCISES = ("vignettes", "personas", "panorama")
DOUBTFUL = (*EXERCISES, "case_reports", "wikipedia", "genres", "reference")
"""Families that teach nothing, made up for a test; and those of which no passage teaches that somebody in it is private: many are
published cases or pages about known persons."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'“(])|\n+")


class Source(NamedTuple):
    """A text, whether it tells of somebody private, and what it weighs."""

    text: str
    private: bool
    weight: float


def sentences(text: str) -> list[str]:
    return [one for one in _SENTENCE.split(text) if len(one.split()) > 2]


def pairs(*, choosing: bool = False) -> Iterator[Row]:
    """The written answers with both of their sources, of the writers who teach or of those who choose."""
    for row in (row for path in sorted(PAIRS.glob("sources_*.jsonl")) for row in lines(path)):
        if (row["writer"] in CHOOSING) is choosing:
            yield row


def piece(text: str, rng: random.Random, most: int = 4) -> str:
    """One to four sentences of a text that follow one another."""
    told, size = sentences(text), rng.randint(1, most)
    at = rng.randrange(max(1, len(told) - size + 1))
    return " ".join(told[at : at + size])


def beside(text: str, public: str, rng: random.Random) -> str:
    """A piece before or behind a sentence of a public source."""
    both = [text, rng.choice(sentences(public))]
    rng.shuffle(both)
    return " ".join(both)


def teaching(data: Path, refuse: Path, rng: random.Random) -> list[Source]:
    """All that teaches."""
    overlaps = shared_shingles(refuse)
    rows = list(pairs())
    public, records = ([row[kind]["source"] for row in rows] for kind in ("public", "record"))
    folder = PAIRS.parent / "unseen"
    records += [text for name in DRESSED for row in lines(folder / f"{name}.jsonl") for text in row["sources"]]
    found = [Source(text, private, WHOLE) for private, texts in ((False, public), (True, records)) for text in texts]
    for private, texts in ((False, public), (True, records)):
        found += [Source(piece(text, rng), private, PIECE) for text in texts for _ in range(2)]
        found += [Source(beside(piece(text, rng, 3), rng.choice(public), rng), private, PIECE) for text in texts]
    real = [row for row in labelled(data, []) if row["teaches"] and not reserved(row["id"]) and overlaps(row["text"]) < 2]
    found += [Source(row["text"], said, REAL) for row in real if (said := _tells_of_somebody(row)) is not None]
    return [one for one in found if len(one.text.split()) > 7]


def _tells_of_somebody(row: Row) -> bool | None:
    """Whether a labelled passage tells of somebody private; None where its label does not say, or its family makes it doubtful."""
    main = row["people"].get(str(row.get("main")))
    if row["cluster"] in ("yes", "one") and main in ("third", "speaker"):
        return None if row["family"] in DOUBTFUL else True
    if row["family"] in EXERCISES:
        return None
    known = main == "public" and not {"third", "speaker"} & set(row["people"].values())
    return False if known or (row["cluster"] == "no" and main is None) else None


class Adapter(nn.Module):
    """What is added in the last layers, and the head; `of` is the classifier, which stays as it is."""

    def __init__(self, of: Together) -> None:
        super().__init__()
        for parameter in of.parameters():
            parameter.requires_grad = False
        self.added = nn.ParameterDict({
            f"{name_of(layer, product)} {side}": nn.Parameter(torch.randn(into, RANK) / math.sqrt(into) if side == "down" else torch.zeros(RANK, out))
            for layer in range(FIRST, LAYERS) for product, (into, out) in PRODUCTS.items() for side in ("down", "up")})  # fmt: skip
        self.look = nn.Linear(WIDTH, 2)
        self.look.load_state_dict(of.att.state_dict())
        self.narrow, self.says = nn.Linear(3 * WIDTH, HIDDEN), nn.Linear(HIDDEN, 1)
        self.layers, self.drop = [of.t.encoder.layer[k] for k in range(FIRST, LAYERS)], nn.Dropout(0.1)

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        """Log-odds (n,) that each source tells of somebody private, from what the first layers make of it, (n, t, 384)."""
        for number, layer in enumerate(self.layers, FIRST):
            h = self._layer(layer, number, h, mask)
        weights = self.look(h).masked_fill(mask[..., None] == 0, -1e4).softmax(1)
        read = torch.cat([h[:, 0], torch.einsum("ntw,nta->naw", h, weights).flatten(1)], 1)
        out: Tensor = self.says(self.drop(functional.gelu(self.narrow(self.drop(read)))))[:, 0]
        return out

    def _layer(self, layer: Any, number: int, h: Tensor, mask: Tensor) -> Tensor:
        def product(name: str, of: nn.Module, x: Tensor) -> Tensor:
            name = name_of(number, name)
            out: Tensor = of(x) + (x @ self.added[f"{name} down"]) @ self.added[f"{name} up"]
            return out

        one, (n, t, _) = layer.attention.self, h.shape
        query, key, value = (product(name, getattr(one, name), h).view(n, t, HEADS, -1).transpose(1, 2) for name in ("query", "key", "value"))
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=(mask > 0)[:, None, None, :])
        context = seen.transpose(1, 2).reshape(n, t, WIDTH)
        h = layer.attention.output.LayerNorm(product("context", layer.attention.output.dense, context) + h)
        wide = functional.gelu(product("wide", layer.intermediate.dense, h))
        out: Tensor = layer.output.LayerNorm(product("narrow", layer.output.dense, wide) + h)
        return out


@torch.no_grad()
def halfway(model: Together, reader: Reader, texts: Sequence[str]) -> dict[str, list[np.ndarray]]:
    """What the layers that are not taught make of texts: (t, 384) of each window."""
    found = dict[str, list[np.ndarray]]()
    windows = sorted(((text, [*head, *tail]) for text in dict.fromkeys(texts) for head, tail in parts_of(reader, text)), key=lambda one: len(one[1]))
    for at in range(0, len(windows), 16):
        some = windows[at : at + 16]
        ids, mask = torch.zeros(2, len(some), len(some[-1][1]), dtype=torch.long)
        for k, (_, tokens) in enumerate(some):
            ids[k, : len(tokens)], mask[k, : len(tokens)] = torch.tensor(tokens), 1
        kinds = mask * (torch.arange(ids.shape[1]) > 1)
        h = model.t.embeddings(inputs_embeds=model.vectors(ids), token_type_ids=kinds)
        for layer in model.t.encoder.layer[:FIRST]:
            h = layer(h, attention_mask=(mask > 0)[:, None, None, :])
            h = h[0] if isinstance(h, tuple) else h
        for k, (text, tokens) in enumerate(some):
            found.setdefault(text, []).append(h[k, : len(tokens)].half().numpy())
    return found


Window = tuple[np.ndarray, bool, float]


def batched(windows: Sequence[Window], rng: random.Random, size: int = 16) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Vectors, mask, whether private, and weights of batches of like length, in random order; in half of them some tokens are not seen."""
    order = sorted(windows, key=lambda one: len(one[0]) + rng.random() * 30)
    cuts = [order[at : at + size] for at in range(0, len(order), size)]
    rng.shuffle(cuts)
    for cut in cuts:
        longest = max(len(h) for h, _, _ in cut)
        hidden = torch.from_numpy(np.stack([np.pad(h, ((0, longest - len(h)), (0, 0))) for h, _, _ in cut]).astype(np.float32))
        mask = torch.tensor([[1] * len(h) + [0] * (longest - len(h)) for h, _, _ in cut])
        if rng.random() < 0.5:
            mask = mask * ~((torch.rand(mask.shape) < 0.08) & (torch.arange(longest) > 1))
        yield hidden, mask, torch.tensor([float(private) for _, private, _ in cut]), torch.tensor([weight for *_, weight in cut])


def fit(adapter: Adapter, windows: Sequence[Window], *, epochs: int, rate: float, seed: int) -> None:
    """Train in place."""
    torch.set_flush_denormal(True)
    rng, began, step, lost = random.Random(seed), time.time(), 0, 0.0
    taught = [p for p in adapter.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(taught, lr=rate, weight_decay=0.01)
    total = epochs * -(-len(windows) // 16)
    plan = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / (0.05 * total)) * max(0.02, 1 - s / total))
    adapter.train()
    for _ in range(epochs):
        for hidden, mask, private, weight in batched(windows, rng):
            loss = functional.binary_cross_entropy_with_logits(adapter(hidden, mask), private, weight=weight)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(taught, 1.0)
            optimiser.step()
            plan.step()
            step, lost = step + 1, 0.98 * lost + 0.02 * float(loss.detach())
            if step % 100 == 0:
                print(f"{step} of {total} batches, {time.time() - began:.0f}s, loss {lost:.3f}", flush=True)
    adapter.eval()


def export(adapter: Adapter, folder: Path, facts: dict[str, object]) -> None:
    """`sources.onnx` beside the classifier, and its hash and facts on the card."""
    taught = {name: value.detach().numpy() for name, value in adapter.added.items()}
    for name in ("look", "narrow", "says"):
        layer = getattr(adapter, name)
        taught |= {f"{name} weights": layer.weight.detach().numpy().T, f"{name} bias": layer.bias.detach().numpy()}
    adapted(folder / CLASSIFIER, folder / SOURCES, taught, FIRST, LAYERS)
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    card["sources"] = facts
    card["sha256"][SOURCES] = hashlib.sha256((folder / SOURCES).read_bytes()).hexdigest()
    write_card(folder, card)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "refuse"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--state", type=Path, help="taken instead of training where it is there")
    parser.add_argument("--output", type=Path, default=FOLDER)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    model = restored_classifier(args.output)
    adapter = Adapter(model.eval())
    told = teaching(args.data, args.refuse, random.Random(args.seed))
    if args.state and args.state.exists():
        adapter.load_state_dict(torch.load(args.state))
        adapter.eval()
    else:
        export(adapter, args.output, {"made": "untaught"})  # Without the file a reader does not open.
        made = halfway(model, Reader(args.output), [one.text for one in told])
        windows = [(h, one.private, one.weight) for one in told for h in made.get(one.text, ())]
        print(f"{len(told)} texts, {sum(one.private for one in told)} of them private, {len(windows)} windows of at most {WINDOW} tokens", flush=True)
        fit(adapter, windows, epochs=args.epochs, rate=args.rate, seed=args.seed)
        if args.state:
            torch.save(adapter.state_dict(), args.state)
    export(adapter, args.output, {"made": "benchmarks/reader/sources.py", "texts": len(told), "epochs": args.epochs, "seed": args.seed})


if __name__ == "__main__":
    main()
