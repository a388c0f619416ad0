"""The folder that a command leaves: its configuration, what it read, its results and log.

Nothing in it holds the text of an answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError, UsageError
from discreet.core.files import KeyedHash, add_line, dump_json, refuse_text, why, write_atomic

INPUTS = "inputs.json"
KEY = "inputs.key"
MADE_BY = "# discreet "
"""How the first line of `config.yaml` begins, which says what command made the run."""
Input = bytes | Path | Sequence[Path]
"""Something that a run reads: its content, a file or folder, or several."""


class Run:
    """The folder of one run: `config.yaml`, `result.json`, `log.jsonl`, `figures/`, `report.html` and its tables.

    What the run read stands in `inputs.json` as hashes under a key of the folder's own, `inputs.key`.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.log = path, path / "log.jsonl"
        self.config, self.result = path / "config.yaml", path / "result.json"
        self.report, self.figures = path / "report.html", path / "figures"

    @classmethod
    def open(cls, path: Path | str, config: Mapping[str, Any], inputs: Mapping[str, Input] | None = None, *,
             command: str = "") -> Run:
        """Start a run in `path`, or go on with the one that is there under the same `config`, of the same `inputs`.

        `config` maps flag names to plain values, without any text of answers. `inputs` are what the run reads, by the
        name that a message gives it (of a folder, the files directly in it), and may change until there is a result.
        `command` makes the run: the first line of `config.yaml`, for the message that another command gets.

        UsageError where `path` holds something else, a run under another configuration, or the result of other inputs.
        """
        run = cls(Path(path))
        if run.path.exists() and not run.path.is_dir():
            raise UsageError(f"{path} is a file; expected a folder for the run")
        plain: dict[str, Any] = json.loads(dump_json(dict(config)))
        if run.config.exists():
            run._expect(plain, command)
        elif run.path.exists() and any(run.path.iterdir()):
            raise UsageError(f"{path} is not empty and holds no run: name a new folder, or empty this one")
        try:
            run.figures.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the folder {path}: {why(error)}; name another") from None
        run._expect_inputs(inputs or {})
        if not run.config.exists():
            import yaml

            said = f"{MADE_BY}{command}\n" if command else ""
            write_atomic(run.config, said + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))
        return run

    def _expect(self, config: dict[str, Any], command: str) -> None:
        import yaml

        try:
            written = self.config.read_text(encoding="utf-8")
            there = yaml.safe_load(written)
        except (yaml.YAMLError, UnicodeDecodeError):
            written, there = "", None
        if not isinstance(there, dict):
            raise UsageError(f"{self.config} is not a configuration: name a new folder, or remove this one")
        first = written.partition("\n")[0]
        made_by = first.removeprefix(MADE_BY) if first.startswith(MADE_BY) else ""
        if command and made_by and made_by != command:
            raise UsageError(f"{self.path} holds a run of `discreet {made_by}`: name a new folder, or remove this one")
        if differ := sorted(k for k in {*there, *config} if there.get(k) != config.get(k)):
            store = self.path / "store"
            # Studies have no --store.
            shared = store.is_dir() and not command.startswith("reproduce")
            keep = f"; --store {store} with it keeps what was trained" if shared else ""
            raise UsageError(f"{self.path} holds a run under another configuration (differs in: "
                             f"{', '.join(differ)}): name a new folder{keep}, or remove this one")

    def _expect_inputs(self, inputs: Mapping[str, Input]) -> None:
        file = self.path / INPUTS
        try:
            there = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        except ValueError:
            there = {}
        if not inputs and not there:
            return
        hashes = KeyedHash.of_folder(self.path / KEY)
        try:
            now = {name: _content(hashes, given) for name, given in inputs.items()}
        except OSError as error:
            raise InputError(f"cannot read {error.filename}: {why(error)}") from None
        if differ := sorted(k for k in {*there, *now} if there.get(k) != now.get(k)):
            if self.result.exists():
                raise UsageError(f"{self.path} holds the result of another input (differs in the content of: "
                                 f"{', '.join(differ)}): name a new folder, or remove this one")
            write_atomic(file, dump_json(now, indent=2) + "\n")

    def finish(self, result: Any, **facts: Any) -> None:
        """Write `result.json`, and say in the log that the run is done and the `facts` about it."""
        refuse_text(facts)
        write_atomic(self.result, dump_json(result, indent=2) + "\n")
        add_line(self.log, "done", **facts)


def _content(hashes: KeyedHash, given: Input) -> str:
    """A hash of the content, whatever it is called."""
    if isinstance(given, bytes):
        return hashes.of(given)
    if not isinstance(given, Path):
        return hashes.of(dump_json([_content(hashes, path) for path in given]))
    if not given.is_dir():
        return hashes.of_file(given)
    files = sorted(path for path in given.iterdir() if path.is_file())
    return hashes.of(dump_json([[path.name, hashes.of_file(path)] for path in files]))
