//! Whole runs in which one git call fails once, before or after it has done its work: a program named `git` stands in
//! front of the real one, counts, and at its number is killed, or says that the machine has no memory left.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::product::Product;
use crate::stories;
use crate::world::{World, git};

/// How often a person says `retry` before a run counts as not recovered.
const RETRIES: u32 = 3;

/// When the call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Nothing was done.
    Before,
    /// All was done, and the caller is told that nothing was.
    After,
    /// Killed while it held the lock of a reference.
    Locked,
}

/// Which call fails.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// Which, from 1.
    pub call: u64,
    /// When.
    pub when: When,
}

/// How a run with a fault went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Went {
    /// What was counted: the arguments of each git call, or the name and file of each system call.
    pub calls: Vec<String>,
    /// Model calls that were answered, and so paid for.
    pub paid: u64,
    /// Times a person had to be asked because something could not be done.
    pub held: u32,
    /// What the holds said then.
    pub stuck: Vec<String>,
    /// How often the server ended and was started again.
    pub restarts: u32,
    /// Why it came to no good end, if it did not.
    pub problem: Option<String>,
    /// Path to content of what the run made, records apart.
    pub files: BTreeMap<String, String>,
}

/// Plays a built-in playbook from start to end.
pub async fn play(playbook: &str, fault: Option<Fault>) -> Result<Went> {
    let played = tokio::time::timeout(Duration::from_secs(240), play_it(playbook, fault)).await;
    played.with_context(|| format!("`{playbook}` with {fault:?} did not end in four minutes"))?
}

async fn play_it(playbook: &str, fault: Option<Fault>) -> Result<Went> {
    let story = stories::of(playbook)?;
    let world = World::new(&story.script)?;
    if story.has_remote {
        world.add_remote()?;
    }
    let stand_in = StandIn::new(&world)?;
    if let Some(fault) = fault {
        stand_in.fail_at(fault)?;
    }
    let product = Product::start(&world.home(), &stand_in.environment()?).await?;
    let mut request = story.request;
    request["project"] = json!(world.repository());
    // A start that is refused is told to the person at once, who says it again.
    let started = match product.run(Some("first"), &request).await {
        Ok(started) => started,
        Err(_) => product.run(Some("second"), &request).await?,
    };
    let run = started["id"].as_str().context("a run has an id")?.to_owned();
    let (held, problem) = see_through(&product, &run).await?;
    let (_, view) = product.get(&format!("/api/runs/{run}")).await?;
    let files = files(&world, view["branch"].as_str().unwrap_or_default())?;
    product.stop().await?;
    Ok(Went { calls: stand_in.calls()?, paid: world.given()?.0, held, stuck: Vec::new(), restarts: 0, problem, files })
}

/// Says yes to everything and `retry` to what is stuck, in all runs, until the run has ended: how often something was
/// stuck, and why it came to no good end.
pub async fn see_through(product: &Product, run: &str) -> Result<(u32, Option<String>)> {
    let mut seen = Seen::default();
    let problem = go_on(product, run, &mut seen).await?;
    Ok((seen.held(), problem))
}

/// What a person has done about a run so far.
#[derive(Debug, Default)]
pub struct Seen {
    /// Holds that were decided on, and acknowledged.
    decided: BTreeSet<String>,
    /// What was stuck, each time.
    pub stuck: Vec<String>,
}

impl Seen {
    /// How often something was stuck.
    #[must_use]
    pub fn held(&self) -> u32 {
        u32::try_from(self.stuck.len()).unwrap_or(u32::MAX)
    }
}

/// As [`see_through`], from where a person stands; an error means that the server is gone.
pub async fn go_on(product: &Product, run: &str, seen: &mut Seen) -> Result<Option<String>> {
    loop {
        let decided = &seen.decided;
        let view = product
            .watch("/api/live", |message| {
                let views = match message["message"].as_str() {
                    Some("snapshot") => message["runs"].as_array().cloned().unwrap_or_default(),
                    Some("event") => vec![message["run"].clone()],
                    _ => Vec::new(),
                };
                views.into_iter().find(|view| wants_us(view, run, decided))
            })
            .await?;
        match view["status"].as_str().unwrap_or_default() {
            "completed" => return Ok(None),
            "failed" | "cancelled" => return Ok(Some(format!("the run ended: {view}"))),
            _ => {}
        }
        let decision = match view["hold"]["kind"].as_str().unwrap_or_default() {
            "approval" | "review" | "confirm" => "approve",
            _ if seen.held() >= RETRIES => return Ok(Some(format!("still held: {}", view["hold"]["summary"]))),
            _ => {
                seen.stuck.push(view["hold"]["summary"].to_string());
                "retry"
            }
        };
        let (status, body) = product.decide(&view, &json!({"decision": decision})).await?;
        ensure!(matches!(status, 200..=299 | 409), "`{decision}` was refused with {status}: {body}");
        // What could not be read in that moment is shown again, and decided on again.
        if body["code"] != "content_unavailable" {
            seen.decided.insert(hold_name(&view));
        }
    }
}

