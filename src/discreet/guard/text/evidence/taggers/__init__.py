"""The built-in taggers, one or two classes of attribute a file; their registry is in `mentions`."""
