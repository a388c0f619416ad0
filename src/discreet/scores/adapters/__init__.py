"""Where the scores of an audit come from when a model is brought instead of a table: one file a kind of model."""