fn wants_us(view: &Value, run: &str, decided: &BTreeSet<String>) -> bool {
    let ended = matches!(view["status"].as_str(), Some("completed" | "failed" | "cancelled"));
    (view["id"] == run && ended) || (view["hold"].is_object() && !ended && !decided.contains(&hold_name(view)))
}

fn hold_name(view: &Value) -> String {
    format!("{} {}", view["id"], view["hold"]["id"])
}

/// What the run made on its branch and on `main`; and nothing of ours lies about in the user's repository.
pub(crate) fn files(world: &World, branch: &str) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for (name, reference) in [("main", "main"), ("branch", branch)] {
        let Ok(paths) = world.git(&["ls-tree", "-r", "--name-only", reference]) else { continue };
        for path in paths.lines().filter(|path| !path.starts_with(".autonomous/")) {
            files.insert(format!("{name}: {path}"), world.git(&["show", &format!("{reference}:{path}")])?);
        }
    }
    if world.remote().is_dir() {
        // The branch's name differs from run to run; how many there are and what they hold does not.
        for (nth, branch) in git(&world.remote(), &["for-each-ref", "--format=%(refname)"])?.lines().enumerate() {
            let paths = git(&world.remote(), &["ls-tree", "-r", "--name-only", branch])?;
            let paths: Vec<&str> = paths.lines().filter(|path| !path.starts_with(".autonomous/")).collect();
            files.insert(format!("remote branch {nth}"), paths.join(" "));
        }
    }
    files.insert("checkout".to_owned(), world.git(&["status", "--porcelain"])?);
    files.insert("locks".to_owned(), locks(&world.repository().join(".git"))?.join(" "));
    Ok(files)
}

fn locks(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(locks(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path.display().to_string());
        }
    }
    Ok(found)
}

/// The program in front of git.
pub struct StandIn {
    folder: PathBuf,
}

impl Fault {
    /// How this call can fail.
    pub fn of(number: u64, call: &str) -> Vec<Self> {
        let mut ways = vec![When::Before, When::After];
        // Where `$5` in the stand-in is the reference.
        if call.starts_with("update-ref --no-deref -m ") {
            ways.push(When::Locked);
        }
        ways.into_iter().map(|when| Self { call: number, when }).collect()
    }
}

impl StandIn {
    /// Puts it beside the world.
    pub fn new(world: &World) -> Result<Self> {
        let folder = world.outside().join("stand-in");
        std::fs::create_dir_all(&folder)?;
        let stand_in = Self { folder };
        let program = stand_in.folder.join("git");
        std::fs::write(&program, stand_in.text()?)?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(stand_in)
    }

    /// One call fails once.
    pub fn fail_at(&self, fault: Fault) -> Result<()> {
        // Each call meets one of the two failures; the choice does not follow the step of a sample.
        let how = match (fault.when, mixed(fault.call) % 2) {
            (When::Before, 0) => "before-killed",
            (When::Before, _) => "before-memory",
            (When::After, 0) => "after-killed",
            (When::After, _) => "after-again",
            (When::Locked, _) => "locked-killed",
        };
        Ok(std::fs::write(self.folder.join(format!("at-{}", fault.call)), how)?)
    }

    /// Every call of a git command fails, for a reason that git alone knows.
    pub fn fail_all(&self, command: &str) -> Result<()> {
        Ok(std::fs::write(self.folder.join("all"), command)?)
    }

    /// No call fails any more.
    pub fn fail_none(&self) -> Result<()> {
        Ok(std::fs::remove_file(self.folder.join("all"))?)
    }

    /// What a server is started with to meet it.
    pub fn environment(&self) -> Result<BTreeMap<String, String>> {
        let path = std::env::var("PATH").context("there is a PATH")?;
        Ok(BTreeMap::from([("PATH".to_owned(), format!("{}:{path}", self.folder.display()))]))
    }

