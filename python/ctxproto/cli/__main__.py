"""`python -m ctxproto.cli`."""

from ctxproto.cli import main

main()
