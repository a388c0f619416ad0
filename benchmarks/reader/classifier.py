"""Train the network that reads an answer together with its question, and write it into the package beside the reader.

    python -m benchmarks.reader.classifier --data DATA --refuse REFUSE.PY [--epochs 2] [--rate 1.2e-4] [--start F] [--state F] [--seed 1] [--share 1] [--mean F F]

It says which of `CASES` an answer is: a leak, or what else. Answers by writers teach it, requests and roles (`replies.py`), answers
behind four questions each (`pairs`), and labelled or written passages behind a question that asks for a record, or behind none. What
may be several cases teaches that it is one of them. Word embeddings stay MiniLM's, which the reader has too, so that both share them.
A state that is there is taken instead of training. Two epochs take some 35 minutes on two cores. `sources.py` comes next.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.reader.answers import CHOOSING, IN_QUESTION, answers, framed, of_answer
from benchmarks.reader.canaries import reserved
from benchmarks.reader.corpus import labelled, written
from benchmarks.reader.export import write_card
from benchmarks.reader.fuse import fuse
from benchmarks.reader.long import HOSTS, around, in_long, namesake, slipped, stretches, windows
from benchmarks.reader.model import CASES, weights_folder
from benchmarks.reader.passages import shared_shingles
from benchmarks.reader.replies import out_of_documents, pairs, replies
from benchmarks.reader.rows import Row
from benchmarks.reader.train import HALVES, MASK, cases, tokenizer
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from discreet.guard.text.classifier import ASKED, WINDOW
from discreet.guard.text.reader import CARD, CLASSIFIER, FOLDER, SOURCES

FOR_A_RECORD = (
    "What does the file say about this one?", "Summarise the record.", "Pull up the note please", "read me the next entry", "What happened?",
    "show me what we have", "What is in the notes?", "Can you give me the background?", "please summarise", "whats in the document",
    "Tell me about the case.", "What did they write?", "Give me the details on this.", "Which entry matches?", "Find the passage about this.",
    "anything on file?", "What do the documents say?", "Quote the relevant part.", "next one", "Can you look this up for me?",
    "open the last letter", "What do we know so far?", "Search the archive and tell me what you find.", "What was reported?",
    "draft a summary for the meeting")  # fmt: skip
PASSAGES, LONG, SLIPS, NAMESAKES = 3000, 2500, 1500, 800
"""Passages, answers among others, answers with a line that slips in, and leaks about namesakes of known persons, of an epoch."""
ALONE = 0.35
"""Share of answers that come without their question."""
Item = tuple[list[int], list[int], np.ndarray]
"""Tokens, which of them are the question's (0) and the answer's (1), and the cases that it may be."""


class Together(nn.Module):
    """Word vectors (n, t, 384) and kinds of tokens (n, t) to the logits (n, 15) of the cases; `mask` (n, t) marks tokens."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import AutoModel

        self.t = AutoModel.from_pretrained(weights_folder(), hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="sdpa")
        self.t.pooler = None
        width = self.t.config.hidden_size
        self.att = nn.Linear(width, 2)
        self.h = nn.Sequential(nn.Dropout(0.2), nn.Linear(3 * width, 192), nn.GELU(), nn.Dropout(0.2), nn.Linear(192, len(CASES)))
        for p in self.t.embeddings.parameters():
            p.requires_grad = False

    def vectors(self, ids: Tensor) -> Tensor:
        found: Tensor = self.t.embeddings.word_embeddings(ids)
        return found

    def forward(self, words: Tensor, kinds: Tensor, mask: Tensor) -> Tensor:
        h = self.t(inputs_embeds=words, attention_mask=mask, token_type_ids=kinds).last_hidden_state
        weights = self.att(h).masked_fill(mask[..., None] == 0, -1e4).softmax(1)
        out: Tensor = self.h(torch.cat([h[:, 0], torch.einsum("ntw,nta->naw", h, weights).flatten(1)], 1))
        return out


def encoded(tok: Tokenizer, question: str, answer: str, may: np.ndarray) -> Item:
    first, *asked, last = tok.encode(question).ids
    head = [first, *asked[-ASKED:], last]
    tail = [*tok.encode(answer).ids[1:-1][:WINDOW], last]
    return [*head, *tail], [0] * len(head) + [1] * len(tail), may


def is_case(name: str) -> np.ndarray:
    """That an item is one case."""
    return np.array([name == one for one in CASES])


def items(tok: Tokenizer, said: list[Row], passages: list[Row], rng: random.Random, share: float = 1) -> list[Item]:
    """What an epoch reads: a share of what teaches, and the answers out of documents twice."""
    told = list(everything(tok, said, passages, rng))
    out_of = [encoded(tok, row["asked"], row["text"], is_case(row["case"])) for row in out_of_documents()]
    return [*rng.sample(told, round(share * len(told))), *out_of, *out_of]


