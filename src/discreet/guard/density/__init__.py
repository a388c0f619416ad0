"""The fitted layer of a guard: features of answers, their densities, operating points, the artifact."""
