"""Texts to token ids as a classifier reads them, behind its prompt, in training and in scoring; and to batches.

One prompt belongs to one model: it is part of the saved recipe, and whatever the model reads, in training or in
scoring, single-turn or a bundle of conversations, it reads behind that prompt ("every example is paired with the same
system instruction", appendix F). Scores behind another prompt are scores of another model.

Texts of like length go together, padded on the right, so that little computation is wasted. A row does not depend on
the others of its batch: padding follows the text, where no causal model looks and the mask hides it from the rest, and
`LoadedClassifier` pools decoders at the last token that the mask shows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.core.files import why
from discreet.core.types import FloatArray, IntArray

AUTO = "auto"
FILE = "@"
"""Before the name of a file that holds a prompt."""
LONGEST = 20_000
UNBOUNDED = 10**6
"""A tokeniser without a limit says 10^30."""
DATE_PARTS = {"%Y": "2024", "%y": "24", "%m": "07", "%-m": "7", "%d": "26", "%-d": "26", "%B": "July", "%b": "Jul",
              "%A": "Friday", "%a": "Fri", "%j": "208", "%H": "00", "%I": "12", "%M": "00", "%S": "00", "%p": "AM"}
"""What templates take for today: the day that Llama's own fall back on."""
NOW = ("{%- macro strftime_now(format) -%}{{ format"
       + "".join(f".replace('{part}', '{value}')" for part, value in DATE_PARTS.items()) + " }}{%- endmacro %}\n")
"""Before a template: it stands in for the clock that transformers gives to templates, which takes no other. The end of
the line goes with the block, and leaves a template at the beginning of one, where it was."""
PROBE = "qzxj"
"""Stands for the document where prompt and marks are measured."""
REMEMBERED = 2**25
"""Token ids that a reader keeps, in all, so as to read no text twice: a quarter of a gigabyte."""
WAY = "frame kept, head and tail of the document"
"""Part of the digest: scores that were kept from another way of reading are not these."""
POOL = 50
"""Batches of an epoch that are drawn together and sorted by length."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system instruction: its name in options and saved recipes, its text (empty: none), and who wrote it."""

    name: str
    text: str
    source: str


NONE = Prompt("none", "", "ours")
SAFETY = Prompt(
    "safety",
    "You are a safety classifier. Read the following user message and determine whether it contains harmful content.",
    "paper, appendix F")
DEPRESSION = Prompt(
    "depression",
    "You are a mental health screening classifier. Read the following text and determine whether it indicates signs "
    "of depression.",
    "paper, appendix N.2")
PROMPTS = {one.name: one for one in (SAFETY, DEPRESSION, NONE)}