def everything(tok: Tokenizer, said: list[Row], passages: list[Row], rng: random.Random) -> Iterator[Item]:
    """All that teaches but answers out of documents."""

    def asked(of: Row, case: str) -> str:
        """The question of an answer, or none: but for what may stand in the question alone."""
        return (of.get("question") or "") if case in IN_QUESTION or rng.random() > ALONE else ""

    for row in said:
        of = framed(row, rng)
        name = of["case"] if of.get("case") in CASES else row["case"]
        yield encoded(tok, asked(of, row["case"]), of["text"], is_case(name))
    nobody = around(said)
    for row in rng.sample(said, min(LONG, len(said))):
        of = in_long(framed(row, rng), nobody, rng)
        yield encoded(tok, asked(of, row["case"]), of["text"], is_case(of["case"]))
    leaks = [row for row in said if row["case"] == "leak" and row.get("main")]
    named = [row for row in leaks if any(s[2] == "name" and s[3] == row["main"] for s in row["spans"])]
    for row in rng.sample(named, min(NAMESAKES, len(named))):
        of = namesake(row, rng)
        yield encoded(tok, asked(of, "leak"), of["text"], is_case("leak"))
    for row in rng.sample([row for row in said if row["case"] in HOSTS], SLIPS):
        for of in slipped(row, rng.choice(rng.choice((leaks, named))), rng):
            yield encoded(tok, asked(of, "leak"), of["text"], is_case("leak"))
    for row in rng.sample([row for row in said if row["case"] not in ("leak", "none")], 2 * SLIPS):
        for of in stretches(row, rng):
            yield encoded(tok, asked(of, row["case"]), of["text"], is_case(row["case"]))
    behind = [row for row in replies(rng) if row.get("case") in CASES]
    four = list(pairs())
    for row in (*rng.sample(behind, len(behind) // 3), *rng.sample(four, len(four) // 2)):
        yield encoded(tok, row.get("asked") or row.get("question") or "", row["text"], is_case(row["case"]))
    for row in rng.sample(passages, min(PASSAGES, len(passages))):
        yield encoded(tok, rng.choice(FOR_A_RECORD) if rng.random() < 0.4 else "", row["text"], cases(row, False))


def batched(found: list[Item], size: int, rng: random.Random) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Tokens, kinds, mask and cases in batches of like length, in random order; half of the batches with hidden tokens."""
    order = sorted(range(len(found)), key=lambda i: len(found[i][0]) + rng.random() * 24)
    cuts = [[found[i] for i in order[k : k + size]] for k in range(0, len(order), size)]
    rng.shuffle(cuts)
    for cut in cuts:
        longest = max(len(ids) for ids, _, _ in cut)
        ids, kinds = (torch.tensor([one[k] + [0] * (longest - len(one[k])) for one in cut]) for k in (0, 1))
        mask = (ids != 0).long()
        if rng.random() < 0.5:
            hidden = (torch.rand(ids.shape) < 0.06) & (mask > 0) & (ids != 101) & (ids != 102)
            ids = torch.where(hidden, torch.tensor(MASK), ids)
        yield ids, kinds, mask, torch.from_numpy(np.stack([may for _, _, may in cut]))


def loss_of(logits: Tensor, may: Tensor) -> Tensor:
    """That it is one of the cases that it may be; and where that is known, whether it is a leak."""
    odds = logits.log_softmax(-1)
    loss = -odds.masked_fill(~may, -1e4).logsumexp(-1).mean()
    leak = may[:, 0] & (may.sum(1) == 1)
    known = leak | ~may[:, 0]
    if known.any():
        loss = loss + functional.binary_cross_entropy(odds[known, 0].exp().clamp(1e-5, 1 - 1e-5), leak[known].float())
    return loss


def fit(model: Together, said: list[Row], passages: list[Row], *, epochs: int, rate: float, seed: int, share: float = 1, size: int = 16) -> None:
    """Train in place; the mean of the late weights."""
    torch.manual_seed(seed)
    torch.set_flush_denormal(True)
    rng, tok = random.Random(seed), tokenizer()
    trained = [p for p in model.t.parameters() if p.requires_grad]
    heads = [*model.att.parameters(), *model.h.parameters()]
    optimiser = torch.optim.AdamW([{"params": trained, "lr": rate}, {"params": heads, "lr": 5 * rate}], weight_decay=0.02)
    total = epochs * -(-len(items(tok, said, passages, random.Random(seed), share)) // size)
    plan = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda s: min(1, (s + 1) / (0.04 * total)) * max(0.02, 1 - s / total))
    average, step, began, lost = [p.detach().clone() for p in model.parameters()], 0, time.time(), 0.0
    model.train()
    for _ in range(epochs):
        for ids, kinds, mask, may in batched(items(tok, said, passages, rng, share), size, rng):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HALVES):
                logits = model(model.vectors(ids), kinds, mask)
            loss = loss_of(logits.float(), may)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(trained + heads, 1.0)
            optimiser.step()
            plan.step()
            step, lost = step + 1, 0.99 * lost + 0.01 * float(loss.detach())
            with torch.no_grad():
                keep = min(0.997, step / (step + 100))
                for mean, now in zip(average, model.parameters(), strict=True):
                    mean.mul_(keep).add_(now, alpha=1 - keep)
            if step % 100 == 0:
                print(f"{step} of {total} batches, {time.time() - began:.0f}s, loss {lost:.3f}", flush=True)
    with torch.no_grad():
        for mean, now in zip(average, model.parameters(), strict=True):
            now.copy_(mean)


class Exported(nn.Module):
    """The network of one answer with its question, with no padding."""

    def __init__(self, model: Together) -> None:
        super().__init__()
        self.model = model

    def forward(self, words: Tensor, kinds: Tensor) -> Tensor:
        out: Tensor = self.model(words, kinds, torch.ones_like(kinds))
        return out


def export(model: Together, folder: Path, facts: dict[str, Any]) -> None:
    """`classifier.onnx` in a folder of the reader, and its hash and facts on the card."""
    from onnxruntime.quantization import QuantType, quantize_dynamic  # type: ignore[import-untyped]

    full, kinds = folder / "full.onnx", torch.tensor([[0, 0, 0, 1, 1, 1, 1]])
    model.t.embeddings.word_embeddings = None
    torch.onnx.export(Exported(model.eval()), (torch.randn(1, 7, 384), kinds), str(full), input_names=["words", "kinds"], output_names=["case"],
                      opset_version=17, dynamo=False, dynamic_axes={"words": {1: "t"}, "kinds": {1: "t"}})  # fmt: skip
    quantize_dynamic(str(full), str(folder / CLASSIFIER), weight_type=QuantType.QInt8, reduce_range=True, per_channel=True)
    fuse(folder / CLASSIFIER)
    full.unlink()
    (folder / SOURCES).unlink(missing_ok=True)  # It says where in the file of before its weights lie: `sources.py` makes it again.
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    card["classifier"] = facts
    card["sha256"][CLASSIFIER] = hashlib.sha256((folder / CLASSIFIER).read_bytes()).hexdigest()
    write_card(folder, card)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data", "refuse"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=1.2e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1, help="of an epoch, so that training that goes on takes less time")
    parser.add_argument("--without", nargs="*", default=["panorama"], help="families that teach nothing, to be judged on")
    parser.add_argument("--twice", nargs="*", default=[], help="writers whose answers are read twice an epoch")
    parser.add_argument("--start", type=Path, help="a state from which training goes on")
    parser.add_argument("--state", type=Path)
    parser.add_argument("--mean", type=Path, nargs="+", help="states of trainings from one start, whose mean is exported; one that is named twice counts twice")
    parser.add_argument("--output", type=Path, default=FOLDER)
    args = parser.parse_args()
    overlaps = shared_shingles(args.refuse)
    passages = [r for r in (*(r for r in labelled(args.data, []) if r["teaches"]), *written()) if not reserved(r["id"]) and overlaps(r["text"]) < 2]
    passages = [r for r in passages if cases(r, False).any() and r["family"] not in args.without]
    said = [part for r in map(of_answer, answers()) if r["writer"] not in CHOOSING for part in windows(r) if part["case"] in CASES]
    said += [row for row in said if row["writer"] in args.twice]
    model = Together()
    if args.mean:
        states = [torch.load(path) for path in args.mean]
        model.load_state_dict({name: sum(state[name] for state in states) / len(states) for name in states[0]})
    elif args.state and args.state.exists():
        model.load_state_dict(torch.load(args.state))
    else:
        if args.start:
            model.load_state_dict(torch.load(args.start))
        fit(model, said, passages, epochs=args.epochs, rate=args.rate, seed=args.seed, share=args.share)
        if args.state:
            torch.save(model.state_dict(), args.state)
    export(model, args.output, {"made": "benchmarks/reader/classifier.py", "answers": len(said), "passages": len(passages), "epochs": args.epochs, "seed": args.seed})


if __name__ == "__main__":
    main()
