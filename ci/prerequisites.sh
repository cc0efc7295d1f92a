#!/bin/sh
# Says what is missing on this machine, all of it at once, before anything is built.
set -u
PYTHON=${PYTHON:-python3}
missing=0

complain() {
    printf 'ctxproto: %s\n' "$1" >&2
    missing=1
}

# newer_or_same WANTED FOUND
newer_or_same() {
    [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

if ! command -v "$PYTHON" >/dev/null 2>&1; then
    complain "no Python found as '$PYTHON': install Python 3.11 or newer, or name one with make PYTHON=..."
else
    found=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    newer_or_same 3.11 "$found" || complain "Python 3.11 or newer is needed, '$PYTHON' is $found: name another with make PYTHON=..."
    "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null ||
        complain "'$PYTHON' cannot make virtual environments: install its venv package (python3-venv on Debian)"
fi

if ! command -v cargo >/dev/null 2>&1 || ! command -v rustc >/dev/null 2>&1; then
    complain "no Rust found (cargo, rustc): install Rust 1.89 or newer"
else
    found=$(rustc --version | cut -d ' ' -f 2)
    newer_or_same 1.89 "$found" || complain "Rust 1.89 or newer is needed, rustc is $found"
fi

if ! command -v cc >/dev/null 2>&1 && ! command -v gcc >/dev/null 2>&1 && ! command -v clang >/dev/null 2>&1; then
    complain "no C compiler found (cc, gcc or clang): install one (build-essential on Debian)"
fi

exit $missing
