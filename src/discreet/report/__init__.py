"""Saved records to summaries and HTML; nothing is computed here that is not in the record."""
