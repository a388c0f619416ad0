"""Plug-ins for frameworks: each a file and an extra of its own, which imports its framework and no other."""
