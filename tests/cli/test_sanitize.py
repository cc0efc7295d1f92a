"""`ctxproto sanitize`: what comes out, and where."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess

import pytest
from cli_support import PLACEHOLDER, Cli, Tokens, files, gone


def zstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-c"], input=data, capture_output=True, check=True).stdout


def unzstd(data: bytes) -> bytes:
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout


needs_zstd = pytest.mark.skipif(
    subprocess.run(["sh", "-c", "command -v zstd"], capture_output=True, check=False).returncode != 0,
    reason="the zstd command is the peer of this test",
)


def test_one_file_goes_to_standard_output_and_the_summary_beside_it(cli: Cli, token: Tokens) -> None:
    secret = token()
    (cli.cwd / "a.log").write_text(f"x {secret} y\n")
    result = cli("sanitize", "a.log")
    assert result.text == f"x {PLACEHOLDER} y\n"
    assert "sanitized 1 input (45 B): 1 finding replaced in 1 input" in result.err
    assert "GITHUB_TOKEN  1" in result.err
    assert gone(secret, result.err)
    assert (cli.cwd / "a.log").read_text() == f"x {secret} y\n"
    assert cli("sanitize", "a.log", "-o", "-").out == result.out


def test_output_to_a_file_or_into_a_directory(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "a.log").write_text(token())
    (cli.cwd / "there").mkdir()
    for out, place in {
        "b.log": "b.log",
        "new/": "new/a.log",
        "there": "there/a.log",
        "x/y/z": "x/y/z",
    }.items():
        assert cli("sanitize", "a.log", "-o", out).out == b""
        assert (cli.cwd / place).read_text() == PLACEHOLDER


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"no end",
        b"one\r\ntwo\r\n",
        b"\xff\xfe\xfd broken \xc3\x28 utf-8 \xed\xa0\x80\n",
        b"\xef\xbb\xbfmark\n",
        "ünï 中文 😀\n".encode(),
        b'{"a": 1, "b": [1.50, "x\\u0041"]}',
        b'{"a":1}\n{"a":2}\n',
    ],
)
def test_clean_bytes_are_kept(cli: Cli, text: bytes) -> None:
    (cli.cwd / "a").write_bytes(text)
    assert cli("sanitize", "a").out == text
    assert cli("sanitize", stdin=text).out == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\n%s\r\nb", b"a\r\n%s\r\nb"),
        (b"\xff\xc3 %s \xed\xa0\x80\xfe", b"\xff\xc3 %s \xed\xa0\x80\xfe"),
        (b'{"t": "%s", "n": 1.50}', b'{"t": "%s", "n": 1.50}'),
        ("日本 %s 語".encode(), "日本 %s 語".encode()),
    ],
)
def test_what_surrounds_a_secret_is_kept(cli: Cli, token: Tokens, before: bytes, after: bytes) -> None:
    (cli.cwd / "a").write_bytes(before % token().encode())
    assert cli("sanitize", "a").out == after % PLACEHOLDER.encode()


def test_a_directory_is_mirrored(cli: Cli, token: Tokens) -> None:
    for name in ("a.log", ".hidden", "sub/deep/b.log", ".git/config", "sub/.git", "x.ctxproto-tmp"):
        path = cli.cwd / "logs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(token())
    cli("sanitize", "logs", "-o", "out")
    assert files(cli.cwd / "out") == dict.fromkeys((".hidden", "a.log", "sub/deep/b.log"), PLACEHOLDER.encode())


def test_several_inputs_keep_their_places_below_what_they_have_in_common(cli: Cli) -> None:
    for name in ("logs/x/same.log", "logs/y/same.log", "logs/z.log"):
        path = cli.cwd / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    cli("sanitize", "logs/x", "logs/y/same.log", "logs/x/../z.log", "./logs/z.log", "-o", "out")
    assert set(files(cli.cwd / "out")) == {"x/same.log", "y/same.log", "z.log"}
    cli("sanitize", "logs/*/same.log", "-o", "by-pattern")
    assert set(files(cli.cwd / "by-pattern")) == {"x/same.log", "y/same.log"}
    cli("sanitize", "logs/**/*.log", "-o", "by-stars")
    assert set(files(cli.cwd / "by-stars")) == {"x/same.log", "y/same.log", "z.log"}


def test_an_output_directory_inside_the_input_is_not_read(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "a.log").write_text(token())
    for _ in range(2):
        cli("sanitize", ".", "-o", "clean", "--report", "report.json")
        assert set(files(cli.cwd)) == {"a.log", "clean/a.log", "report.json"}


def test_in_place_keeps_permissions_and_leaves_clean_files_alone(cli: Cli, token: Tokens) -> None:
    dirty, clean = cli.cwd / "dirty", cli.cwd / "clean"
    dirty.write_text(f"a {token()}\n")
    clean.write_text("nothing\n")
    dirty.chmod(0o640)
    os.utime(clean, (1, 1))
    inode = clean.stat().st_ino
    cli("sanitize", "--in-place", "dirty", "clean")
    assert dirty.read_text() == f"a {PLACEHOLDER}\n"
    assert stat.S_IMODE(dirty.stat().st_mode) == 0o640
    assert (clean.stat().st_mtime, clean.stat().st_ino) == (1, inode)
    cli("sanitize", "dirty", "-o", "copy")
    assert stat.S_IMODE((cli.cwd / "copy").stat().st_mode) == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_in_place_keeps_the_owner(cli: Cli, token: Tokens) -> None:
    path = cli.cwd / "a"
    path.write_text(token())
    os.chown(path, 1234, 4321)
    cli("sanitize", "--in-place", "a")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_gzip_stays_gzip(cli: Cli, token: Tokens) -> None:
    secret = token()
    members = (
        gzip.compress(b"first\n")
        + gzip.compress(f"t={secret[:20]}".encode())
        + gzip.compress(f"{secret[20:]} end\n".encode())
    )
    (cli.cwd / "a.gz").write_bytes(members)
    cli("sanitize", "a.gz", "-o", "b.gz")
    assert gzip.decompress((cli.cwd / "b.gz").read_bytes()) == f"first\nt={PLACEHOLDER} end\n".encode()
    # The same on standard output, through a pipe and in place, byte for byte.
    one = (cli.cwd / "b.gz").read_bytes()
    assert cli("sanitize", "a.gz").out == one
    assert cli("sanitize", "-", stdin=members).out == one
    cli("sanitize", "--in-place", "a.gz")
    assert (cli.cwd / "a.gz").read_bytes() == one


@needs_zstd
def test_zstd_stays_zstd(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "a.zst").write_bytes(zstd(b"first\n") + zstd(f"t={token()} end\n".encode()))
    cli("sanitize", "a.zst", "-o", "b.zst")
    assert unzstd((cli.cwd / "b.zst").read_bytes()) == f"first\nt={PLACEHOLDER} end\n".encode()


def test_the_name_does_not_decide_about_compression(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "a.log").write_bytes(gzip.compress(token().encode()))
    (cli.cwd / "b.gz").write_text(token())
    assert gzip.decompress(cli("sanitize", "a.log").out) == PLACEHOLDER.encode()
    assert cli("sanitize", "b.gz").out == PLACEHOLDER.encode()


def test_utf16_stays_utf16(cli: Cli, token: Tokens) -> None:
    for codec in ("utf-16-le", "utf-16-be"):
        (cli.cwd / "a").write_bytes(f"\ufeffgröße {token()} 😀\r\n".encode(codec))
        assert cli("sanitize", "a").out.decode(codec) == f"\ufeffgröße {PLACEHOLDER} 😀\r\n"


def test_binary_files_are_skipped_and_said_so(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "in").mkdir()
    (cli.cwd / "in" / "core").write_bytes(b"\x7fELF\0\0" + token().encode())
    (cli.cwd / "in" / "zipped").write_bytes(gzip.compress(b"\0\0" + token().encode()))
    (cli.cwd / "in" / "text").write_text("text")
    result = cli("sanitize", "in", "-o", "out", "--report", "r.json")
    assert set(files(cli.cwd / "out")) == {"text"}
    assert "skipped: in/core: binary data" in result.err
    assert "2 skipped" in result.err
    report = json.loads((cli.cwd / "r.json").read_text())
    assert [f["status"] for f in report["files"]] == ["skipped", "clean", "skipped"]

    # Nobody is to take the empty output for a sanitized one; a pipe is told the same as a file.
    for result in (
        cli("sanitize", "in/core", code=3),
        cli("sanitize", stdin=(cli.cwd / "in" / "core").read_bytes(), code=3),
        cli("sanitize", stdin=(cli.cwd / "in" / "zipped").read_bytes(), code=3),
    ):
        assert result.out == b""
        assert "binary data, not written" in result.err
    for result in (cli("scan", "in/core"), cli("scan", stdin=(cli.cwd / "in" / "core").read_bytes())):
        assert "binary data" in result.err
        assert "1 skipped" in result.err


def test_file_names_that_are_not_text(cli: Cli, token: Tokens) -> None:
    directory = os.fsencode(cli.cwd / "in")
    os.mkdir(directory)
    strange = [b"\xff\xfe.log", b"new\nline", b"\x1b[31mred", "ünï".encode(), b"-o"]
    for name in strange:
        with open(os.path.join(directory, name), "wb") as file:
            file.write(token().encode())
    result = cli("sanitize", "in", "-o", "out", "--report", "r.json")
    assert set(os.listdir(os.fsencode(cli.cwd / "out"))) == set(strange)
    paths = [f["path"] for f in json.loads((cli.cwd / "r.json").read_text())["files"]]
    assert r"in/\xff\xfe.log" in paths
    assert r"in/new\nline" in paths
    assert "\x1b" not in result.err
    assert cli("sanitize", b"in/\xff\xfe.log").text == PLACEHOLDER
    scanned = cli("scan", "in", "--output-format", "sarif", code=1)
    assert len(json.loads(scanned.text)["runs"][0]["results"]) == len(strange)
    assert len(cli("scan", "in", code=1).text.splitlines()) == len(strange)


def test_links_and_special_files_in_a_walk(cli: Cli, token: Tokens) -> None:
    top = cli.cwd / "in"
    (top / "sub").mkdir(parents=True)
    (top / "a").write_text(token())
    (top / "to-a").symlink_to("a")
    (top / "sub" / "loop").symlink_to(top)
    (top / "dangling").symlink_to("nowhere")
    os.mkfifo(top / "fifo")
    result = cli("sanitize", "in", "-o", "out")
    assert set(files(cli.cwd / "out")) == {"a"}
    assert result.err.count("symbolic link, not followed") == 3
    assert "skipped: in/fifo: not a regular file" in result.err
    # Named by the user, a link is what it points to.
    assert cli("sanitize", "in/to-a").text == PLACEHOLDER


def test_the_report_holds_places_and_no_values(cli: Cli, token: Tokens) -> None:
    first, second = token(), token()
    (cli.cwd / "a.log").write_text(f"one\n  {first}\n{first} {second}\n")
    cli("sanitize", "a.log", "-o", "b.log", "--report", "r.json", env={"CTXPROTO_KEY": "k" * 16})
    text = (cli.cwd / "r.json").read_text()
    assert gone(first, text)
    assert gone(second, text)
    report = json.loads(text)
    assert report["schema"] == 1
    assert report["complete"] is True
    assert report["summary"]["findings"] == 3
    (file,) = report["files"]
    assert (file["path"], file["output"], file["status"], file["error"]) == ("a.log", "b.log", "found", None)
    assert file["bytes_in"] == (cli.cwd / "a.log").stat().st_size
    assert file["bytes_out"] == (cli.cwd / "b.log").stat().st_size
    assert [(f["line"], f["column"]) for f in file["findings"]] == [(2, 3), (3, 1), (3, 42)]
    prints = [f["fingerprint"] for f in file["findings"]]
    assert prints[0] == prints[1] != prints[2]


def test_secrets_in_file_names_stay_out_of_reports(cli: Cli, token: Tokens) -> None:
    secret = token()
    (cli.cwd / "in").mkdir()
    (cli.cwd / "in" / f"{secret}.log").write_bytes(b"\0")
    result = cli("sanitize", "in", "-o", "out", "--report", "r.json")
    assert gone(secret, result.err, (cli.cwd / "r.json").read_text())


def test_the_bytes_do_not_depend_on_threads(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "in").mkdir()
    for i in range(24):
        lines = [f"line {n} of {i}" + (f" {token()}" if n % 97 == i else "") for n in range(i * 211)]
        data = "\n".join(lines).encode()
        (cli.cwd / "in" / f"{i:02}").write_bytes(gzip.compress(data) if i % 3 == 0 else data)
    key = {"CTXPROTO_KEY": "0123456789abcdef"}
    outcomes = []
    for threads in ("1", "2", "4"):
        args = ("--placeholder", "hash", "--threads", threads, "-o", "out", "--report", "r.json")
        result = cli("sanitize", "in", *args, env=key)
        outcomes.append((files(cli.cwd / "out"), (cli.cwd / "r.json").read_text(), result.err))
        subprocess.run(["rm", "-r", cli.cwd / "out"], check=True)
    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_placeholders(cli: Cli, token: Tokens) -> None:
    secret = token()
    text = f"{secret} {token()} {secret}".encode()
    outs = {}
    for style in ("label", "mask", "partial", "hash"):
        result = cli("sanitize", "--placeholder", style, stdin=text, env={"CTXPROTO_KEY": "k" * 16})
        assert gone(secret, result.out)
        outs[style] = result.text.split(" ")
    assert outs["label"] == [PLACEHOLDER] * 3
    assert outs["mask"] == ["********"] * 3
    assert outs["partial"] == ["ghp_********"] * 3
    assert outs["hash"][0] == outs["hash"][2] != outs["hash"][1]
    again = cli("sanitize", "--placeholder", "hash", stdin=text, env={"CTXPROTO_KEY": "k" * 16})
    assert again.text.split(" ") == outs["hash"]
    other = cli("sanitize", "--placeholder", "hash", stdin=text, env={"CTXPROTO_KEY": "j" * 16})
    assert other.text.split(" ") != outs["hash"]


def test_allowed_values_rules_and_keys_stay(cli: Cli, token: Tokens) -> None:
    secret, other = token(), token()
    text = f"{secret} {other}".encode()
    assert cli("sanitize", "--allow", secret, stdin=text).text == f"{secret} {PLACEHOLDER}"
    assert cli("sanitize", "--allow-pattern", "ghp_.*", stdin=text).out == text
    assert cli("sanitize", "--allow-rule", "GITHUB_TOKEN", stdin=text).out == text
    document = json.dumps({"fixture": secret, "token": other}).encode()
    result = cli("sanitize", "--allow-key", "fixture", stdin=document)
    assert json.loads(result.text) == {"fixture": secret, "token": PLACEHOLDER}


def test_values_of_the_environment(cli: Cli) -> None:
    env = {"MY_SERVICE_PASSWORD": "correct horse battery"}
    text = b"login with correct horse battery now"
    assert b"battery" in cli("sanitize", stdin=text, env=env).out
    assert b"battery" not in cli("sanitize", "--known-env", stdin=text, env=env).out


def test_pii_on_request(cli: Cli) -> None:
    text = b"write to jane.doe@example.org or call"
    assert cli("sanitize", stdin=text).out == text
    assert b"jane.doe" not in cli("sanitize", "--pii", "all", stdin=text).out
    assert b"jane.doe" not in cli("sanitize", "--pii", "EMAIL", stdin=text).out


def test_format_can_be_forced(cli: Cli, token: Tokens) -> None:
    text = f'{{"a": "{token()}"}}\n'.encode()
    for style in ("auto", "text", "json", "jsonl"):
        assert json.loads(cli("sanitize", "--format", style, stdin=text).text) == {"a": PLACEHOLDER}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", "b"], "need -o DIRECTORY or --in-place"),
        (["d"], "need -o DIRECTORY or --in-place"),
        (["d", "-o", "a"], "a is not a directory"),
        (["a", "--in-place", "-o", "x"], "exclude each other"),
        (["-", "a"], "- stands alone"),
        (["-", "--in-place"], "cannot be rewritten in place"),
        (["-", "-o", "x"], "redirect it instead of -o"),
        (["--format", "xml", "a"], "it is one of auto, text, json, jsonl, not a str of 3 characters"),
        (["--format", "jsno", "a"], "did you mean json?"),
        (["--threads", "0", "a"], "it is a whole number from 1 to 1024, not a str of 1 character"),
        (["--pii", "NO_SUCH", "a"], "pii[0] is the label or the id of a rule for personal data"),
        (["--rules", "missing.toml", "a"], "missing.toml"),
        (["--colour", "a"], "there is no such option"),
    ],
)
def test_wrong_usage_is_2_and_does_nothing(cli: Cli, args: list[str], message: str) -> None:
    (cli.cwd / "a").write_text("a")
    (cli.cwd / "b").write_text("b")
    (cli.cwd / "d").mkdir()
    result = cli("sanitize", *args, code=2)
    assert message in result.err
    assert result.out == b""
    assert set(files(cli.cwd)) == {"a", "b"}


def test_a_report_never_overwrites_an_input(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "v.log").write_text(text := token())
    result = cli("sanitize", "v.log", "--report", "v.log", code=2)
    assert "is one of the inputs" in result.err
    assert (cli.cwd / "v.log").read_text() == text
