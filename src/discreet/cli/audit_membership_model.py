"""`discreet audit membership model`: score a model on members and non-members, and audit the scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from discreet.cli import library as lib
from discreet.cli.audit_membership import NO_SELECTOR, Assignment, Audit, audit_table
from discreet.cli.options import flag, group, option
from discreet.cli.output import PageOutput, provenance
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash


@group("Models")
class Scoring:
    """The models that are scored, and how."""

    model: Annotated[str, option(
        "M", "The model: folder or hub name (Hugging Face classifier or adapter), python:module:object, or http://….")]
    members: Annotated[Path, option("F", "JSON Lines, CSV or Parquet with id, text and label: what M was trained on.")]
    nonmembers: Annotated[Path, option("F", "The same for what it was not trained on.")]
    references: Annotated[list[str] | None, option(
        "KIND=M", "A model to compare it to; neutral=M (trained on neither set), paired=M (on the non-members), "
        "population=M. May be repeated.", "--reference")] = None
    controls: Annotated[list[str] | None, option(
        "M", "A control model: trained on neither set, attacked the same way. May be repeated.", "--control")] = None
    selector: Annotated[str | None, option(
        "M", "A model trained on neither set, which finds the least likely records, a part of the verdict, and the "
        "decision boundary among them.")] = None
    batch: Annotated[int, option("N", "Texts that are scored together.")] = 16
    device: Annotated[str | None, option("D", "cpu, cuda, cuda:1 …; a GPU where there is one, if not given.")] = None
    max_tokens: Annotated[int | None, option(
        "N", "Longer texts keep head and tail; what M allows, if not given.")] = None
    dtype: Annotated[str, option("T", "float32, or bfloat16, which moves scores.")] = "float32"
    chat: Annotated[bool, flag("Put each text into the tokeniser's chat template, as a user's turn.")] = False
    prompt: Annotated[str, option(
        "P", "What M was trained to read before each text: none, safety or depression (the paper's), @F (the content "
        "of the file F), or auto (chat template and safety prompt, where there is a template).")] = "none"
    cache: Annotated[Path | None, option("DIR", "Keep scores (no texts) in DIR, so that a stopped run resumes.")] = None

    def score(self, output: PageOutput, *, allow_split_groups: bool) -> tuple[lib.table.ScoreTable, dict[str, str]]:
        """The table, and the text of each example; a note where texts were cut."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        table, texts = lib.build.scored_from_model(
            given.pop("model"), given.pop("members"), given.pop("nonmembers"), **given, quiet=output.quiet,
            allow_split_groups=allow_split_groups)
        for one in table.models:
            if (seen := float(one.facts.get("tokens_seen", 1.0))) < 1.0:
                output.note(f"{one.name} sees {seen:.1%} of the tokens: texts beyond {one.facts['max_tokens']} tokens "
                            "keep head and tail")
        return table, texts

    def provenance(self, table: lib.table.ScoreTable) -> dict[str, Any]:
        """Both files, keyed hashes of them, and what is known of each model that was scored."""
        found = provenance(self.members, self.nonmembers)
        facts = {f"scored_{one.name}": "; ".join(f"{name.replace('_', ' ')} {value}"
                                                 for name, value in one.facts.items()) for one in table.models}
        if self.prompt.startswith("@"):
            facts["prompt_hash"] = KeyedHash.from_environment().of_file(Path(self.prompt[1:]))
        return {**found, "input": ", ".join(found["input"]), "data_hash": ", ".join(found["data_hash"]), **facts}

    def structure(self, table: lib.table.ScoreTable, texts: Mapping[str, str]) -> dict[str, Any] | None:
        """What a Python object gives away by its trees alone, over the distinct texts that it was trained on; None for
        a model that has no trees."""
        if not self.model.startswith(lib.python_object.PYTHON):
            return None
        inside = table.member[0] == lib.table.IN
        label_of = {texts[str(name)]: int(label) for name, label in zip(
            table.examples.id[inside], table.examples.label[inside], strict=True)}
        found = lib.facts.tree_structure(lib.python_object.load_object(self.model), list(label_of),
                                             list(label_of.values()))
        return None if found is None else found.to_json()


def model(*, scoring: Scoring, assignment: Assignment, audit: Audit, output: PageOutput) -> None:
    """Score a model on members and non-members, and audit the scores. --out keeps them, too.

    Exits with 0 for pass, 1 for fail, 3 for inconclusive.
    """
    design, coins = assignment.check()
    audit.check()
    if audit.show_text and scoring.selector is None:
        raise UsageError(NO_SELECTOR + "--selector M")
    table, texts = scoring.score(output, allow_split_groups=assignment.allow_split_groups)
    structure = scoring.structure(table, texts)
    audit_table(table, scoring.members, design, audit, output, coins=coins, texts=texts,
                facts=scoring.provenance(table), further=None if structure is None else {"structure": structure})
