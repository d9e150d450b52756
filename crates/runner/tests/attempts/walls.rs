//! What an agent can reach, tier by tier.

use std::{
    fs,
    io::ErrorKind,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixListener},
    },
    process::Command,
};

use runner::{
    sandbox::{Tier, Works, probe},
    shim::HOLDPOINT,
};

use crate::support::Place;

const HOLDING: [Tier; 2] = [Tier::Sandboxed, Tier::Restricted];

#[test]
fn this_machine_enforces_every_holding_tier() {
    let here = probe();
    for (name, works) in [("bubblewrap", &here.bubblewrap), ("Landlock", &here.landlock), ("seccomp", &here.seccomp)] {
        match works {
            Works::Yes => println!("{name}: enforced"),
            Works::No { why } => println!("{name}: unavailable: {why}"),
        }
    }
    for tier in HOLDING {
        assert_eq!(here.supports(tier), Works::Yes, "{tier}");
    }
    assert_eq!(here.best(), Some(Tier::Sandboxed));
}

#[tokio::test]
async fn an_agent_writes_its_workspace_and_nothing_outside() {
    for tier in HOLDING {
        let place = Place::new();
        let canary = format!("/usr/local/canary-{}", std::process::id());
        let script = format!(
            "touch made ~/made $TMPDIR/made && mkdir a b && mv made a/ && ln -s /etc link || exit 9
             for f in {canary} /etc/canary {outside}/canary {data}/canary {spool}/exit.json; do
               (echo x > $f) 2>/dev/null; done
             (truncate -s 0 {outside}/private; rm -f {outside}/private; chmod 777 /etc/hostname) 2>/dev/null
             true",
            outside = place.path("outside").display(),
            data = place.path("data").display(),
            spool = place.spool().display(),
        );
        place.shell(tier, &script).await;
        assert!(place.path("data/workspace/a/made").exists(), "{tier}");
        assert!(place.path("data/session/made").exists(), "{tier}");
        for path in [canary.as_str(), "/etc/canary"] {
            assert!(!fs::exists(path).unwrap(), "{tier}: {path}");
        }
        assert!(!place.path("outside/canary").exists(), "{tier}");
        assert!(!place.path("data/canary").exists(), "{tier}");
        assert_eq!(fs::read_to_string(place.path("outside/private")).unwrap(), "SECRET", "{tier}");
    }
}

#[tokio::test]
async fn token_database_and_other_files_of_the_user_cannot_be_read() {
    for tier in HOLDING {
        let place = Place::new();
        let script = format!(
            "cat {data}/token {data}/holdpoint.db {outside}/private /etc/shadow 2>&1; \
             ls {data}/.. {outside} 2>/dev/null; echo end",
            data = place.path("data").display(),
            outside = place.path("outside").display(),
        );
        let printed = place.shell(tier, &script).await;
        assert!(printed.ends_with("end\n"), "{tier}: {printed}");
        for word in ["SECRET", "private", "root:"] {
            let told = printed.lines().any(|line| line.starts_with(word));
            assert!(!told, "{tier}: {printed}");
        }
    }
}

