"""Guards that a benchmark can run, a file each."""
