"""The defence frontier: what an interface gives away and what hiding it costs."""
