"""Layer 2: what stands between tools and the model."""
