"""The label inference paper's tables and figures rerun: its definitions beside honest ones, each with its placebo."""
