"""The options of `discreet audit membership` for a model instead of a table of scores, and what they bring."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.core.errors import UsageError

if TYPE_CHECKING:
    from discreet.scores.table import ScoreTable

Model = Annotated[str | None, typer.Option(
    "--model", metavar="M", help="Score M here instead of bringing scores: the folder or hub name of a Hugging Face "
                                 "sequence classifier or adapter, python:module:object, or http://….")]
Members = Annotated[Path | None, typer.Option("--members", metavar="F", help="With --model: JSON Lines, CSV or Parquet "
                                              "with id, text and label, what M was trained on.")]
Nonmembers = Annotated[Path | None, typer.Option("--nonmembers", metavar="F", help="With --model: the same for what it "
                                                 "was not trained on.")]
References = Annotated[list[str] | None, typer.Option(
    "--reference", metavar="KIND=M", help="With --model: a model to compare it to; neutral=M (trained on neither "
                                          "side), paired=M (on the non-members), population=M. May be repeated.")]
Placebos = Annotated[list[str] | None, typer.Option("--placebo", metavar="M", help="With --model: a model trained on "
                                                    "neither side, attacked the same way. May be repeated.")]
Selector = Annotated[str | None, typer.Option("--selector", metavar="M", help="With --model: a model trained on "
                                              "neither side, which finds the decision boundary.")]
Batch = Annotated[int, typer.Option("--batch", metavar="N", help="With --model: texts that are scored together.")]
Device = Annotated[str | None, typer.Option("--device", metavar="D", help="With --model: cpu, cuda, cuda:1 …; a GPU "
                                            "where there is one, if not given.")]
MaxTokens = Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="With --model: longer texts keep head "
                                               "and tail; what M allows, if not given.")]
Dtype = Annotated[str, typer.Option("--dtype", metavar="T", help="With --model: float32, or bfloat16, which moves "
                                    "scores.")]
Chat = Annotated[bool, typer.Option("--chat", help="With --model: put each text into the tokeniser's chat template, "
                                    "as a user's turn.")]
Prompt = Annotated[str | None, typer.Option("--prompt", metavar="P", help="With --model: what M was trained to read "
                                            "before each text: safety or depression (the paper's), @F (what stands in "
                                            "the file F), auto (chat template and safety prompt, where there is a "
                                            "template); none, if not given.")]
Cache = Annotated[Path | None, typer.Option("--cache", metavar="DIR", help="With --model: keep scores (no texts) in "
                                            "DIR, so that a run that was stopped goes on.")]


ALONE = ("members", "nonmembers", "reference", "placebo", "selector", "max_tokens", "device", "chat", "prompt", "cache")
NOT_WITH_IT = ("models", "examples", "texts")
OPTIONS = {"reference": "references", "placebo": "placebos", "selector": "selector", "batch": "batch",
           "device": "device", "max_tokens": "max_tokens", "dtype": "dtype", "chat": "chat",
           "prompt": "prompt", "cache": "cache"}


@dataclass(frozen=True, slots=True)
class Brought:
    """What there is to score, as the options say it; `options` are those of `scored_from_model`."""

    model: str | None
    members: Path | None
    nonmembers: Path | None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Brought:
        """From the parameters of the command. UsageError unless they are scores, or a model with both files."""
        scores, model = given["scores"], given["model"]
        if (scores is None) == (model is None):
            both = scores is not None
            raise UsageError(f"{'both' if both else 'neither'} --scores {'and' if both else 'nor'} --model given; "
                             f"expected --scores F, or --model M --members F --nonmembers F, or --recipe R --data F")
        if model is None:
            if wrong := [name for name in ALONE if given[name]]:
                raise UsageError(f"{_flag(wrong[0])} was given without --model; expected it with --model M only")
        elif given["members"] is None or given["nonmembers"] is None:
            raise UsageError("--model was given without --members or --nonmembers; expected both files")
        elif wrong := [name for name in NOT_WITH_IT if given[name] is not None]:
            raise UsageError(f"{_flag(wrong[0])} and --model were given together; expected it with --scores F only: "
                             f"examples and texts come from --members and --nonmembers")
        options = {keyword: given[name] for name, keyword in OPTIONS.items() if given[name] is not None}
        return cls(model, given["members"], given["nonmembers"], options)

    def scored(self, *, quiet: bool, allow_split_groups: bool) -> tuple[ScoreTable, dict[str, str]]:
        """The table, and the text of each example; says on stderr where texts were cut."""
        from discreet.scores.adapters.build import scored_from_model

        if self.model is None or self.members is None or self.nonmembers is None:
            raise ValueError("there is no model to score with")
        table, texts = scored_from_model(self.model, self.members, self.nonmembers, quiet=quiet,
                                         allow_split_groups=allow_split_groups, **self.options)
        for model in table.models:
            seen = float(model.facts.get("tokens_seen", 1.0))
            if seen < 1.0 and not quiet:
                print(f"discreet: {model.name} sees {seen:.1%} of the tokens: texts beyond "
                      f"{model.facts['max_tokens']} tokens keep head and tail", file=sys.stderr)
        return table, texts

    def provenance(self, table: ScoreTable) -> dict[str, Any]:
        """Both files, keyed hashes of them, and what is known of each model that was scored; nothing without one."""
        from discreet.core.files import KeyedHash
        from discreet.train.transformer.reading import FILE

        if self.model is None or self.members is None or self.nonmembers is None:
            return {}
        hashes, files = KeyedHash.from_environment(), (self.members, self.nonmembers)
        facts = {f"scored_{model.name}": "; ".join(f"{name.replace('_', ' ')} {value}"
                                                   for name, value in model.facts.items()) for model in table.models}
        prompt = self.options.get("prompt", "")
        said = {"prompt_hash": hashes.of_file(Path(prompt.removeprefix(FILE)))} if prompt.startswith(FILE) else {}
        return {"input": ", ".join(file.name for file in files), "hash_key": hashes.scope,
                "data_hash": ", ".join(hashes.of_file(file) for file in files), **said, **facts}


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
