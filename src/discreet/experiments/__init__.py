"""Experiments: assign records, train every model that an audit needs, and score them."""
