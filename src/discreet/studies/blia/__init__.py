"""The label inference paper's tables and figures rerun: its definitions and honest ones, each with its placebo."""

from discreet.studies.blia.reproduction import ORDER, merged, reproduce
from discreet.studies.blia.settings import SETTINGS, Setting, Study

__all__ = ["ORDER", "SETTINGS", "Setting", "Study", "merged", "reproduce"]
