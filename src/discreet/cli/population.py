"""`discreet population fit`: a population of your own, to count people in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from discreet.cli import library as lib
from discreet.cli.options import argument, names_of, not_an_input, option
from discreet.cli.output import Output
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
    delta: Annotated[float | None, option(
        "D", "With --epsilon: delta, well below 1 over the number of rows; 1e-6 by default.")] = None,
    most_weight: Annotated[float | None, option(
        "W", "With --epsilon: weights above it are cut to it; 1 by default.")] = None,
    seed: Annotated[int | None, option(
        "N", "Seed of random draws, 42 by default; not with --epsilon, whose noise nobody may know.", min=0)] = None,
    output: Output,
) -> None:
    """Fit a population to a table of people: a country's census, a hospital's patients, a customer base.

    Without --epsilon the file is personal data as the table is: keep it where you keep the table.
    """
    if people is not None and not 0 < people < float("inf"):
        raise UsageError(f"--people is {people}; expected a number above 0")
    if epsilon is None and (left := [name for name, given in (("--delta", delta), ("--most-weight", most_weight))
                                     if given is not None]):
        raise UsageError(f"{left[0]} was given without --epsilon; expected both for a private fit, or neither")
    if epsilon is not None and schema is None:
        raise UsageError("--epsilon needs --schema: values that are read off the table would not be protected")
    if epsilon is not None and seed is not None:
        raise UsageError("--seed and --epsilon were given together; who knows the seed can take the noise away: drop "
                         "--seed")
    not_an_input("--out", out, table, schema)
    if out.is_dir() or not out.parent.is_dir():
        found = "it is a folder" if out.is_dir() else "its folder is not there"
        raise UsageError(f"cannot write {out}: {found}; expected the name of a file in a folder that is there")
    read = lib.population_columns.read_table(
        table, weight=weight, only=names_of("--columns", columns) if columns else (),
        schema=lib.population_columns.read_schema(schema) if schema else None)
    source = source or table.name
    rows: int | None = len(read.codes)
    if epsilon is None:
        if people is not None and weight is None and people < len(read.codes):
            raise UsageError(f"--people is {people:g}, but {table} has {rows:,} rows; expected at least as many people")
        rng = lib.random.default_rng(42 if seed is None else seed)
        fitted = lib.population_fit.fit_population(*read, rng, people=people, source=source, year=year,
                                                     progress=output.note)
    else:
        # The exact number of rows is no part of what is released; nor is the noise, which a known seed would give away.
        rng, rows = lib.random.default_rng(), None
        guarantee = lib.population_private.Guarantee.of(
            len(read.columns), epsilon, 1e-6 if delta is None else delta, 1.0 if most_weight is None else most_weight)
        fitted = lib.population_private.fit_private(*read, guarantee, rng, people=people, source=source, year=year)
    fitted.save(out)
    record = {"kind": "population fit", "schema": 1, "file": str(out), "people": fitted.people,
              "rows": rows, "columns": list(fitted.columns), "source": source, "year": year,
              "privacy": fitted.privacy or None}
    output.say(record, lambda: "\n".join([*([fitted.privacy] if fitted.privacy else []), (
        f"{out}: {fitted.people:,.0f} people{'' if rows is None else f' from {rows:,} rows'}, "
        f"{len(fitted.columns)} columns")]))
