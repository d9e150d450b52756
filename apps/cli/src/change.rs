//! A change of code, fetched whole: every file of it, and their text as far as it is wanted. Never silently less.

use wire::{ChangedFileView, ChangesView, FileDiffView, HoldView, RunView};

use crate::{client::Client, failure::Failure};

/// Which change of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Its branch as it stands.
    Branch,
    /// Code it made, by its place in the list, from 1.
    Artifact(usize),
}

impl Of {
    /// The rest of the address, for what is asked of it.
    pub(crate) fn path(self, what: &str) -> String {
        match self {
            Self::Branch => format!("/diff/{what}"),
            Self::Artifact(number) => format!("/artifacts/{number}/{what}"),
        }
    }

    /// The change that a hold shows for a decision, if it shows one.
    pub(crate) fn shown_by(hold: &HoldView, run: &RunView) -> Option<Self> {
        let Some(made) = &hold.artifact else {
            return matches!(hold.kind.as_str(), "fix" | "review" | "conflict").then_some(Self::Branch);
        };
        if !is_code(&made.kind) {
            return None;
        }
        let same = |other: &wire::ArtifactView| other.digest == made.digest && other.commit == made.commit;
        let place = run.artifacts.iter().position(same);
        Some(place.map_or(Self::Branch, |index| Self::Artifact(index + 1)))
    }
}

/// Whether an artifact is a change of files.
pub(crate) fn is_code(kind: &str) -> bool {
    kind == "code" || kind == "handoff"
}

/// The whole list of files.
pub(crate) async fn files(client: &Client, run: &str, of: Of) -> Result<ChangesView, Failure> {
    let mut list = client.change_files(run, of, 0, None).await?;
    while let Some(next) = list.next {
        let more = client.change_files(run, of, next, Some(&list.head)).await?;
        list.files.extend(more.files);
        list.next = more.next;
    }
    Ok(list)
}

/// The diff of one file, whole.
pub(crate) async fn file(client: &Client, run: &str, of: Of, head: &str, id: &str) -> Result<FileDiffView, Failure> {
    let mut whole = client.change_file(run, of, head, (id, 0)).await?;
    while let Some(next) = whole.next {
        let more = client.change_file(run, of, head, (id, next)).await?;
        whole.text.push_str(&more.text);
        whole.exact &= more.exact;
        whole.next = more.next;
    }
    Ok(whole)
}

/// The diff of one file, to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// Its place in the list.
    pub(crate) at: usize,
    /// Hunks.
    pub(crate) text: String,
    /// Of what has no lines.
    pub(crate) binary: Option<Box<FileDiffView>>,
}

/// A change with the text of its files, as far as it was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loaded {
    pub(crate) list: ChangesView,
    /// Those files whose text is whole, in the order of the list.
    pub(crate) sections: Vec<Section>,
}

impl Loaded {
    /// Files that are listed and whose text is not here.
    pub(crate) fn missing(&self) -> Vec<&ChangedFileView> {
        let has = |at: &usize| self.sections.iter().any(|section| section.at == *at);
        (0..self.list.files.len()).filter(|at| !has(at)).map(|at| &self.list.files[at]).collect()
    }
}

/// Reads a change until its text has about so many bytes. A file of which not everything was read is left out.
pub(crate) async fn load(client: &Client, run: &str, of: Of, most: usize) -> Result<Loaded, Failure> {
    let list = files(client, run, of).await?;
    let mut sections = Vec::new();
    let mut room = most;
    each_section(client, run, of, &list, |section| {
        let fits = section.text.len() <= room;
        room = room.saturating_sub(section.text.len());
        if fits {
            sections.push(section);
        }
        if fits { Then::GoOn } else { Then::Stop }
    })
    .await?;
    // A small file does not wait behind a large one.
    let is_read = |at: usize, sections: &[Section]| sections.iter().any(|section| section.at == at);
    let small = |file: &ChangedFileView| file.added.zip(file.deleted).is_none_or(|(more, less)| more + less < SMALL);
    let rest: Vec<usize> =
        (0..list.files.len()).filter(|at| !is_read(*at, &sections) && small(&list.files[*at])).collect();
    for at in rest.into_iter().take(MOST_SMALL) {
        sections.push(section(client, run, of, &list, at).await?);
    }
    sections.sort_by_key(|section| section.at);
    Ok(Loaded { list, sections })
}

/// Lines of a small file.
const SMALL: u64 = 300;
/// Small files that are asked for one by one.
const MOST_SMALL: usize = 40;

