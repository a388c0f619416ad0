"""What every room stands on: errors, records, the registry, files, text normalisation."""