#[test]
fn a_home_is_hidden_but_for_its_toolchains_and_so_are_the_servers_variables() {
    for tier in HOLDING {
        let place = Place::new();
        let home = place.path("home");
        for (file, text) in [
            (".ssh/id_ed25519", "SECRET"),
            (".cargo/credentials.toml", "SECRET"),
            ("notes.txt", "SECRET"),
            (".cargo/bin/tool", "#!/bin/sh\necho tool works\n"),
        ] {
            let path = home.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(&path, mode).unwrap();
        }
        let home = home.display().to_string();
        let mut neighbour =
            Command::new("sleep").arg("7777").env("TOKEN_OF_ANOTHER_PROGRAM", "SECRET").spawn().unwrap();
        let script = format!(
            "tool; cat {home}/.ssh/* {home}/.cargo/cred* {home}/notes.txt /proc/*/environ 2>/dev/null; \
             (echo x >> {home}/.cargo/bin/tool) 2>/dev/null; cat /proc/{neighbour}/environ 2>/dev/null; echo; \
             tr '\\0' '\\n' < /proc/$$/environ | sed 's/=.*//' | sort | tr '\\n' ' '",
            neighbour = neighbour.id(),
        );
        let order = place.order(tier, &["sh", "-c", &script]);
        let path = format!("{home}/.cargo/bin:/usr/bin:/bin");
        let env =
            [("HOME", home.as_str()), ("PATH", path.as_str()), ("LANG", "C.UTF-8"), ("ANTHROPIC_API_KEY", "SECRET")];
        let output = place.server(&order, "live", &env);
        assert!(output.status.success(), "{output:?}");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let attempt = runner::shim::client::Attempt::of_spool(&place.spool());
        runtime.block_on(attempt.wait()).unwrap();
        neighbour.kill().unwrap();
        neighbour.wait().unwrap();
        let printed = place.output();
        assert!(printed.starts_with("tool works\n"), "{tier}: {printed}");
        assert!(!printed.contains("SECRET"), "{tier}: {printed}");
        let names: Vec<&str> = printed.lines().last().unwrap().split_whitespace().collect();
        let mut allowed = vec![
            "CANARY",
            "HOLDPOINT_ATTEMPT",
            "HOLDPOINT_BIN",
            "HOLDPOINT_DOOR",
            "HOME",
            "LANG",
            "PATH",
            "SHELL",
            "TMPDIR",
        ];
        if tier == Tier::Sandboxed {
            // The second one is bubblewrap's own.
            allowed.extend(["HOLDPOINT_BROKER_URL", "PWD"]);
            allowed.sort_unstable();
        }
        assert_eq!(names, allowed, "{tier}");
        let tool = fs::read_to_string(format!("{home}/.cargo/bin/tool")).unwrap();
        assert!(!tool.contains('x'), "{tier}");
    }
}

#[tokio::test]
async fn the_network_of_the_host_is_out_of_reach() {
    for tier in HOLDING {
        let place = Place::new();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let script = format!(
            "reach() {{ \"$HOLDPOINT_BIN\" reach \"$@\"; }}
             reach tcp {}; reach tcp 169.254.169.254:80; reach tcp 1.1.1.1:443; reach udp {}; true",
            tcp.local_addr().unwrap(),
            udp.local_addr().unwrap(),
        );
        let printed = place.shell(tier, &script).await;
        let refused = printed.lines().filter(|l| l.starts_with("error")).count();
        assert!(refused >= 3, "{tier}: {printed}");
        assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "{tier}");
        let heard = udp.recv(&mut [0; 16]);
        assert_eq!(heard.unwrap_err().kind(), ErrorKind::WouldBlock, "{tier}");
    }
}

#[tokio::test]
async fn unix_sockets_of_the_host_are_out_of_reach() {
    for tier in HOLDING {
        let place = Place::new();
        let name = format!("holdpoint-{}-{tier}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let nameless = UnixListener::bind_addr(&address).unwrap();
        let path = place.path("outside/host.sock");
        let named = UnixListener::bind(&path).unwrap();
        nameless.set_nonblocking(true).unwrap();
        named.set_nonblocking(true).unwrap();
        let script =
            format!("\"$HOLDPOINT_BIN\" reach abstract {name}; \"$HOLDPOINT_BIN\" reach unix {}\ntrue", path.display());
        let printed = place.shell(tier, &script).await;
        assert_eq!(printed.lines().filter(|line| line.starts_with("error")).count(), 2, "{tier}: {printed}");
        for listener in [nameless, named] {
            assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "{tier}");
        }
    }
}

