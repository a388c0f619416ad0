"""Small networks as functions of their state dicts, many of a kind side by side, and the one loop that trains them."""

from __future__ import annotations

from discreet.train.networks.bank import Bank, FittedNetwork, NetworkRecipe, fit_bank

__all__ = ["Bank", "FittedNetwork", "NetworkRecipe", "fit_bank"]
