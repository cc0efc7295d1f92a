"""The checks in ci/ find what they are there to find."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def script(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, ROOT / "ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_imports_that_point_upward_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    direction = script("direction")
    monkeypatch.setattr(direction, "PACKAGE", tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "one.py").write_text("from ctxproto.cli import main\nimport ctxproto\nfrom . import two\n")
    (tmp_path / "errors.py").write_text("from ctxproto import tools\n")
    (tmp_path / "stray.py").write_text("")
    found = "\n".join(direction.import_edges())
    assert "tools may not import cli" in found
    assert "one.py:2: imports the package from inside" in found
    assert "one.py:3: " in found
    assert "errors may not import tools" in found
    assert "stray has no place" in found


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT OR Apache-2.0", True),
        ("MIT/Apache-2.0", True),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0", False),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR Apache-2.0) AND GPL-3.0", False),
        ("", False),
    ],
)
def test_licences(licence: str, *, fine: bool) -> None:
    assert script("notices").allowed(licence) == fine


def test_missing_prerequisites_are_named(tmp_path: Path) -> None:
    for tool in ("sh", "sort", "head", "cut"):
        (tmp_path / tool).symlink_to(f"/usr/bin/{tool}" if Path(f"/usr/bin/{tool}").exists() else f"/bin/{tool}")
    for tool, version in (("rustc", "rustc 1.70.0 (abc)"), ("cargo", ""), ("python3", "3.9")):
        (tmp_path / tool).write_text(f"#!/bin/sh\necho '{version}'\n")
        (tmp_path / tool).chmod(0o755)
    done = subprocess.run(
        ["sh", str(ROOT / "ci/prerequisites.sh")],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Rust 1.89 or newer is needed, rustc is 1.70.0" in done.stderr
    assert "Python 3.11 or newer is needed, 'python3' is 3.9" in done.stderr
    assert "no C compiler found" in done.stderr
    subprocess.run(["sh", str(ROOT / "ci/prerequisites.sh")], env=dict(os.environ), check=True)
