"""Encoders that read an answer as the guard does; an entry point of the group `discreet.encoders` makes them known."""
