//! The one guarded entry: every call from Python into the pure crates passes through here.
//!
//! Four ways in, by how long the work may take:
//!
//! | way          | the interpreter meanwhile | Ctrl-C           | for                                     |
//! | ------------ | ------------------------- | ---------------- | --------------------------------------- |
//! | [`attached`] | held                      | after the call   | work under some 20 µs                   |
//! | [`detached`] | released                  | after the call   | work under some 20 ms                   |
//! | [`long`]     | released                  | within [`POLL`]  | one long piece of work, on its own thread |
//! | [`parallel`] | released                  | within [`POLL`]  | many items, on the pool, order kept     |
//!
//! Giving up the interpreter costs 50 ns when nobody wants it, but up to the switch interval (5 ms) to get back
//! when somebody does: work much shorter than that is done sooner while holding on.
//!
//! In all four a panic becomes `ctxproto.InternalError`. Its payload may quote the text that was being scanned,
//! so it goes nowhere: the error names the place in the source alone, and the panic hook prints nothing.

use std::cell::{Cell, RefCell};
use std::iter;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, Once};
use std::thread::{self, Thread};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::errors;

/// How often a waiting caller looks for signals: well under what a person at the keyboard notices.
const POLL: Duration = Duration::from_millis(40);

/// Shares of a batch for each thread: many, so that all end at about the same time, and few enough to cost nothing.
const SHARES: usize = 32;

/// Tells long work that its caller no longer wants it.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

/// The work ended early because [`Stop`] said so.
#[derive(Debug)]
pub(crate) struct Stopped;

impl Stop {
    /// To be called every few milliseconds of work.
    pub(crate) fn check(&self) -> Result<(), Stopped> {
        if self.0.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs short work without giving up the interpreter.
pub(crate) fn attached<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    guarded(work).map_err(PyErr::from)
}

/// Runs work of a few milliseconds at most with the interpreter given up.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| guarded(work)).map_err(PyErr::from)
}

/// Runs long work on a thread of its own, while this one waits and looks for signals.
pub(crate) fn long<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, Stopped> + Send,
) -> PyResult<T> {
    let (stop, done) = (Stop::default(), Done::for_this_thread());
    thread::scope(|scope| {
        let worker = thread::Builder::new().name("ctxproto".into()).spawn_scoped(scope, || {
            let outcome = guarded(|| work(&stop));
            done.set();
            outcome
        })?;
        let signal = watch(py, &done, &stop);
        let outcome = worker.join().unwrap_or_else(|_| Err(Panicked { place: None }));
        settle(signal, outcome?)
    })
}

/// Applies `work` to every item on the pool, and `finish` to each item's number and what came of it, on this
/// thread while the pool goes on: Python objects are made one at a time. The results are in the items' order.
pub(crate) fn parallel<I: Sync, T: Send, U>(
    py: Python<'_>,
    items: &[I],
    work: impl Fn(&I, &Stop) -> Result<T, Stopped> + Sync,
    finish: impl Fn(usize, T) -> PyResult<U>,
) -> PyResult<Vec<U>> {
    let pool = pool()?;
    let share = (items.len() / (pool.current_num_threads() * SHARES)).max(1);
    let (stop, (done, mut arrived)) = (Stop::default(), mpsc::channel());
    let mut finished: Vec<Vec<U>> = iter::repeat_with(Vec::new).take(items.len().div_ceil(share)).collect();
    let end = pool.in_place_scope(|scope| {
        let mut end = Ok(());
        for (at, items) in items.chunks(share).enumerate() {
            let (done, stop, work) = (done.clone(), &stop, &work);
            scope.spawn(move |_| {
                let one = |item| stop.check().and_then(|()| work(item, stop));
                let outcome = guarded(|| items.iter().map(one).collect::<Result<Vec<T>, _>>());
                done.send((at, outcome)).expect("the receiver waits for every share");
            });
        }
        drop(done);
        loop {
            // Detached while waiting, or a worker that needs the interpreter would never finish.
            let arrived = &mut arrived;
            match py.detach(move || arrived.recv_timeout(POLL)) {
                Ok((at, Ok(Ok(results)))) if end.is_ok() => {
                    let pairs = (at * share..).zip(results);
                    match pairs.map(|(at, result)| finish(at, result)).collect() {
                        Ok(results) => finished[at] = results,
                        Err(error) => end = Err(error),
                    }
                }
                Ok((_, Err(panicked))) => end = end.and(Err(panicked.into())),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break end,
            }
            end = end.and_then(|()| py.check_signals());
            if end.is_err() {
                stop.set();
            }
        }
    });
    end.map(|()| finished.into_iter().flatten().collect())
}

