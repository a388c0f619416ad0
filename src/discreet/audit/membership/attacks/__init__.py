"""Membership attacks: one file each, pure functions of a `View`."""
