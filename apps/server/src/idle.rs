//! Who is here: counts requests and live clients, and closes the door when nobody is.
//!
//! Closing and entering are one atomic step each, so that no request slips in after the door was closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

const CLOSED: usize = usize::MAX;

/// The door.
#[derive(Clone)]
pub(crate) struct Door {
    inside: Arc<AtomicUsize>,
    left: Arc<watch::Sender<Instant>>,
}

/// Somebody is inside for as long as this lives.
pub(crate) struct Visit {
    door: Door,
}

impl Door {
    pub(crate) fn new() -> Self {
        let (left, _) = watch::channel(Instant::now());
        Self { inside: Arc::new(AtomicUsize::new(0)), left: Arc::new(left) }
    }

    /// Lets somebody in, unless the door is closed.
    pub(crate) fn enter(&self) -> Option<Visit> {
        let step = |inside: usize| (inside != CLOSED).then(|| inside + 1);
        self.inside.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step).ok()?;
        Some(Visit { door: self.clone() })
    }

    /// How many are inside.
    pub(crate) fn inside(&self) -> usize {
        match self.inside.load(Ordering::SeqCst) {
            CLOSED => 0,
            inside => inside,
        }
    }

    /// Closes the door if nobody is inside.
    pub(crate) fn close(&self) -> bool {
        self.inside.compare_exchange(0, CLOSED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// Opens a closed door again.
    pub(crate) fn open(&self) {
        let _ = self.inside.compare_exchange(CLOSED, 0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Resolves once nobody came or went for that long and nobody is inside.
    pub(crate) async fn quiet_for(&self, time: Duration) {
        let mut left = self.left.subscribe();
        loop {
            let until = *left.borrow_and_update() + time;
            tokio::select! {
                () = tokio::time::sleep_until(until) => {
                    if self.inside.load(Ordering::SeqCst) == 0 {
                        return;
                    }
                    // Somebody stays: wait for them to leave.
                    if left.changed().await.is_err() {
                        return;
                    }
                }
                changed = left.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.door.inside.fetch_sub(1, Ordering::SeqCst);
        self.door.left.send_replace(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_door_does_not_close_on_somebody_inside() {
        let door = Door::new();
        let visit = door.enter().unwrap();
        assert!(!door.close());
        drop(visit);
        assert!(door.close());
        assert!(door.enter().is_none());
        door.open();
        assert!(door.enter().is_some());
    }

    #[tokio::test]
    async fn leaving_starts_the_quiet_time_anew() {
        let door = Door::new();
        let visit = door.enter().unwrap();
        let quiet = Duration::from_millis(20);
        tokio::time::timeout(quiet * 2, door.quiet_for(quiet)).await.expect_err("somebody is inside");
        let left = Instant::now();
        drop(visit);
        door.quiet_for(quiet).await;
        assert!(left.elapsed() >= quiet);
    }
}
