"""The review queue: encrypted tickets for what the guard does not decide, until a person does or they expire."""
