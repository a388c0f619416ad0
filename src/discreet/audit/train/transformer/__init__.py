"""Fine-tuned sequence classifiers: prompts, reading, batches, loading and LoRA."""
