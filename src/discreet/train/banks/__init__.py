"""Many models at once that differ in their labels: seeds, ε and mechanisms of a label audit."""
