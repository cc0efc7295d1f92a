"""The account of what was decided: records, a log of them, spans and metrics."""
