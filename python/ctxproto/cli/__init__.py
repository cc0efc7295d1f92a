"""The command line."""


def main() -> None:
    """Runs `ctxproto`."""
    raise SystemExit("ctxproto: no command yet")
