"""What every audit shares: design, power, resampling, max-T, verdict."""
