"""The statistics of label audits: conformance of a mechanism, ceilings, bounds on ε, exposure, published tables."""
