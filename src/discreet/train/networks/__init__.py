"""Small networks as functions of their numbers, many of a kind side by side, and the one loop that trains them."""
