"""The encoders that come with discreet, one file each."""
