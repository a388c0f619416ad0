"""Built-in generators, one file each; each registers itself in `discreet.synth.generate.generators`."""
