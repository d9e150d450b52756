//! Asks for a change of code: its files, and pages of its text.

use reqwest::Method;
use wire::{ChangesView, FileDiffView, PatchView};

use super::{Client, LONG, escape, of_run};
use crate::{change::Of, failure::Failure};

impl Client {
    /// A page of the files of a change.
    pub(crate) async fn change_files(
        &self,
        run: &str,
        of: Of,
        offset: u64,
        head: Option<&str>,
    ) -> Result<ChangesView, Failure> {
        let asked = format!("files?offset={offset}{}", at_head(head));
        self.send(self.request(Method::GET, &of_run(run, &of.path(&asked))).timeout(LONG)).await
    }

    /// A page of the diff of one file, from a byte on.
    pub(crate) async fn change_file(
        &self,
        run: &str,
        of: Of,
        head: &str,
        (file, offset): (&str, u64),
    ) -> Result<FileDiffView, Failure> {
        let asked = format!("file?file={}&offset={offset}{}", escape(file), at_head(Some(head)));
        self.send(self.request(Method::GET, &of_run(run, &of.path(&asked))).timeout(LONG)).await
    }

    /// A page of a whole diff as git prints it, from a byte on.
    pub(crate) async fn change_text(
        &self,
        run: &str,
        of: Of,
        (offset, limit): (u64, Option<usize>),
        head: Option<&str>,
    ) -> Result<PatchView, Failure> {
        let limit = limit.map(|limit| format!("&limit={limit}")).unwrap_or_default();
        let asked = format!("text?offset={offset}{limit}{}", at_head(head));
        self.send(self.request(Method::GET, &of_run(run, &of.path(&asked))).timeout(LONG)).await
    }
}

/// Pages of two changes do not make one.
fn at_head(head: Option<&str>) -> String {
    head.map(|head| format!("&head={}", escape(head))).unwrap_or_default()
}
