"""What an interface may release instead of a model's softmax, one file each, found by `output_mechanisms`."""