def prompt_of(name: str, *, chat: bool) -> Prompt:
    """The prompt of a name; "auto" is the safety prompt where the tokeniser has a chat template, else none.

    "@F" is the content of the file F, without the white space at both ends. Raises UsageError for another name, and for
    a file that cannot be read, is empty, or holds more than 20,000 characters.
    """
    if name == AUTO:
        return SAFETY if chat else NONE
    if not name.startswith(FILE):
        if name not in PROMPTS:
            raise UsageError(f"the prompt is {name[:20]!r}: expected one of {', '.join([*PROMPTS, AUTO])}, or @F for "
                             "the content of the file F")
        return PROMPTS[name]
    path = Path(name.removeprefix(FILE))
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"cannot read the prompt in {path}: {why(error)}; expected a text file in UTF-8") from None
    except ValueError:
        raise UsageError(f"the prompt in {path} is no text in UTF-8; expected a text file") from None
    if not 0 < len(text) <= LONGEST:
        raise UsageError(f"the prompt in {path} has {len(text):,} characters: expected 1 to {LONGEST:,}")
    return Prompt(f"{FILE}{path.name}", text, "yours")


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Token ids (n,) of one text, prompt and marks among them, read only.

    `before` is how many there were before the document was cut, `frame` how many of them are prompt and marks.
    """

    ids: IntArray
    before: int
    frame: int = 0

    def __len__(self) -> int:
        return int(self.ids.size)


class Reader:
    """A Hugging Face tokeniser with a prompt and a limit.

    With `chat` the prompt is the system's turn and the text the user's in the tokeniser's chat template, no turn of
    the assistant is opened (paper, appendices F to H), and the template writes the special tokens itself: none is
    added, so that a text begins with one BOS. Where the template refuses or drops a system's turn, the prompt goes
    before the text in the user's, an empty line between them; so too without `chat`. Templates get
    26 July 2024 as today's date.

    Beyond `max_tokens` the document loses its middle: of the tokens that prompt and marks leave, the first half
    (rounded up) and the last are the document's. Prompt, template and special tokens at both ends stay whole. Special
    tokens that a document spells out are read as the tokeniser reads them.

    A text is tokenised once, however often it is asked for.

    Raises InputError with `chat` where the tokeniser has no template, or one that cannot be rendered; UsageError where
    prompt and marks leave no token to the document.
    """

    def __init__(self, tokenizer: Any, max_tokens: int, name: str, *, chat: bool = False, prompt: Prompt = NONE
                 ) -> None:
        if chat and not getattr(tokenizer, "chat_template", None):
            raise InputError(f"{name}: its tokeniser has no chat template; expected one, or texts as they are")
        self._tokenizer, self._name, self._chat = tokenizer, name, chat
        self.max_tokens, self.prompt = max_tokens, prompt
        self._system = bool(chat and prompt.text) and self._takes_system()
        self._head, self._tail = self._frame()
        self._known: dict[str, Tokens] = {}
        self._held = 0
        if (least := len(self._head) + len(self._tail) + 1) > max_tokens:
            raise UsageError(f"max tokens is {max_tokens}: expected at least {least} for {name}, whose prompt and "
                             f"marks take {least - 1}")

    def __call__(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text; at least one each."""
        if self._held > REMEMBERED:
            self._known, self._held = {}, 0
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for text, ids in zip(new, self._ids([self._rendered(text) for text in new]), strict=True):
            self._known[text] = self._cut(ids)
            self._held += len(self._known[text])
        return [self._known[text] for text in texts]

    @property
    def marks(self) -> frozenset[int]:
        """Tokens of prompt, template and special tokens, which surround every document."""
        return frozenset([*self._head, *self._tail])

    def digest(self) -> str:
        """Hexadecimal digits that differ for what reads texts differently."""
        backend = getattr(self._tokenizer, "backend_tokenizer", None)
        if backend is None:
            state: Any = [sorted(self._tokenizer.get_vocab().items()), type(self._tokenizer).__name__]
        else:
            # Both are set by every call.
            state = {k: v for k, v in json.loads(backend.to_str()).items() if k not in ("truncation", "padding")}
        template = str(self._tokenizer.chat_template) if self._chat else None
        said = json.dumps([WAY, NOW, state, str(self._tokenizer.special_tokens_map), template, self.prompt.text,
                           self.max_tokens], sort_keys=True)
        return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()

    def _rendered(self, text: str) -> str:
        prompt = self.prompt.text
        if self._system:
            return self._turns([("system", prompt), ("user", text)])
        merged = f"{prompt}\n\n{text}" if prompt else text
        return self._turns([("user", merged)]) if self._chat else merged

    def _turns(self, turns: Sequence[tuple[str, str]]) -> str:
        messages = [{"role": role, "content": content} for role, content in turns]
        return str(self._tokenizer.apply_chat_template(
            messages, chat_template=NOW + self._tokenizer.get_chat_template(), tokenize=False,
            add_generation_prompt=False))

    def _takes_system(self) -> bool:
        try:
            return self.prompt.text in self._turns([("system", self.prompt.text), ("user", PROBE)])
        except Exception:
            # What a template raises, it writes itself.
            return False

    def _frame(self) -> tuple[list[int], list[int]]:
        """Token ids before and after every document."""
        try:
            before, found, behind = self._rendered(PROBE).rpartition(PROBE)
        except Exception as error:
            raise InputError(f"{self._name}: its chat template cannot be rendered ({type(error).__name__}); expected "
                             f"one that takes a user's turn") from error
        if not found:
            raise InputError(f"{self._name}: its chat template drops the user's turn; expected one that keeps it")
        if self._chat:
            head, tail = self._ids([before, behind])
            return head, tail
        marked, bare = self._ids([PROBE])[0], self._raw([PROBE], marks=False)[0]
        start = next((i for i in range(len(marked)) if marked[i : i + len(bare)] == bare), len(marked))
        return [*marked[:start], *self._raw([before], marks=False)[0]], marked[start + len(bare) :]

    def _ids(self, rendered: Sequence[str]) -> list[list[int]]:
        start = self._tokenizer.bos_token_id
        rows = self._raw(rendered, marks=not self._chat)
        return [ids[1:] if start is not None and ids[:2] == [start, start] else ids for ids in rows]

    def _raw(self, rendered: Sequence[str], *, marks: bool) -> list[list[int]]:
        if not rendered:
            return []
        rows: list[list[int]] = self._tokenizer(
            list(rendered), add_special_tokens=marks, truncation=False, padding=False, return_attention_mask=False,
            return_token_type_ids=False, verbose=False)["input_ids"]
        return rows

    def _cut(self, ids: list[int]) -> Tokens:
        if not ids:
            # A text of which the tokeniser leaves nothing.
            named = (getattr(self._tokenizer, f"{name}_token_id", None) for name in ("unk", "bos", "eos"))
            ids = [next((token for token in named if token is not None), 0)]
        head = _common(ids, self._head)
        tail = _common(ids[head:][::-1], self._tail[::-1])
        found = np.array(ids, dtype=np.int64)
        if len(ids) > self.max_tokens:
            last = (self.max_tokens - head - tail) // 2 + tail
            found = np.concatenate([found[: self.max_tokens - last], found[found.size - last :]])
        found.setflags(write=False)
        return Tokens(found, len(ids), head + tail)


