"""Text to vectors: ONNX transformers, hashed words, evidence; their fusion; export of transformers to ONNX."""
