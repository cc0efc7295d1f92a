"""Layer 1: messages, in the forms of the providers' APIs."""
