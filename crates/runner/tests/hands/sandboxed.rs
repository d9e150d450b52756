//! Runs and their sandbox: programs of the user's own, paths they named, and an agent that fills the disk.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use domain::{Decision, Ending, Event, Hold, HoldKind, Phase, Run};
use runner::Isolation;
use runner::sandbox::Limits;

use crate::landing::AUTONOMOUS;
use crate::world::{World, yes};

const NOBODY: &str = "[[conversation]]\nrole = \"nobody\"\n[[conversation.turn]]\ntext = \"hm\"\n";

fn crashes(world: &World, run: &Run) -> Vec<String> {
    let reason = |event| match event {
        Event::AgentCrashed { reason, .. } => Some(reason),
        _ => None,
    };
    world.events(&run.id).into_iter().filter_map(reason).collect()
}

fn files_named(name: &str, below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(below).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_named(name, &entry.path())),
            Ok(_) if entry.file_name() == name => found.push(entry.path()),
            Ok(_) | Err(_) => {}
        }
    }
    found
}

#[tokio::test]
async fn an_agent_that_fills_the_disk_is_stopped_what_it_filled_is_gone_and_a_person_is_told() {
    let limits = Limits { disk_bytes: 16 << 20, ..Limits::default() };
    let world = World::with_isolation(NOBODY, Isolation { limits, ..Isolation::default() });
    let fill = "for place in . \"$HOME\"; do head -c 12000000 /dev/zero > $place/filled; done\n\
                head -c 64000000 /dev/zero > filled-more\nwhile :; do sleep 7777; done\n";
    world.commit(&[("fill.sh", fill)]);
    world.cast("planner", "command:sh fill.sh");
    let mut told = Vec::new();
    let run = world
        .work("autonomous", "true", |_, hold| {
            told.push(hold.summary.clone());
            for name in ["filled", "filled-more"] {
                assert!(files_named(name, world.folder()).is_empty(), "{name} is still there");
            }
            if told.len() == 1 {
                Decision::Retry { feedback: None, model: None }
            } else {
                Decision::Cancel { reason: None }
            }
        })
        .await;
    assert_eq!(told.len(), 2, "the retry works again, and is not taken for the attempt that was stopped: {told:?}");
    for summary in &told {
        assert!(summary.contains("the agent was stopped") && summary.contains("16 MiB is the limit"), "{summary}");
        assert!(summary.contains("agent_disk_gib"), "{summary}");
    }
    assert_eq!(crashes(&world, &run), [""; 0], "nobody is started again unasked");
}

#[tokio::test]
async fn a_program_that_the_user_named_by_its_path_is_started_and_sees_its_own_folder() {
    let own = tempfile::tempdir().unwrap();
    let folder = own.path().join("agents");
    std::fs::create_dir(&folder).unwrap();
    let program = folder.join("mine");
    std::fs::write(&program, "#!/bin/sh\ncat \"${0%/*}/part\"\nexit 3\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.join("part"), "started with its own files\n").unwrap();
    let world = World::new(NOBODY);
    world.cast("planner", &format!("command:{}", program.display()));
    let run = world.work("autonomous", "true", |_, _| Decision::Cancel { reason: None }).await;
    let crashes = crashes(&world, &run);
    assert!(crashes.iter().any(|reason| reason.contains("started with its own files")), "{crashes:?}");
}

#[tokio::test]
async fn checks_read_the_paths_that_the_user_named_and_nothing_beside_them() {
    let outside = tempfile::tempdir().unwrap();
    for name in ["named", "beside"] {
        std::fs::create_dir(outside.path().join(name)).unwrap();
        std::fs::write(outside.path().join(name).join("file"), "x").unwrap();
    }
    let readable = vec![outside.path().join("named"), outside.path().join("gone")];
    let world = World::with_isolation(AUTONOMOUS, Isolation { readable, ..Isolation::default() });
    let check = format!(
        "cat {0}/named/file && ! cat {0}/beside/file && ! touch {0}/named/new && test -f a.txt",
        outside.path().display()
    );
    let person = |_: &Run, hold: &Hold| match hold.kind {
        HoldKind::Approval => yes(),
        _ => panic!("it waits: {}", hold.summary),
    };
    let run = world.work("autonomous", &check, person).await;
    assert_eq!(run.phase, Phase::Ended { ending: Ending::Completed }, "{:?}", run.failure);
}
