"""Reruns of three papers with discreet: their definitions next to corrected ones, a folder each, and what they share.

`discreet` knows nothing of it: entry points add its commands and the summaries of its records (`plugin.py`).
"""

__version__ = "0.1.0"
