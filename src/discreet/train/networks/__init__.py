"""Small networks as functions of their state dicts, many of a kind side by side, and the one loop that trains them."""
