//! Whole batches over real files.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ctxproto_batch::redact::detect::{Detector, Policy};
use ctxproto_batch::redact::{Options, Redactor};
use ctxproto_batch::{Batch, Control, Job, Progress, Report, Status, process, run};

static PROGRESS: Progress = Progress::new();
static GO: Control<'_> = Control::new(&PROGRESS, &|| false);

/// A token with a valid checksum, made here so that none stands in the repository.
fn token(seed: u32) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let digit = |n: u32| {
        char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[n as usize % 62])
    };
    let body: String = (0..30)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            digit(state >> 16)
        })
        .collect();
    let mut crc = flate2::Crc::new();
    crc.update(body.as_bytes());
    let (mut sum, mut tail) = (crc.sum(), [0; 6]);
    for place in tail.iter_mut().rev() {
        *place = sum % 62;
        sum /= 62;
    }
    format!("ghp_{body}{}", tail.map(digit).iter().collect::<String>())
}

fn batch() -> Batch {
    let detector = Detector::new(&Policy::default()).expect("the default policy");
    let redactor = Arc::new(Redactor::new(Arc::new(detector), Options::default()));
    Batch { details: 10, ..Batch::new(redactor) }
}

fn run_all(threads: usize, jobs: &[Job]) -> Vec<Report> {
    let mut reports = vec![];
    let batch = batch();
    run(
        threads,
        jobs,
        |job| process(&batch, job, GO),
        |index, report| {
            assert_eq!(index, reports.len());
            reports.push(report);
        },
    );
    assert_eq!(reports.len(), jobs.len());
    reports
}

fn one(job: Job) -> Report {
    run_all(1, &[job]).remove(0)
}

/// Everything in a directory except `name`: what a failed run must not leave.
fn others(dir: &Path, name: &str) -> Vec<String> {
    let names = fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry").file_name());
    names.map(|n| n.to_string_lossy().into_owned()).filter(|n| n != name).collect()
}

#[test]
fn reports_and_bytes_do_not_depend_on_the_number_of_threads() {
    let dir = tempfile::tempdir().expect("a directory");
    for i in 0..40_u32 {
        let mut text = format!("file {i}\n").repeat(1 + (i as usize * 7919) % 5000).into_bytes();
        if i % 3 == 0 {
            writeln!(text, "token {} end", token(i)).expect("memory takes everything");
        }
        fs::write(dir.path().join(format!("{i}.log")), text).expect("written");
    }
    let input = |i| dir.path().join(format!("{i}.log"));
    let outcome = |threads| {
        let out = dir.path().join(format!("out{threads}"));
        let jobs: Vec<_> = (0..40).map(|i| Job::write(input(i), out.join(format!("{i}.log")))).collect();
        let reports = run_all(threads, &jobs);
        let bytes: Vec<_> =
            (0..40).map(|i| fs::read(out.join(format!("{i}.log"))).expect("written")).collect();
        let told: Vec<_> =
            reports.into_iter().map(|r| (r.status, r.counts, r.findings, r.bytes_out)).collect();
        (bytes, told)
    };
    let alone = outcome(1);
    assert_eq!(alone.1.iter().filter(|r| r.0 == Status::Found).count(), 14);
    assert_eq!(alone, outcome(2));
    assert_eq!(alone, outcome(4));
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let good = dir.path().join("good");
    fs::write(&good, token(7)).expect("written");
    fs::create_dir(dir.path().join("folder")).expect("made");
    fs::write(dir.path().join("cut.gz"), [0x1f, 0x8b, 8, 0]).expect("written");
    fs::write(dir.path().join("binary"), b"\x7fELF\0\0").expect("written");
    let jobs: Vec<_> = ["missing", "folder", "cut.gz", "binary", "good"]
        .map(|n| Job::write(dir.path().join(n), dir.path().join("out").join(n)))
        .into();
    let reports = run_all(2, &jobs);
    let told: Vec<_> = reports.iter().map(|r| r.error.as_ref().map(ToString::to_string)).collect();
    assert_eq!(told[0].as_deref(), Some("cannot read: No such file or directory"));
    assert_eq!(told[1].as_deref(), Some("is a directory"));
    assert_eq!(told[2].as_deref(), Some("cannot read: the gzip data is cut short"));
    assert_eq!((reports[3].status, reports[4].status), (Status::Skipped, Status::Found));
    assert_eq!(others(&dir.path().join("out"), "good"), Vec::<String>::new());
}

