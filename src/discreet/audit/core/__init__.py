"""What every audit shares: power, units and their resampling, max-T, verdict and record, simulated tables."""
