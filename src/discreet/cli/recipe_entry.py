"""The options of `discreet audit membership` for a recipe and data instead of scores: everything is trained here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import model_entry
from discreet.core.errors import DiscreetError, UsageError

if TYPE_CHECKING:
    from discreet.experiments import MembershipExperiment
    from discreet.scores.table import ScoreTable

Recipe = Annotated[str | None, typer.Option(
    "--recipe", metavar="R", help="Train everything here: tfidf-mlp, transformer:base=minilm,regime=lora, … or a YAML "
                                  "file with a recipe's name and options.")]
Data = Annotated[Path | None, typer.Option("--data", metavar="F", help="With --recipe: JSON Lines, CSV or Parquet with "
                                           "id, text (or turns) and label; group, category and structure if there.")]
Sizes = Annotated[str | None, typer.Option("--sizes", metavar="a=N,…", help="With --recipe: examples of each side (a, "
                                           "b, val, cal, eval, neutral, placebo); the paper's proportions if not "
                                           "given.")]
Shadows = Annotated[int, typer.Option("--shadows", metavar="K", help="With --recipe: references trained on random "
                                      "sets, for LiRA and RMIA.")]
Planted = Annotated[str, typer.Option("--planted", metavar="N,N,…", help="With --recipe: repetitions of the records "
                                      "planted as a positive control; 'none' leaves them out.")]
Mismatched = Annotated[Path | None, typer.Option("--mismatched", metavar="F", help="With --recipe: another corpus with "
                                                 "the same labels; the neutral reference is trained on it.")]
Engine = Annotated[str, typer.Option("--engine", metavar="E", help="With --recipe: local (processes), inline or ray.")]
Address = Annotated[str | None, typer.Option("--address", metavar="A", help="With --engine ray: a cluster's; one is "
                                             "started here if not given.")]
Workers = Annotated[int | None, typer.Option("--workers", metavar="N", help="With --recipe: models trained at a time.")]
StoreAt = Annotated[Path | None, typer.Option("--store", metavar="DIR", help="With --recipe: where results of steps "
                                              "are kept, so that a run that was stopped goes on; OUT/store if not "
                                              "given.")]
Keep = Annotated[bool, typer.Option("--keep-models", help="With --recipe: keep the trained models in the store.")]
Near = Annotated[bool, typer.Option("--allow-near", help="With --recipe: let near duplicates stand on different "
                                    "sides.")]

ALONE: Mapping[str, Any] = {"data": None, "sizes": None, "shadows": 0, "planted": "1,4,16", "mismatched": None,
                            "engine": "local", "workers": None, "address": None, "store": None, "keep_models": False,
                            "allow_near": False}


@dataclass(frozen=True, slots=True)
class Trains:
    """What there is to train, as the options say it."""

    experiment: MembershipExperiment
    engine: str
    workers: int | None
    address: str | None
    store: Path | None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Trains | None:
        """From the parameters of the command; None without a recipe. UsageError for what cannot be."""
        recipe, data = given["recipe"], given["data"]
        if recipe is None:
            if wrong := [name for name, default in ALONE.items() if given[name] != default]:
                raise UsageError(f"--{wrong[0].replace('_', '-')} was given without --recipe; expected it with "
                                 "--recipe R --data F only")
            return None
        if data is None:
            raise UsageError("--recipe was given without --data; expected both")
        if wrong := [name for name in ("scores", "model", "models", "examples", "texts", *model_entry.ALONE)
                     if given[name]]:
            raise UsageError(f"--recipe and --{wrong[0].replace('_', '-')} were given together; expected one of "
                             "--recipe, --model and --scores, each with its own options")
        from discreet.engine import DataFile
        from discreet.experiments import MembershipExperiment

        mismatched = given["mismatched"]
        experiment = MembershipExperiment(
            DataFile.of(data), recipe, given["seed"], sizes_of(given["sizes"]), given["shadows"],
            planted_of(given["planted"]), keep_models=given["keep_models"], allow_near=given["allow_near"],
            mismatched=None if mismatched is None else DataFile.of(mismatched))
        # A recipe that is not there, or takes no texts, is said before a run folder is made.
        experiment.tasks()
        return cls(experiment, given["engine"], given["workers"], given["address"], given["store"])

    def scored(self, out: Path | None, *, quiet: bool) -> tuple[ScoreTable, dict[str, str], dict[str, Any]]:
        """The table, the text of each example, and what the report says of the training.

        Results of steps, which hold no text, are kept in the store, or for the time of the run where there is none.
        """
        from discreet.experiments import train

        with store_of(self.store, out) as store:
            (trained,) = train([self.experiment], store, engine=self.engine, workers=self.workers, address=self.address,
                               quiet=quiet)
            reference = "neutral" if self.experiment.mismatched is None else "mismatched"
            return trained.table(reference=reference), trained.texts(), trained.training()

    def provenance(self) -> dict[str, Any]:
        """The data file and a keyed hash of it, as for scores."""
        from discreet.core.files import KeyedHash

        hashes = KeyedHash.from_environment()
        return {"input": self.experiment.data.path.name, "hash_key": hashes.scope,
                "data_hash": hashes.of_file(self.experiment.data.path)}


@contextmanager
def store_of(store: Path | None, out: Path | None) -> Iterator[Path]:
    """The folder where results of steps are kept: as named, in the run's folder, or for the time of the run."""
    from tempfile import TemporaryDirectory

    if store is not None or out is not None:
        yield store or Path(out or ".") / "store"
        return
    with TemporaryDirectory(prefix="discreet-") as part:
        try:
            yield Path(part)
        except DiscreetError as error:
            # The folder goes with the run, and its log with it.
            said = str(error).removesuffix(f"; {Path(part) / 'log.jsonl'} has the calls")
            if said == str(error):
                raise
            raise DiscreetError(f"{said}; run again with --out DIR or --store DIR, whose log keeps the calls") from None


def sizes_of(given: str | None) -> dict[str, int]:
    """`a=400,b=400` as a mapping. UsageError for anything else."""
    found: dict[str, int] = {}
    for part in given.split(",") if given else ():
        name, equals, number = (one.strip() for one in part.partition("="))
        if not (equals and number.isascii() and number.isdecimal()) or name in found:
            raise UsageError(f"--sizes holds {part.strip()[:20]!r}; expected side=number, each side once, with commas "
                             "between them")
        found[name] = int(number)
    return found


def planted_of(given: str) -> tuple[int, ...]:
    """`1,4,16` as numbers; `none` as none. UsageError for anything else."""
    if given.strip().lower() == "none":
        return ()
    parts = [part.strip() for part in given.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts):
        raise UsageError(f"--planted is {given[:20]!r}; expected whole numbers with commas between them, or none")
    return tuple(map(int, parts))
