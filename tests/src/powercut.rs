//! A power cut: data directory and repository lie on a small ext4 of their own, whose device is copied at an instant.
//! What the kernel had not written yet is lost in the copy. All processes end, the copy is mounted in the same place, and
//! a new server must go on. Needs root and loop devices.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::faults::see_through;
use crate::product::Product;
use crate::stories;
use crate::world::World;

/// The instant of the cut.
#[derive(Debug, Clone, Copy)]
pub enum Instant {
    /// When the server reaches this boundary.
    Boundary(u64),
    /// So long after the run was acknowledged.
    After(Duration),
}

/// What was there after the cut.
#[derive(Debug)]
pub struct Aftermath {
    /// Whether the run had been acknowledged before.
    pub acknowledged: bool,
    /// How often a person had to say `retry`.
    pub held: u32,
    /// Why a run that was acknowledged did not come to a good end, or a new one could not.
    pub problem: Option<String>,
}

/// A project's first run, cut off.
pub async fn cut(instant: Instant) -> Result<Aftermath> {
    let cut = tokio::time::timeout(Duration::from_secs(300), cut_it(instant)).await;
    cut.with_context(|| format!("the cut at {instant:?} did not end in five minutes"))?
}

/// How many boundaries a project's first run has.
pub async fn boundaries() -> Result<u64> {
    let disk = Disk::new()?;
    let (world, request) = begin(&disk)?;
    let log = disk.folder.path().join("boundaries");
    let environment = BTreeMap::from([("HOLDPOINT_BOUNDARIES".to_owned(), log.display().to_string())]);
    let product = Product::start(&world.home(), &environment).await?;
    let started = product.run(Some("first"), &request).await?;
    see_through(&product, started["id"].as_str().context("a run has an id")?).await?;
    product.stop().await?;
    Ok(std::fs::read_to_string(&log)?.lines().count() as u64)
}

fn begin(disk: &Disk) -> Result<(World, serde_json::Value)> {
    let story = stories::of("autonomous")?;
    let world = World::within(&disk.mounted(), &story.script)?;
    let mut request = story.request;
    request["project"] = json!(world.repository());
    request["trust"] = json!({"planning": "auto", "implementation": "auto", "fixes": "auto"});
    // What the user had for long is not what a cut takes.
    run("sync", &["--file-system", &disk.mounted().display().to_string()])?;
    Ok((world, request))
}

async fn cut_it(instant: Instant) -> Result<Aftermath> {
    let mut disk = Disk::new()?;
    let (world, request) = begin(&disk)?;
    let environment = match instant {
        Instant::Boundary(number) => BTreeMap::from([("HOLDPOINT_KILL_AT".to_owned(), number.to_string())]),
        Instant::After(_) => BTreeMap::new(),
    };
    let mut acknowledged = None;
    // A server that is cut off while it starts, or while it answers, has acknowledged nothing.
    if let Ok(mut product) = Product::start(&world.home(), &environment).await {
        let started = product.run(Some("first"), &request).await;
        acknowledged = started.ok().and_then(|run| run["id"].as_str().map(str::to_owned));
        match instant {
            Instant::After(wait) => tokio::time::sleep(wait).await,
            // Without anybody asked, the story reaches its boundary or its end.
            Instant::Boundary(_) => drop(tokio::time::timeout(Duration::from_secs(20), product.ended()).await),
        }
        disk.lose_power()?;
    } else {
        disk.lose_power()?;
    }
    let product = Product::start(&world.home(), &BTreeMap::new()).await?;
    let aftermath = look_after(&product, &world, acknowledged.as_deref(), &request).await;
    let ended = product.stop().await;
    let (held, problem) = aftermath?;
    ended?;
    Ok(Aftermath { acknowledged: acknowledged.is_some(), held, problem })
}

