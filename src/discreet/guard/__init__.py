"""The guard: judges what one answer says about whom, by a policy, and says so or abstains."""