#[tokio::test]
async fn the_broker_answers_through_its_door_and_over_tcp() {
    for tier in [Tier::Sandboxed, Tier::Restricted, Tier::Unsandboxed] {
        let place = Place::new();
        let tcp = match tier {
            Tier::Restricted => "",
            Tier::Sandboxed | Tier::Unsandboxed => "\"$HOLDPOINT_BIN\" reach tcp ${HOLDPOINT_BROKER_URL#http://}",
        };
        let script = format!("\"$HOLDPOINT_BIN\" reach unix $HOLDPOINT_DOOR\n{tcp}");
        let printed = place.shell(tier, &script).await;
        let expected = if tcp.is_empty() { 1 } else { 2 };
        let answers = printed.lines().filter(|l| l.starts_with("HTTP/1.1 "));
        assert_eq!(answers.count(), expected, "{tier}: {printed}");
    }
}

#[tokio::test]
async fn an_agent_that_needs_tcp_is_not_started_where_there_is_none() {
    let place = Place::new();
    let argv = ["echo", runner::shim::BROKER_URL];
    let attempt = place.start(place.order(Tier::Restricted, &argv)).await;
    let ended = format!("{:?}", attempt.wait().await.unwrap());
    assert!(ended.contains("LaunchFailed") && ended.contains("TCP"), "{ended}");
}

#[tokio::test]
async fn calls_that_would_weaken_the_walls_are_refused() {
    const NEWUSER: i64 = libc::CLONE_NEWUSER as i64;
    let calls = [
        ("unshare", libc::SYS_unshare, NEWUSER, 0),
        ("clone", libc::SYS_clone, NEWUSER, 0),
        ("setns", libc::SYS_setns, 0, 0),
        ("mount", libc::SYS_mount, 0, 0),
        ("pivot_root", libc::SYS_pivot_root, 0, 0),
        ("ptrace", libc::SYS_ptrace, 0, 0),
        ("keyctl", libc::SYS_keyctl, 0, 0),
        ("bpf", libc::SYS_bpf, 0, 0),
        ("io_uring_setup", libc::SYS_io_uring_setup, 1, 0),
        ("userfaultfd", libc::SYS_userfaultfd, 0, 0),
        ("perf_event_open", libc::SYS_perf_event_open, 0, 0),
        ("kexec_load", libc::SYS_kexec_load, 0, 0),
        ("process_vm_readv", libc::SYS_process_vm_readv, 1, 0),
        ("socket vsock", libc::SYS_socket, 40, 1),
        ("socket packet", libc::SYS_socket, 17, 3),
    ];
    for tier in HOLDING {
        let place = Place::new();
        let mut script = String::new();
        for (name, number, first, second) in calls {
            script += &format!(
                "$r = syscall({number}, {first}, {second}, 0, 0, 0); exit 0 if $r == 0 && '{name}' eq 'clone';
                 print '{name} ', ($r == -1 ? $!+0 : 'allowed'), \"\\n\";"
            );
        }
        let order = place.order(tier, &["perl", "-e", &script]);
        place.start(order).await.wait().await.unwrap();
        let printed = place.output();
        for (name, ..) in calls {
            let denied = format!("{name} {}\n", libc::EPERM);
            assert!(printed.contains(&denied), "{tier} {name}: {printed}");
        }
    }
}

#[tokio::test]
async fn restricted_agents_cannot_make_a_socket_of_the_internet_or_signal_the_server() {
    let place = Place::new();
    let own = std::process::id();
    let script = format!(
        "print syscall({}, 2, 2, 0) == -1 ? $!+0 : 'allowed', ' ', kill(0, {own}) ? 'allowed' : $!+0, \"\\n\"",
        libc::SYS_socket
    );
    let order = place.order(Tier::Restricted, &["perl", "-e", &script]);
    place.start(order).await.wait().await.unwrap();
    assert_eq!(place.output(), format!("{0} {0}\n", libc::EPERM));
}

#[tokio::test]
async fn a_restricted_agent_reaches_the_broker_by_blocking_and_by_waiting_streams_many_times() {
    let place = Place::new();
    let script = "for n in 1 2 3 4 5 6 7 8; do \"$HOLDPOINT_BIN\" reach unix $HOLDPOINT_DOOR & done; wait; \
                  \"$HOLDPOINT_BIN\" reach unix-waiting $HOLDPOINT_DOOR";
    let printed = place.shell(Tier::Restricted, script).await;
    assert_eq!(printed.lines().filter(|line| line.starts_with("HTTP/1.1 ")).count(), 9, "{printed}");
}

