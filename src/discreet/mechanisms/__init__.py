"""Noise on outputs and labels, as pure functions with their exact privacy parameter."""