#[test]
fn in_place_touches_only_what_changes() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.log");
    fs::write(&path, "clean\n").expect("written");
    let before = fs::metadata(&path).expect("there").modified().expect("known");
    assert_eq!(one(Job::replace(&path)).status, Status::Clean);
    assert_eq!(fs::metadata(&path).expect("there").modified().expect("known"), before);

    fs::write(&path, format!("t={} end\n", token(1))).expect("written");
    assert_eq!(one(Job::replace(&path)).status, Status::Found);
    assert!(!fs::read_to_string(&path).expect("text").contains(&token(1)[4..12]));
    assert_eq!(others(dir.path(), "a.log"), Vec::<String>::new());
}

#[test]
fn the_input_is_never_its_own_output_by_accident() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a.log");
    fs::write(&path, token(2)).expect("written");
    let report = one(Job::write(&path, dir.path().join(".").join("a.log")));
    assert!(report.error.expect("refused").to_string().starts_with("the output is the input itself"));
    assert_eq!(fs::read_to_string(&path).expect("text"), token(2));
}

#[cfg(unix)]
#[test]
fn links_and_devices_are_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let (path, link, hard) = (dir.path().join("a"), dir.path().join("link"), dir.path().join("hard"));
    fs::write(&path, token(3)).expect("written");
    std::os::unix::fs::symlink(&path, &link).expect("linked");
    let error = |job| one(job).error.expect("refused").to_string();
    assert!(error(Job::replace(&link)).starts_with("a symbolic link is not rewritten in place"));
    assert!(error(Job::scan("/dev/null")).starts_with("is not a regular file"));
    assert!(error(Job::write(&path, "/dev/null")).starts_with("the output exists and is not a regular file"));
    assert!(error(Job::write(&link, &path)).starts_with("the output is the input itself"));
    fs::hard_link(&path, &hard).expect("linked");
    assert!(error(Job::replace(&path)).starts_with("has other hard links"));
    assert_eq!(fs::read_to_string(&path).expect("text"), token(3));
    // Reading through a link is fine, and so is writing through one.
    let target = dir.path().join("real");
    fs::write(&target, "old").expect("written");
    let through = dir.path().join("through");
    std::os::unix::fs::symlink(&target, &through).expect("linked");
    assert_eq!(one(Job::write(&link, &through)).status, Status::Found);
    assert!(fs::symlink_metadata(&through).expect("there").is_symlink());
    assert!(!fs::read_to_string(&target).expect("text").contains("old"));
}

#[test]
fn utf16_goes_out_as_utf16() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = |secret: &str| -> Vec<u8> {
        format!("\u{feff}größe {secret} end\r\n").encode_utf16().flat_map(u16::to_le_bytes).collect()
    };
    fs::write(dir.path().join("in"), text(&token(4))).expect("written");
    let report = one(Job::write(dir.path().join("in"), dir.path().join("out")));
    assert_eq!(report.status, Status::Found);
    assert_eq!(fs::read(dir.path().join("out")).expect("written"), text("[GITHUB_TOKEN:REDACTED]"));
}

#[test]
fn an_interrupt_leaves_nothing_unfinished() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut file = fs::File::create(dir.path().join("in")).expect("created");
    for _ in 0..64 {
        file.write_all(&b"some line of text\n".repeat(60_000)).expect("written");
    }
    let control = Control::new(&PROGRESS, &|| true);
    let jobs = [Job::write(dir.path().join("in"), dir.path().join("out"))];
    let batch = batch();
    run(1, &jobs, |job| process(&batch, job, control), |_, _| panic!("nothing was finished"));
    assert_eq!(others(dir.path(), "in"), Vec::<String>::new());
}
