"""The review console in the browser."""
