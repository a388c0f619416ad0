"""Keyed, seeded, pure tasks; a content-addressed store of their results; local processes or Ray to run them."""

from __future__ import annotations

from discreet.audit.engine.job import Job
from discreet.audit.engine.runner import ENGINES, run
from discreet.audit.engine.store import Result, Store
from discreet.audit.engine.task import DataFile, Task, seeds_of

__all__ = ["ENGINES", "DataFile", "Job", "Result", "Store", "Task", "run", "seeds_of"]
