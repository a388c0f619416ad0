"""What every kind of model promises, and the spec strings that name one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

from discreet.core.errors import UsageError
from discreet.core.types import FloatArray
from discreet.train.transformer.reading import AUTO, NONE, prompt_of

Kind = Literal["logit", "prob", "either"]
Dtype = Literal["float32", "bfloat16"]

DTYPES: tuple[Dtype, ...] = get_args(Dtype)
PYTHON = "python:"
HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is read.

    Attributes
    ----------
    batch : int >= 1
        Texts that are scored together; scores do not depend on it beyond rounding.
    device : str or None
        Of torch, such as "cpu" or "cuda:1"; None takes a GPU where there is one.
    max_tokens : int or None
        Longer texts keep their head and tail; None is what the model allows.
    dtype : "float32" or "bfloat16"
        Of a transformer's weights and activations.
    chat : bool
        Each text becomes a user's turn in the tokeniser's chat template.
    prompt : str
        What a transformer reads before each text, as `prompt_of`: the system's turn with `chat`, else followed by an
        empty line. "auto" reads as the recipe `transformer` does: where the tokeniser has a chat template, in that and
        behind the safety prompt.
    """

    batch: int = 16
    device: str | None = None
    max_tokens: int | None = None
    dtype: Dtype = "float32"
    chat: bool = False
    prompt: str = NONE.name

    def __post_init__(self) -> None:
        if self.batch < 1:
            raise UsageError(f"batch is {self.batch}: expected a whole number of at least 1")
        if self.max_tokens is not None and self.max_tokens < 2:
            raise UsageError(f"max tokens is {self.max_tokens}: expected at least 2, a head and a tail")
        if self.dtype not in DTYPES:
            raise UsageError(f"dtype is {self.dtype!r}: expected one of {', '.join(DTYPES)}")
        prompt_of(self.prompt, chat=self.chat)


class Scorer(Protocol):
    """A classifier of texts.

    Attributes
    ----------
    name : str
        For messages: never with credentials or text in it.
    """

    @property
    def name(self) -> str:
        """See above."""

    @property
    def kind(self) -> Kind:
        """What `outputs` returns; "either" where only the numbers can tell. Known after the first call of `outputs`."""

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the K columns where the model has them. Known after the first call of `outputs`."""

    def fingerprint(self, probes: Sequence[str]) -> str:
        """Hexadecimal digits that differ for models that score differently.

        `probes` are some of the texts about to be scored: a model whose weights cannot be read is known by what it
        says of them.
        """

    def outputs(self, texts: Sequence[str]) -> FloatArray:
        """(n, K) scores of n >= 1 texts as the model gives them; (n,) log-odds of class 1 of two."""

    def facts(self, texts: Sequence[str]) -> Mapping[str, str]:
        """What a report says of the model besides its name, over all `texts` that it scored."""


def open_model(spec: str, settings: Settings) -> Scorer:
    """The model that `spec` names.

    - `python:package.module:object`: an estimator, or a function of a list of texts. Importing it runs its code.
    - `http://…` or `https://…`: a classifier behind HTTP.
    - else a local folder or a hub name of a Hugging Face sequence classifier, or of a PEFT adapter of one.

    Raises UsageError for a spec that is none of them, and for a prompt that is given to what reads texts as they are;
    InputError for a model that cannot be loaded, MissingExtraError without the packages that it needs.
    """
    plain = spec.startswith(PYTHON) or spec.lower().startswith(HTTP)
    if plain and settings.prompt not in (NONE.name, AUTO):
        raise UsageError("a prompt was given for a Python object or a service, which reads texts as they are; expected "
                         "one with Hugging Face classifiers only: let the object or the service put it before a text")
    if spec.startswith(PYTHON):
        from discreet.scores.adapters.python_object import PythonObject

        return PythonObject(spec)
    if spec.lower().startswith(HTTP):
        from discreet.scores.adapters.http_endpoint import HttpEndpoint

        return HttpEndpoint(spec, batch=settings.batch)
    from discreet.scores.adapters.transformer import Transformer

    return Transformer(spec, settings)
