"""Label inference attacks: one file each, pure functions of what `attacker_view` lets them see."""
