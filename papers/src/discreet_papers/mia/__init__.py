"""The membership paper's tables and figures rerun: its definitions and honest ones, each with its control."""

from discreet_papers.mia.reproduction import ORDER, reproduce
from discreet_papers.mia.settings import SETTINGS, Setting, Study

__all__ = ["ORDER", "SETTINGS", "Setting", "Study", "reproduce"]
