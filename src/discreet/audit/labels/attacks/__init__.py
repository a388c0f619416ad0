"""Label inference attacks: one file each, pure functions of what `discreet.audit.labels.view` lets them see."""