async fn section(client: &Client, run: &str, of: Of, list: &ChangesView, at: usize) -> Result<Section, Failure> {
    let shown = file(client, run, of, &list.head, &list.files[at].id).await?;
    let is_binary = shown.file.content == "binary";
    let text = if is_binary { String::new() } else { shown.text.clone() };
    Ok(Section { at, text, binary: is_binary.then(|| Box::new(shown)) })
}

/// Whether the next section is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    GoOn,
    Stop,
}

/// Hands out the text of every file of a change, in the order of the list, as it comes in.
pub(crate) async fn each_section(
    client: &Client,
    run: &str,
    of: Of,
    list: &ChangesView,
    mut take: impl FnMut(Section) -> Then,
) -> Result<(), Failure> {
    let mut splitter = Splitter::new(&list.files);
    let mut next = Some(0);
    while let Some(offset) = next {
        let page = client.change_text(run, of, (offset, None), Some(&list.head)).await?;
        next = page.next;
        let mut done = splitter.push(&page.text);
        if next.is_none() {
            done.extend(splitter.end());
        }
        for (at, text) in done {
            let Some(file) = list.files.get(at) else { continue };
            // Of these the whole text says only that they are binary.
            let section = match file.content.as_str() {
                "text" => Section { at, text, binary: None },
                _ => section(client, run, of, list, at).await?,
            };
            if take(section) == Then::Stop {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Divides git's diff into the files of the list: the order is the same. Headers are left out, the list has it all.
struct Splitter {
    /// How many parts each file takes: one that becomes another kind of thing takes two.
    parts: Vec<usize>,
    /// The file that is being read, and how many of its parts have begun.
    at: Option<(usize, usize)>,
    in_header: bool,
    /// The last line may not be whole.
    line: String,
    text: String,
}

impl Splitter {
    fn new(files: &[ChangedFileView]) -> Self {
        let parts = files.iter().map(|file| if file.status == "T" { 2 } else { 1 }).collect();
        Self { parts, at: None, in_header: true, line: String::new(), text: String::new() }
    }

    /// Takes more of the diff; gives back the files that are complete.
    fn push(&mut self, page: &str) -> Vec<(usize, String)> {
        let mut done = Vec::new();
        for piece in page.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                let line = std::mem::take(&mut self.line);
                done.extend(self.take(&line));
            }
        }
        done
    }

    /// The last file.
    fn end(&mut self) -> Vec<(usize, String)> {
        let line = std::mem::take(&mut self.line);
        let mut done: Vec<_> = self.take(&line).into_iter().collect();
        done.extend(self.at.take().map(|(file, _)| (file, std::mem::take(&mut self.text))));
        done
    }

    fn take(&mut self, line: &str) -> Option<(usize, String)> {
        if line.starts_with("diff --git ") {
            self.in_header = true;
            return match self.at {
                Some((file, begun)) if self.parts.get(file).is_some_and(|parts| begun < *parts) => {
                    self.at = Some((file, begun + 1));
                    None
                }
                Some((file, _)) => {
                    self.at = Some((file + 1, 1));
                    Some((file, std::mem::take(&mut self.text)))
                }
                None => {
                    self.at = Some((0, 1));
                    None
                }
            };
        }
        self.in_header &= !line.starts_with("@@ ");
        if !self.in_header {
            self.text.push_str(line);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(status: &str) -> ChangedFileView {
        ChangedFileView {
            id: "61".to_owned(),
            path: "a".to_owned(),
            status: status.to_owned(),
            from: None,
            added: Some(1),
            deleted: Some(0),
            content: "text".to_owned(),
            old: None,
            new: None,
        }
    }

    #[test]
    fn a_diff_is_divided_into_its_files_wherever_its_pages_end() {
        let diff = "diff --git a/one b/one\nindex 1..2 100644\n--- a/one\n+++ b/one\n@@ -1 +1 @@\n-diff --git x\n+two\n\
                    diff --git a/link b/link\ndeleted file mode 100644\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+y\n\
                    \\ No newline at end of file\n\
                    diff --git a/moved b/moved2\nsimilarity index 100%\nrename from moved\nrename to moved2\n\
                    diff --git a/end b/end\n@@ -0,0 +1 @@\n+end\n";
        let files = [file("M"), file("T"), file("R"), file("A")];
        let expected = [
            (0, "@@ -1 +1 @@\n-diff --git x\n+two\n".to_owned()),
            (1, "@@ -1 +0,0 @@\n-x\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n".to_owned()),
            (2, String::new()),
            (3, "@@ -0,0 +1 @@\n+end\n".to_owned()),
        ];
        for cut in 0..diff.len() {
            let mut splitter = Splitter::new(&files);
            let mut all = splitter.push(&diff[..cut]);
            all.extend(splitter.push(&diff[cut..]));
            all.extend(splitter.end());
            assert_eq!(all, expected, "cut at {cut}");
        }
    }
}