#[tokio::test]
async fn the_known_gap_of_restricted_is_that_hidden_files_can_be_counted_not_read() {
    let place = Place::new();
    let token = place.path("data/token");
    let script = format!("stat -c %s {0}; cat {0} 2>/dev/null; true", token.display());
    assert_eq!(place.shell(Tier::Restricted, &script).await, "6\n");
    let sandboxed = Place::new();
    let token = sandboxed.path("data/token");
    let script = format!("stat -c %s {} 2>/dev/null; true", token.display());
    assert_eq!(sandboxed.shell(Tier::Sandboxed, &script).await, "");
}

#[tokio::test]
async fn limits_hold_for_files_and_cores() {
    let place = Place::new();
    let mut order = place
        .order(Tier::Sandboxed, &["sh", "-c", "ulimit -c; ulimit -n; head -c 9000 /dev/zero > big; stat -c %s big"]);
    order.limits.file_bytes = 4096;
    order.limits.open_files = 64;
    place.start(order).await.wait().await.unwrap();
    assert_eq!(place.output(), "0\n64\n4096\n");
}

#[tokio::test]
async fn a_workspace_that_would_show_the_data_directory_is_refused() {
    let place = Place::new();
    let mut order = place.order(Tier::Sandboxed, &["true"]);
    order.workspace = place.root.path().to_owned();
    let ended = place.start(order).await.wait().await.unwrap();
    assert!(format!("{ended:?}").contains("must stay hidden"), "{ended:?}");
}

#[tokio::test]
async fn the_binary_can_be_named_in_arguments_before_the_tier_is_known() {
    for tier in HOLDING {
        let place = Place::new();
        let order = place.order(tier, &[HOLDPOINT, "reach", "unix", runner::shim::DOOR]);
        place.start(order).await.wait().await.unwrap();
        assert!(place.output().starts_with("HTTP/1.1 "), "{tier}");
    }
}

#[tokio::test]
async fn a_path_that_was_named_is_readable_and_nothing_beside_it() {
    for tier in HOLDING {
        let place = Place::new();
        fs::create_dir(place.path("outside/named")).unwrap();
        fs::write(place.path("outside/named/file"), "shown\n").unwrap();
        let script = format!(
            "cat {0}/named/file; cat {0}/private; (echo x > {0}/named/new) 2>/dev/null; true",
            place.path("outside").display()
        );
        let mut order = place.order(tier, &["sh", "-c", &script]);
        order.extra_ro = vec![place.path("outside/named")];
        place.start(order).await.wait().await.unwrap();
        assert_eq!(place.output(), "shown\n", "{tier}: {}", place.errors());
        assert!(!place.path("outside/named/new").exists(), "{tier}");
    }
}

#[tokio::test]
async fn usual_programs_work_with_what_is_shown() {
    const SCRIPT: &str = r#"
        try() { if command -v "$1" >/dev/null; then shift; out=$("$@" 2>&1) && echo ok || echo "failed: $* $out"; fi; }
        try id id -un
        try sort sh -c 'seq 9999 | sort -R -S 64k | tail -1'
        try git sh -c 'git init -q r && cd r && git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x && git log'
        try cc sh -c 'echo "int main(void) { return 0; }" > a.c && cc a.c -o a && ./a'
        try perl perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die $!; print "x"'
        try python3 python3 -c 'import ssl, json, subprocess, tempfile; subprocess.run(["true"], check=True); tempfile.TemporaryFile()'
        try node node -e 'require("child_process").execSync("true"); require("fs").readFileSync("/etc/passwd")'
        try cargo cargo --version
        try tar sh -c 'tar cf - a.c | tar tf -'
        date +%Z >/dev/null && echo ok"#;
    for tier in HOLDING {
        let place = Place::new();
        let printed = place.shell(tier, SCRIPT).await;
        assert!(printed.lines().all(|line| line == "ok"), "{tier}: {printed}");
        assert!(printed.lines().count() >= 3, "{tier}: {printed}");
    }
}
