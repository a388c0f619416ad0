"""Label audits from data to verdict: canaries dealt, labels randomised, models trained, scores in one table."""
