"""`discreet population fit`: a population of your own, to count people in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import Seed, argument, flag, names_of, option
from discreet.core.errors import UsageError


def fit(
    table: Annotated[Path, argument("TABLE.csv", "One row a person, with a header.")],
    *,
    out: Annotated[Path, option("F", "The file to write, for --population of 'discreet meter' and 'guard check'.")],
    weight: Annotated[str | None, option("NAME", "Column of how many people a row stands for; 1 each without.")] = None,
    columns: Annotated[str, option("A,A,…", "Columns to fit; all by default.")] = "",
    people: Annotated[float | None, option(
        "N", "People in the population; by default the sum of the weights.")] = None,
    source: Annotated[str | None, option("TEXT", "Where the table comes from; said in every answer.")] = None,
    year: Annotated[str, option("TEXT", "Of when it is; said in every answer.")] = "year not given",
    schema: Annotated[Path | None, option(
        "F.json", "Columns with their values, ordered and groups; by default those of the table.")] = None,
    epsilon: Annotated[float | None, option(
        "E", "Fit with differential privacy: pair counts get Gaussian noise. Needs --schema.")] = None,
    delta: Annotated[float, option("D", "With --epsilon: delta, well below 1 over the number of rows.")] = 1e-6,
    most_weight: Annotated[float, option("W", "With --epsilon: weights above it are cut to it.")] = 1.0,
    seed: Seed = 42,
    quiet: Annotated[bool, flag("Print nothing.")] = False,
) -> None:
    """Fit a population to a table of people: a country's census, a hospital's patients, a customer base.

    Without --epsilon the file is personal data as the table is: keep it where you keep the table.
    """
    if people is not None and not 0 < people < float("inf"):
        raise UsageError(f"--people is {people}; expected a number above 0")
    if epsilon is not None and schema is None:
        raise UsageError("--epsilon needs --schema: values that are read off the table would not be protected")
    read = lib.population_table.read_table(
        table, weight=weight, only=names_of("--columns", columns) if columns else (),
        schema=lib.population_table.read_schema(schema) if schema else None)
    source = source or table.name

    def told(line: str) -> None:
        if not quiet:
            print(line, flush=True)

    rng = lib.random.default_rng(seed)
    if epsilon is None:
        fitted = lib.population_fit.fit_population(*read, rng, people=people, source=source, year=year,
                                                     progress=told)
    else:
        guarantee = lib.population_private.Guarantee.of(len(read.columns), epsilon, delta, most_weight)
        fitted = lib.population_private.fit_private(*read, guarantee, rng, people=people, source=source, year=year)
        told(fitted.privacy)
    fitted.save(out)
    told(f"{out}: {fitted.people:,.0f} people, {len(fitted.columns)} columns")
