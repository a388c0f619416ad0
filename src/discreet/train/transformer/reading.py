"""Texts to token ids as a classifier reads them, behind its prompt, the same in training and in scoring.

One prompt belongs to one model: it is part of the saved recipe, and whatever the model reads, in training or in
scoring, single-turn or a bundle of conversations, it reads behind that prompt ("every example is paired with the same
system instruction", appendix F). Scores behind another prompt are scores of another model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.core.files import why
from discreet.train.base import IntArray

AUTO = "auto"
FILE = "@"
"""Before the name of a file that holds a prompt."""
LONGEST = 20_000


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system instruction.

    Attributes
    ----------
    name : str
        As options and saved recipes say it.
    text : str
        Empty where there is none.
    source : str
        The paper's appendix, "ours", or "yours" for one from a file.
    """

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
    if name.startswith(FILE):
        return _from_file(Path(name.removeprefix(FILE)))
    found = PROMPTS.get(name)
    if found is None:
        raise UsageError(f"the prompt is {name[:20]!r}: expected one of {', '.join([*PROMPTS, AUTO])}, or @F for the "
                         "content of the file F")
    return found


def _from_file(path: Path) -> Prompt:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise UsageError(f"cannot read the prompt in {path}: {why(error)}; expected a text file in UTF-8") from None
    except ValueError:
        raise UsageError(f"the prompt in {path} is no text in UTF-8; expected a text file") from None
    if not 0 < len(text) <= LONGEST:
        raise UsageError(f"the prompt in {path} has {len(text):,} characters: expected 1 to {LONGEST:,}")
    return Prompt(f"{FILE}{path.name}", text, "yours")


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


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Token ids of one text.

    Attributes
    ----------
    ids : (n,) int64, read only
        What the model sees: prompt, marks and document.
    before : int
        How many there were before the document was cut.
    frame : int
        How many of them are prompt and marks.
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

    Raises
    ------
    InputError
        With `chat`, where the tokeniser has no template, or one that cannot be rendered.
    UsageError
        Where prompt and marks leave no token to the document.
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
            rendered = self._turns([("system", self.prompt.text), ("user", PROBE)])
        except Exception:
            # What a template raises, it writes itself.
            return False
        return self.prompt.text in rendered

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

    def _cut(self, given: list[int]) -> Tokens:
        ids = given or [self._filler()]
        head = _common(ids, self._head)
        tail = _common(ids[head:][::-1], self._tail[::-1])
        found = np.array(ids, dtype=np.int64)
        if len(ids) > self.max_tokens:
            last = (self.max_tokens - head - tail) // 2 + tail
            found = np.concatenate([found[: self.max_tokens - last], found[found.size - last :]])
        found.setflags(write=False)
        return Tokens(found, len(ids), head + tail)

    def _filler(self) -> int:
        """Stands for a text of which the tokeniser leaves nothing."""
        for name in ("unk_token_id", "bos_token_id", "eos_token_id"):
            if (found := getattr(self._tokenizer, name, None)) is not None:
                return int(found)
        return 0


def _common(ids: Sequence[int], expected: Sequence[int]) -> int:
    """Length of the common beginning: where a document's edge merges with a mark, that token is the document's."""
    found = 0
    for one, other in zip(ids, expected, strict=False):
        if one != other:
            break
        found += 1
    return found


def token_limit(tokenizer: Any, config: Any) -> int | None:
    """Tokens that the model and its tokeniser allow; None where neither has a limit."""
    said = getattr(tokenizer, "model_max_length", None)
    limits = [int(said)] if said is not None and said < UNBOUNDED else []
    places = getattr(config, "max_position_embeddings", None)
    if places is not None and places > 0:
        pad = getattr(config, "pad_token_id", None)
        # RoBERTa's places are counted from its padding id on.
        first = pad + 1 if "roberta" in str(config.model_type) and pad is not None else 0
        limits.append(int(places) - first)
    return min(limits) if limits else None


def share_seen(rows: Sequence[Tokens]) -> float:
    """Tokens of the documents that were kept, of all; in [0, 1], and 1 where there are none."""
    total = sum(row.before - row.frame for row in rows)
    return sum(len(row) - row.frame for row in rows) / total if total else 1.0