/// The run that was begun comes to its end, and so does a new one of the project.
async fn look_after(
    product: &Product,
    world: &World,
    acknowledged: Option<&str>,
    request: &serde_json::Value,
) -> Result<(u32, Option<String>)> {
    let mut held = 0;
    if let Some(run) = acknowledged {
        let (status, _) = product.get(&format!("/api/runs/{run}")).await?;
        if status != 200 {
            return Ok((0, Some(format!("the acknowledged run is gone: {status}"))));
        }
        let (times, problem) = see_through(product, run).await?;
        held += times;
        if problem.is_some() {
            return Ok((held, problem));
        }
    }
    world.tell(&stories::of("autonomous")?.script.replace("made.txt", "another.txt"))?;
    let (status, started) = product.post("/api/runs", Some("after"), request).await?;
    if !(200..300).contains(&status) {
        return Ok((held, Some(format!("a new run is refused with {status}: {started}"))));
    }
    let (times, problem) = see_through(product, started["id"].as_str().context("a run has an id")?).await?;
    Ok((held + times, problem))
}

/// A file system in a file.
struct Disk {
    folder: tempfile::TempDir,
    image: PathBuf,
}

impl Disk {
    fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("holdpoint-disk-").tempdir()?;
        let image = folder.path().join("image");
        std::fs::File::create(&image)?.set_len(160 << 20)?;
        run("mkfs.ext4", &["-q", "-F", &image.display().to_string()])?;
        std::fs::create_dir(folder.path().join("mounted"))?;
        let disk = Self { folder, image };
        disk.mount()?;
        Ok(disk)
    }

    fn mounted(&self) -> PathBuf {
        self.folder.path().join("mounted")
    }

    fn mount(&self) -> Result<()> {
        run("mount", &["-o", "loop", &self.image.display().to_string(), &self.mounted().display().to_string()])
    }

    /// Stops every process on the disk, copies its device as it is, ends the processes, and puts the copy in its place.
    fn lose_power(&mut self) -> Result<()> {
        self.signal(Signal::STOP)?;
        let copy = self.copy_of_device()?;
        self.signal(Signal::KILL)?;
        self.unmount()?;
        self.image = copy;
        self.mount()
    }

    /// Nobody writes but the kernel, now and then: a copy that equals a second one is of one instant.
    fn copy_of_device(&self) -> Result<PathBuf> {
        let copy = self.folder.path().join("copy");
        for _ in 0..50 {
            let (from, to) = (self.image.display().to_string(), copy.display().to_string());
            run("cp", &["--sparse=always", &from, &to])?;
            if Command::new("cmp").args(["-s", &from, &to]).status()?.success() {
                return Ok(copy);
            }
        }
        bail!("the device does not come to rest")
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        // A process may start another before it is stopped.
        for _ in 0..3 {
            for process in self.processes()? {
                // One that has ended meanwhile is what is wanted.
                let _ = kill_process(process, signal);
            }
        }
        Ok(())
    }

    /// Whoever names the disk in its arguments or environment; all of them were started here.
    fn processes(&self) -> Result<Vec<Pid>> {
        let name = self.mounted().display().to_string().into_bytes();
        let own = std::process::id();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc")?.flatten() {
            let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            let names = |file: &str| {
                let text = std::fs::read(entry.path().join(file)).unwrap_or_default();
                text.windows(name.len()).any(|window| window == name)
            };
            let works = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(self.mounted()));
            if number != own && (works || names("cmdline") || names("environ") || opens(&entry.path(), &self.mounted()))
            {
                found.extend(Pid::from_raw(number.cast_signed()));
            }
        }
        Ok(found)
    }

    fn unmount(&self) -> Result<()> {
        let mounted = self.mounted().display().to_string();
        for _ in 0..100 {
            if Command::new("umount").arg(&mounted).output()?.status.success() {
                return Ok(());
            }
            // Killed processes take a moment to let go of their files.
            self.signal(Signal::KILL)?;
        }
        run("umount", &["--lazy", &mounted])
    }
}

fn opens(process: &Path, folder: &Path) -> bool {
    let files = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    files.filter_map(|file| std::fs::read_link(file.path()).ok()).any(|file| file.starts_with(folder))
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What cannot be unmounted stays until the machine restarts.
        let _ = self.signal(Signal::KILL);
        let _ = self.unmount();
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<()> {
    let output = Command::new(program).args(arguments).output().with_context(|| format!("cannot start {program}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{program} {arguments:?}: {said}");
    Ok(())
}
