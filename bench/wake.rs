//! How long a message from one thread to another and back takes when both sleep in between, as the threads of an event
//! loop and of an engine do.

use std::io;

use serde::Deserialize;

/// Where the two threads run.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Placement {
    /// Where the scheduler puts them.
    Free,
    OneProcessor,
    TwoProcessors,
}

/// Microseconds of each round trip; none where it cannot be measured.
#[cfg(target_os = "linux")]
pub fn measure(placement: Placement, rounds: usize) -> io::Result<Vec<f64>> {
    use std::time::Instant;

    let allowed = linux::affinity()?;
    let processors = linux::processors(&allowed);
    let places = match (placement, processors.as_slice()) {
        (Placement::Free, _) => None,
        (Placement::OneProcessor, [first, ..]) => Some((*first, *first)),
        (Placement::TwoProcessors, [first, second, ..]) => Some((*first, *second)),
        _ => return Ok(Vec::new()),
    };
    let (ping, pong) = (linux::event()?, linux::event()?);
    let measured = std::thread::scope(|scope| {
        if let Some((here, _)) = places {
            linux::pin(&linux::only(here))?;
        }
        scope.spawn(move || {
            // Where it fails to be pinned the figures are those of `Free`.
            let _ = places.map(|(_, there)| linux::pin(&linux::only(there)));
            (0..rounds).try_for_each(|_| linux::wait(ping).and_then(|_| linux::signal(pong)))
        });
        let round = |_| {
            let start = Instant::now();
            linux::signal(ping)?;
            linux::wait(pong)?;
            Ok(start.elapsed().as_secs_f64() * 1e6)
        };
        (0..rounds).map(round).collect()
    });
    linux::pin(&allowed)?;
    measured
}

/// Measured on Linux only.
#[cfg(not(target_os = "linux"))]
pub fn measure(_: Placement, _: usize) -> io::Result<Vec<f64>> {
    Ok(Vec::new())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{io, mem::size_of};

    use libc::{c_int, cpu_set_t};

    fn made(result: c_int) -> io::Result<c_int> {
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    /// Stays open until the program ends.
    pub fn event() -> io::Result<c_int> {
        // SAFETY: plain numbers.
        made(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) })
    }

    pub fn signal(event: c_int) -> io::Result<()> {
        // SAFETY: plain numbers.
        made(unsafe { libc::eventfd_write(event, 1) }).map(drop)
    }

    pub fn wait(event: c_int) -> io::Result<()> {
        let mut count = 0;
        // SAFETY: a place for the answer.
        made(unsafe { libc::eventfd_read(event, &mut count) }).map(drop)
    }

    fn none() -> cpu_set_t {
        // SAFETY: a set of bits for which all zeros is a valid value.
        unsafe { std::mem::zeroed() }
    }

    /// The processors that the calling thread may run on.
    pub fn affinity() -> io::Result<cpu_set_t> {
        let mut set = none();
        // SAFETY: a place for the answer, of the size said; thread 0 is the calling one.
        made(unsafe { libc::sched_getaffinity(0, size_of::<cpu_set_t>(), &mut set) })?;
        Ok(set)
    }

    pub fn processors(set: &cpu_set_t) -> Vec<usize> {
        // SAFETY: the numbers are below what the set has room for.
        (0..libc::CPU_SETSIZE as usize).filter(|&index| unsafe { libc::CPU_ISSET(index, set) }).collect()
    }

    pub fn only(processor: usize) -> cpu_set_t {
        let mut set = none();
        // SAFETY: the number comes from `processors`.
        unsafe { libc::CPU_SET(processor, &mut set) };
        set
    }

    /// Has the calling thread run on these processors alone.
    pub fn pin(set: &cpu_set_t) -> io::Result<()> {
        // SAFETY: a set of the size said; thread 0 is the calling one.
        made(unsafe { libc::sched_setaffinity(0, size_of::<cpu_set_t>(), set) }).map(drop)
    }
}
