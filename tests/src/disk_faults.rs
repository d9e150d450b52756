//! Whole runs in which one system call on a file of the data directory fails once: database, spools, sessions, private
//! repository. The server may end, and is then started again; nothing that it acknowledged may be lost.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::faults::{Seen, Went, files, go_on};
use crate::product::{Product, binary, command};
use crate::stories;
use crate::syscalls::Failure;
use crate::world::World;

/// How often a client connects again to a server that lives on.
const LOST: u32 = 5;
/// How long a server that fails may take to end before it counts as living on.
const TO_END: Duration = Duration::from_secs(3);

/// Plays a built-in playbook from start to end.
pub async fn play(playbook: &str, fault: Option<(u64, Failure)>) -> Result<Went> {
    let played = tokio::time::timeout(Duration::from_secs(240), play_it(playbook, fault)).await;
    played.with_context(|| format!("`{playbook}` with {fault:?} did not end in four minutes"))?
}

async fn play_it(playbook: &str, fault: Option<(u64, Failure)>) -> Result<Went> {
    let story = stories::of(playbook)?;
    let world = World::new(&story.script)?;
    if story.has_remote {
        world.add_remote()?;
    }
    let log = world.outside().join("calls");
    let product = start(&world, fault, &log).await.ok();
    let mut server = Server { world: &world, product, restarts: 0 };
    let mut request = story.request;
    request["project"] = json!(world.repository());
    let started = server.start_run(&request).await?;
    let run = started["id"].as_str().context("a run has an id")?.to_owned();
    let mut seen = Seen::default();
    let mut lost = 0;
    let problem = loop {
        match go_on(server.up().await?, &run, &mut seen).await {
            Ok(problem) => break problem,
            Err(error) => {
                lost += 1;
                ensure!(lost <= LOST, "the server answers no more: {error:#}");
                server.restart_if_ended().await?;
            }
        }
    };
    let (_, view) = server.up().await?.get(&format!("/api/runs/{run}")).await?;
    let (_, all) = server.up().await?.get("/api/runs").await?;
    if let Some(product) = server.product.take() {
        product.stop().await?;
    }
    let files = files(&world, view["branch"].as_str().unwrap_or_default())?;
    let verified = command(world.outside(), &world.home(), &["verify"]).await?;
    let sound = verified.status.success();
    let problem = problem.or_else(|| (!sound).then(|| String::from_utf8_lossy(&verified.stdout).into_owned()));
    let roots = runs(&all).into_iter().filter(|run| run["parent"].is_null()).count();
    let problem = problem.or_else(|| (roots != 1).then(|| format!("{roots} runs came of one request")));
    let calls = std::fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned).collect();
    Ok(Went {
        calls,
        paid: world.given()?.0,
        held: seen.held(),
        stuck: seen.stuck,
        restarts: server.restarts,
        problem,
        files,
    })
}

fn runs(view: &Value) -> Vec<Value> {
    view.as_array().or_else(|| view["runs"].as_array()).cloned().unwrap_or_default()
}

async fn start(world: &World, fault: Option<(u64, Failure)>, log: &std::path::Path) -> Result<Product> {
    let program = binary()?;
    let (number, failure) = fault.unwrap_or((0, Failure::Io));
    let mut command = Command::new(program.with_file_name("syscall-fault"));
    command.arg(world.home()).arg(log).arg(number.to_string()).arg(failure.as_str()).arg(program);
    Product::start_as(command, Stdio::null(), &world.home(), &BTreeMap::new()).await
}

/// A server that is started again when it has ended.
struct Server<'a> {
    world: &'a World,
    product: Option<Product>,
    restarts: u32,
}

impl Server<'_> {
    async fn up(&mut self) -> Result<&mut Product> {
        if self.product.is_none() {
            self.restarts += 1;
            let home = self.world.home();
            self.product = Some(Product::start_logging_to(Stdio::null(), &home, &BTreeMap::new()).await?);
        }
        self.product.as_mut().context("it was just started")
    }

    /// A start that was not acknowledged is sent again under the same key.
    async fn start_run(&mut self, request: &Value) -> Result<Value> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.up().await?.run(Some("start"), request).await {
                Ok(started) => return Ok(started),
                // Refused with a reason while the server goes on: a person tries again.
                Err(error) if tries > 3 => return Err(error),
                Err(_) => self.restart_if_ended().await?,
            }
        }
    }

    async fn restart_if_ended(&mut self) -> Result<()> {
        if let Some(product) = &mut self.product
            && tokio::time::timeout(TO_END, product.ended()).await.is_ok()
        {
            self.product = None;
        }
        Ok(())
    }
}
