//! Brings the log to disk on a thread of its own: one sync for all lines that were written while the one before was
//! under way. Never writes a line itself.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use tokio::sync::watch;

pub(crate) struct Syncer {
    /// How many syncs were asked for; each covers all lines that were written before it.
    asked: Arc<AtomicU64>,
    wake: Sender<()>,
    done: watch::Receiver<Synced>,
}

#[derive(Debug, Clone, Default)]
struct Synced {
    /// Everything asked for up to here is on disk.
    upto: u64,
    failed: Option<String>,
}

impl Syncer {
    /// The thread ends with this value.
    pub(crate) fn start(log: &File) -> io::Result<Self> {
        let log = log.try_clone()?;
        let asked = Arc::new(AtomicU64::new(0));
        let (wake, woken) = channel();
        let (tell, done) = watch::channel(Synced::default());
        let counted = Arc::clone(&asked);
        std::thread::Builder::new().name("call-log".to_owned()).spawn(move || run(&log, &counted, &woken, &tell))?;
        Ok(Self { asked, wake, done })
    }

    /// Asks for what has been written to be brought to disk.
    pub(crate) fn ask(&self) {
        self.asked.fetch_add(1, Ordering::SeqCst);
        // The thread listens as long as this value lives.
        let _ = self.wake.send(());
    }

    /// Ready once all that was asked for is on disk, or cannot be brought there.
    pub(crate) fn caught_up(&self) -> impl Future<Output = ()> + Send + use<> {
        let wanted = self.asked.load(Ordering::SeqCst);
        let mut done = self.done.clone();
        async move {
            // An error means that the thread is gone, and nobody else could do it.
            let _ = done.wait_for(|synced| synced.upto >= wanted || synced.failed.is_some()).await;
        }
    }

    /// Why lines cannot be brought to disk, once that is so.
    pub(crate) fn failure(&self) -> Option<String> {
        self.done.borrow().failed.clone()
    }
}

fn run(log: &File, asked: &AtomicU64, woken: &Receiver<()>, tell: &watch::Sender<Synced>) {
    while woken.recv().is_ok() {
        while woken.try_recv().is_ok() {}
        let upto = asked.load(Ordering::SeqCst);
        if tell.borrow().upto >= upto {
            continue;
        }
        let failed = log.sync_data().err().map(|error| error.to_string());
        if let Some(cause) = &failed {
            tracing::error!(cause, "the log of model calls cannot be brought to disk");
        }
        tell.send_modify(|synced| {
            synced.upto = upto;
            synced.failed = synced.failed.take().or(failed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn many_who_ask_at_once_all_see_their_lines_on_disk() {
        let syncer = Arc::new(Syncer::start(&tempfile::tempfile().unwrap()).unwrap());
        let waiting = (0..100).map(|_| {
            let syncer = Arc::clone(&syncer);
            tokio::spawn(async move {
                syncer.ask();
                syncer.caught_up().await;
            })
        });
        for one in waiting.collect::<Vec<_>>() {
            one.await.unwrap();
        }
        assert_eq!(syncer.done.borrow().upto, 100);
        assert_eq!(syncer.failure(), None);
    }

    #[tokio::test]
    async fn a_sync_that_fails_is_told_and_nobody_waits_for_ever() {
        // A pipe cannot be synced.
        let (_reader, writer) = std::io::pipe().unwrap();
        let syncer = Syncer::start(&File::from(std::os::fd::OwnedFd::from(writer))).unwrap();
        syncer.ask();
        syncer.caught_up().await;
        assert!(syncer.failure().is_some());
    }
}
