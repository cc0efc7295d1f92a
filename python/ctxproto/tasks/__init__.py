"""Layer 4: the state of tasks, and the artifacts it refers to."""
