"""The figures of a report: one function a file, from a saved record to an SVG with its caption and its data."""
