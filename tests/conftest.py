"""What all tests share."""

import signal

# A shell starts background jobs with Ctrl-C ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
