"""Measurements that results rest on. A package of its own, for other libraries install one of this name."""