def _common(ids: Sequence[int], expected: Sequence[int]) -> int:
    """Length of the common beginning: where a document merges with a mark, that token is the document's."""
    return next((place for place, (one, other) in enumerate(zip(ids, expected, strict=False)) if one != other),
                min(len(ids), len(expected)))


def token_limit(tokenizer: Any, config: Any) -> int | None:
    """Tokens that the model and its tokeniser allow; None where neither has a limit."""
    said = getattr(tokenizer, "model_max_length", None)
    limits = [int(said)] if said is not None and said < UNBOUNDED else []
    places = getattr(config, "max_position_embeddings", None)
    if places is not None and places > 0:
        pad = getattr(config, "pad_token_id", None)
        # RoBERTa's places are counted from its padding id on.
        limits.append(int(places) - (pad + 1 if "roberta" in str(config.model_type) and pad is not None else 0))
    return min(limits, default=None)


def share_seen(rows: Sequence[Tokens]) -> float:
    """Tokens of the documents that were kept, of all; in [0, 1], and 1 where there are none."""
    total = sum(row.before - row.frame for row in rows)
    return sum(len(row) - row.frame for row in rows) / total if total else 1.0


def epoch_batches(rows: Sequence[Tokens], size: int, rng: np.random.Generator) -> list[IntArray]:
    """Places of one epoch's batches, every row in one of them: [(size,), …], one of them maybe shorter.

    Rows are shuffled and cut into pools of `POOL` batches; each pool is sorted by length and cut into batches, whose
    order is shuffled over the whole epoch. The same state of `rng` gives the same batches.
    """
    lengths, shuffled = _lengths(rows), rng.permutation(len(rows))
    found: list[IntArray] = []
    for start in range(0, len(rows), size * POOL):
        drawn = shuffled[start : start + size * POOL]
        found += _split(drawn[np.argsort(lengths[drawn], kind="stable")], size)
    return [found[place] for place in rng.permutation(len(found))]


def length_batches(rows: Sequence[Tokens], size: int) -> list[IntArray]:
    """Places of batches for scoring, longest first: what does not fit into memory fails at once."""
    return _split(np.argsort(-_lengths(rows), kind="stable"), size)


def padded(rows: Sequence[Tokens], pad: int) -> tuple[IntArray, IntArray]:
    """(n, longest) ids and mask, padded on the right: in a causal model no text can see what follows it."""
    mask = (np.arange(max(map(len, rows))) < _lengths(rows)[:, None]).astype(np.int64)
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask == 1] = np.concatenate([row.ids for row in rows])
    return ids, mask


def scored(rows: Sequence[Tokens], size: int, pad: int, score: Callable[[IntArray, IntArray], FloatArray]
           ) -> FloatArray:
    """(n, d) results in the order of `rows`, n >= 1, computed `size` at a time by length.

    `score` maps (b, longest) ids and mask to (b, d).
    """
    batches = length_batches(rows, size)
    found = np.concatenate([score(*padded([rows[place] for place in places], pad)) for places in batches])
    back: FloatArray = np.empty(found.shape)
    back[np.concatenate(batches)] = found
    return back


def padding_share(batches: Sequence[IntArray], rows: Sequence[Tokens]) -> float:
    """Positions that are padding, of all that are computed; in [0, 1)."""
    lengths = _lengths(rows)
    computed = sum(len(places) * int(lengths[places].max()) for places in batches)
    return 1 - sum(int(lengths[places].sum()) for places in batches) / computed


def unused(rows: Sequence[Tokens], preferred: int | None, vocabulary: int) -> int:
    """A token id that no text of the batch holds, the preferred one if it is such.

    A classifier without a padding token of its own reads the last token that is not padding; with a token that stands
    in no text that is the last of each text, in every version of transformers.
    """
    there = np.unique(np.concatenate([row.ids for row in rows]))
    if preferred is not None and preferred not in there:
        return preferred
    free = np.setdiff1d(np.arange(min(vocabulary, there.size + 1)), there)
    if not free.size:
        raise InputError(f"a batch of {len(rows)} texts uses all {vocabulary:,} tokens, and none is left to pad with; "
                         "give the model a padding token, or make the batch smaller")
    return int(free[0])


def _lengths(rows: Sequence[Tokens]) -> IntArray:
    return np.array([len(row) for row in rows], dtype=np.int64)


def _split(places: IntArray, size: int) -> list[IntArray]:
    return [places[start : start + size] for start in range(0, len(places), size)]
