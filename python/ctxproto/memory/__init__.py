"""Layer 3: what an agent may read from memory, what may be written to it, and whose it is."""
