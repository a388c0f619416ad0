"""The built-in recognisers of direct identifiers, a file a field; their registry is in `detect`."""