/// The signal's exception goes before whatever the work came to.
fn settle<T>(signal: PyResult<()>, outcome: Result<T, Stopped>) -> PyResult<T> {
    signal?;
    outcome.map_err(|Stopped| errors::internal("work ended without being asked to"))
}

/// Waits until the work is done; a Python signal handler that raises ends the work early.
fn watch(py: Python<'_>, done: &Done, stop: &Stop) -> PyResult<()> {
    let mut signal = Ok(());
    // Detached while waiting, or a worker that needs the interpreter would never finish.
    while !py.detach(|| done.wait(POLL)) {
        if signal.is_ok() {
            signal = py.check_signals();
            if signal.is_err() {
                stop.set();
            }
        }
    }
    signal
}

/// Wakes the thread that waits for the work.
struct Done {
    flag: AtomicBool,
    waiter: Thread,
}

impl Done {
    fn for_this_thread() -> Self {
        Self { flag: AtomicBool::new(false), waiter: thread::current() }
    }

    fn set(&self) {
        self.flag.store(true, Ordering::Release);
        self.waiter.unpark();
    }

    /// True when done; false when `limit` passed first (or the wait ended early for no reason).
    fn wait(&self, limit: Duration) -> bool {
        if !self.flag.load(Ordering::Acquire) {
            thread::park_timeout(limit);
        }
        self.flag.load(Ordering::Acquire)
    }
}

/// The pool of this process: one thread for each CPU it may use.
///
/// A forked child inherits the memory of the pool but none of its threads, and would wait for them for ever:
/// the pool is kept with the id of its process and built anew in any other. The lock is only ever tried, because a
/// child may also inherit it locked; then the call gets a pool of its own.
fn pool() -> PyResult<Arc<ThreadPool>> {
    static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);
    let pid = std::process::id();
    let Ok(mut kept) = POOL.try_lock() else { return build_pool() };
    if let Some((owner, pool)) = &*kept
        && *owner == pid
    {
        return Ok(Arc::clone(pool));
    }
    let pool = build_pool()?;
    // The parent's pool is forgotten, not dropped: dropping would talk to threads that do not exist here.
    mem::forget(kept.replace((pid, Arc::clone(&pool))));
    Ok(pool)
}

fn build_pool() -> PyResult<Arc<ThreadPool>> {
    // Respects CPU affinity and cgroup limits, unlike rayon's own default when told otherwise by its environment.
    let threads = thread::available_parallelism().map_or(1, usize::from);
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|n| format!("ctxproto-{n}"))
        .build()
        .map(Arc::new)
        .map_err(|error| errors::internal(&format!("cannot start {threads} worker threads: {error}")))
}

/// A panic that was caught, by the place in the source where it began.
pub(crate) struct Panicked {
    place: Option<String>,
}

impl From<Panicked> for PyErr {
    fn from(panicked: Panicked) -> Self {
        let place = panicked.place.as_deref().unwrap_or("an unknown place");
        errors::internal(&format!("bug in ctxproto at {place}: please report it"))
    }
}

thread_local! {
    static GUARDS: Cell<u32> = const { Cell::new(0) };
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The guard alone, for the threads that long work starts itself.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    GUARDS.set(GUARDS.get() + 1);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    GUARDS.set(GUARDS.get() - 1);
    outcome.map_err(|_| Panicked { place: PLACE.take() })
}

/// Makes guarded panics silent: the default hook would print the payload. Others keep the hook they had.
pub(crate) fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if GUARDS.get() == 0 {
                before(info);
            } else {
                PLACE.set(info.location().map(|at| format!("{}:{}", at.file(), at.line())));
            }
        }));
    });
}
