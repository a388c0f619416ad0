"""What label differential privacy does to the labels of a training set, one file each, found by `label_mechanisms`."""
