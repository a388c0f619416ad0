"""The paper on privacy policy enforcement rerun: its detectors in its own form, corrected ones, and what they miss."""
