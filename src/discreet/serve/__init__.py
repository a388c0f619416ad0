"""The guard over HTTP: one function that judges (`gate`), and doors to it in the shapes that clients already speak."""
