"""The label inference paper's tables and figures rerun: its definitions and honest ones, each with its control."""

from discreet_papers.blia.reproduction import ORDER, SETTINGS, Setting, Study, merged, reproduce

__all__ = ["ORDER", "SETTINGS", "Setting", "Study", "merged", "reproduce"]