    /// Arguments of each call so far.
    pub fn calls(&self) -> Result<Vec<String>> {
        let text = std::fs::read_to_string(self.folder.join("calls"))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn text(&self) -> Result<String> {
        let path = std::env::var_os("PATH").context("there is a PATH")?;
        let found = std::env::split_paths(&path).map(|folder| folder.join("git")).find(|file| file.is_file());
        let Some(real) = found else { bail!("git is not installed") };
        Ok(format!(
            "#!/bin/sh\n\
             cd_to={here}\n\
             number=$(exec 9>>\"$cd_to/calls\" && flock 9 && echo \"$*\" | tr '\\n' ' ' >&9 && echo >&9 && wc -l <\"$cd_to/calls\")\n\
             how=$(cat \"$cd_to/at-$number\" 2>/dev/null)\n\
             if [ -z \"$how\" ] && [ \"$1\" = \"$(cat \"$cd_to/all\" 2>/dev/null)\" ]; then how=strange; fi\n\
             case $how in\n\
             before-killed) kill -9 $$ ;;\n\
             before-memory) echo 'fatal: Out of memory, malloc failed (tried to allocate 1 bytes)' >&2; exit 128 ;;\n\
             after-killed) {real} \"$@\"; kill -9 $$ ;;\n\
             locked-killed) mkdir -p \"$GIT_DIR/$(dirname \"$5\")\"; : >\"$GIT_DIR/$5.lock\"; kill -9 $$ ;;\n\
             after-again) {real} \"$@\"; echo 'error: cannot fork: Resource temporarily unavailable' >&2; exit 128 ;;\n\
             strange) echo 'fatal: something is strange' >&2; exit 128 ;;\n\
             esac\n\
             exec {real} \"$@\"\n",
            here = self.folder.display(),
            real = real.display(),
        ))
    }
}

/// A number that looks random and is the same each time: a sample of every n-th call meets all kinds of failure.
#[must_use]
pub fn mixed(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
}

/// The n-th argument of a loop's command line, a number above zero.
pub fn argument(nth: usize, otherwise: usize) -> Result<usize> {
    let number = std::env::args().nth(nth).map_or(Ok(otherwise), |text| text.parse::<usize>())?;
    ensure!(number > 0, "argument {nth} must be above zero");
    Ok(number)
}

/// How often which end was met.
#[derive(Debug, Default)]
pub struct Count {
    faults: u32,
    by_itself: u32,
    held: u32,
    restarts: u32,
    paid_again: u32,
    not_recovered: u32,
}

impl Count {
    /// Adds one run with a fault; what is worth a line.
    pub fn add(&mut self, reference: &Went, place: &str, went: Result<Went>) -> Vec<String> {
        self.faults += 1;
        let went = match went {
            Ok(went) => went,
            Err(error) => {
                self.not_recovered += 1;
                return vec![format!("NOT RECOVERED {place}: {error:#}")];
            }
        };
        self.restarts += went.restarts;
        let mut lines = Vec::new();
        if went.paid > reference.paid {
            self.paid_again += 1;
            lines.push(format!("PAID AGAIN {place}: {} model calls instead of {}", went.paid, reference.paid));
        }
        let differs = (went.files != reference.files).then(|| format!("it made {:?}", went.files));
        match (went.held, went.problem.or(differs)) {
            (0, None) => self.by_itself += 1,
            (_, None) => {
                self.held += 1;
                lines.push(format!("HELD {place}: {}", went.stuck.join("; ")));
            }
            (_, Some(problem)) => {
                self.not_recovered += 1;
                lines.push(format!("NOT RECOVERED {place}: {problem}"));
            }
        }
        lines
    }

    /// Prints where a long loop stands, every 50 faults.
    #[expect(clippy::print_stderr, reason = "the report of the loops")]
    pub fn print_progress(&self) {
        if self.faults.is_multiple_of(50) {
            eprintln!("so far: {self}");
        }
    }

    /// Adds what another count has.
    pub fn include(&mut self, other: &Self) {
        self.faults += other.faults;
        self.by_itself += other.by_itself;
        self.held += other.held;
        self.restarts += other.restarts;
        self.paid_again += other.paid_again;
        self.not_recovered += other.not_recovered;
    }

    /// Whether something was tried, nothing was paid again and everything recovered.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.faults > 0 && self.paid_again == 0 && self.not_recovered == 0
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { faults, by_itself, held, restarts, paid_again, not_recovered } = self;
        write!(
            f,
            "{faults} faults, {by_itself} recovered by itself, {held} held, {paid_again} paid again, {not_recovered} not \
             recovered, {restarts} times the server ended and was started again"
        )
    }
}
