"""One membership study of a recipe on a data set: what is trained on what, as tasks, and the table that comes of it."""
