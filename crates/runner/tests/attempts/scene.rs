//! What escapes aim at: a home, a data directory, services, a neighbour process, a terminal and shared memory of the host.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Write};
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::{Child, Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use runner::sandbox::Tier;
use runner::shim::Launch;

use crate::support::Place;

pub(crate) struct Scene {
    pub(crate) place: Place,
    targets: BTreeMap<String, String>,
    /// Connections that the host's services have had.
    heard: Arc<AtomicUsize>,
    datagrams: UnixDatagram,
    udp: UdpSocket,
    neighbour: Child,
    usr_canary: PathBuf,
    _terminal: Terminal,
    memory: Memory,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let place = Place::new();
        for (file, text, mode) in [
            ("home/notes.txt", "SECRET", 0o600),
            ("home/.ssh/id_ed25519", "SECRET", 0o600),
            ("home/.cargo/credentials.toml", "SECRET", 0o600),
            ("home/.cargo/bin/tool", "#!/bin/sh\n", 0o755),
            ("outside/victim", "SECRET", 0o600),
        ] {
            let path = place.path(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let heard = Arc::new(AtomicUsize::new(0));
        let own = place.root.path().file_name().unwrap().to_string_lossy().replace('.', "");
        let name = format!("holdpoint-escapes-{own}");
        let nameless = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let socket = place.path("outside/tmux.sock");
        let named = UnixListener::bind(&socket).unwrap();
        let (tcp, tcp6) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("[::1]:0").ok());
        let at_tcp6 = tcp6.as_ref().map_or("[::1]:9".to_owned(), |tcp6| tcp6.local_addr().unwrap().to_string());
        let datagram = place.path("outside/log.sock");
        let datagrams = UnixDatagram::bind(&datagram).unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        datagrams.set_nonblocking(true).unwrap();
        udp.set_nonblocking(true).unwrap();
        let neighbour = neighbour();
        let (terminal, memory) = (Terminal::new(), Memory::new(&own));
        let usr_canary = PathBuf::from(format!("/usr/local/holdpoint-canary-{own}"));
        let text = |path: PathBuf| path.display().to_string();
        let targets = [
            ("OUTSIDE", text(place.path("outside"))),
            ("DATA", text(place.path("data"))),
            ("HOME", text(place.path("home"))),
            ("USR_CANARY", text(usr_canary.clone())),
            ("CHECKOUT", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").to_owned()),
            ("PID", neighbour.id().to_string()),
            ("GROUP", format!("-{}", rustix::process::getpgrp().as_raw_pid())),
            ("PTY", terminal.path.clone()),
            ("SHM_ID", memory.id.to_string()),
            ("SHM_FILE", text(memory.file.clone())),
            ("SOCKET", text(socket)),
            ("DATAGRAM", text(datagram)),
            ("ABSTRACT", name),
            ("TCP", tcp.local_addr().unwrap().to_string()),
            ("TCP6", at_tcp6),
            ("UDP", udp.local_addr().unwrap().to_string()),
        ];
        let targets = targets.map(|(name, value)| (format!("TARGET_{name}"), value)).into();
        greet(&heard, move || named.accept().map(|(stream, _)| stream));
        greet(&heard, move || nameless.accept().map(|(stream, _)| stream));
        greet(&heard, move || tcp.accept().map(|(stream, _)| stream));
        if let Some(tcp6) = tcp6 {
            greet(&heard, move || tcp6.accept().map(|(stream, _)| stream));
        }
        Self { place, targets, heard, datagrams, udp, neighbour, usr_canary, _terminal: terminal, memory }
    }

    pub(crate) fn order(&self, tier: Tier, argv: &[&str]) -> Launch {
        let mut order = self.place.order(tier, argv);
        order.env.extend(self.targets.clone());
        order
    }

    /// Started by a server with that home and a secret in its environment.
    pub(crate) fn start(&self, order: &Launch) -> Output {
        let home = self.place.path("home").display().to_string();
        let path = format!("{home}/.cargo/bin:/usr/bin:/bin");
        self.place.server(order, "live", &[("HOME", home.as_str()), ("PATH", path.as_str()), ("HOST_SECRET", "SECRET")])
    }

    /// The host's side: nothing was written, nobody was spoken to, nobody was ended.
    pub(crate) fn is_as_before(&mut self, tier: Tier) {
        for canary in ["outside/canary", "data/canary", "outside/renamed", "outside/linked", "outside/through"] {
            assert!(!self.place.path(canary).exists(), "{tier}: {canary}");
        }
        assert!(!self.usr_canary.exists(), "{tier}");
        assert_eq!(fs::read_to_string(self.place.path("outside/victim")).unwrap(), "SECRET", "{tier}");
        assert_eq!(fs::read_to_string(self.place.path("home/.cargo/bin/tool")).unwrap(), "#!/bin/sh\n", "{tier}");
        assert_eq!(self.heard.load(Ordering::SeqCst), 0, "{tier}: a service of the host was connected to");
        let mut buffer = [0; 16];
        assert_eq!(self.datagrams.recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock, "{tier}");
        assert_eq!(self.udp.recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock, "{tier}");
        assert!(self.neighbour.try_wait().unwrap().is_none(), "{tier}: a process of the host was ended");
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.neighbour.kill();
        let _ = self.neighbour.wait();
        let _ = fs::remove_file(&self.usr_canary);
        let _ = fs::remove_file(&self.memory.file);
    }
}

/// A program of the same user without rights of the superuser, whoever runs the tests.
#[expect(unsafe_code, reason = "the rights are given up between fork and exec")]
fn neighbour() -> Child {
    use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};
    let mut command = Command::new("sleep");
    command.arg("7777").env("HOST_SECRET", "SECRET");
    let give_up = || {
        for capability in CapabilitySet::all().iter() {
            // An ordinary user has none.
            let _ = remove_capability_from_bounding_set(capability);
        }
        Ok(())
    };
    // SAFETY: makes only system calls and touches no memory.
    unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, give_up) };
    command.spawn().unwrap()
}

/// A service that greets everyone and counts them.
fn greet<S: Write + Send + 'static>(
    heard: &Arc<AtomicUsize>,
    accept: impl Fn() -> std::io::Result<S> + Send + 'static,
) {
    let heard = Arc::clone(heard);
    thread::spawn(move || {
        while let Ok(mut client) = accept() {
            heard.fetch_add(1, Ordering::SeqCst);
            let _ = client.write_all(b"welcome\n");
        }
    });
}

/// A terminal of the user, with nobody on it.
struct Terminal {
    _controller: std::os::fd::OwnedFd,
    path: String,
}

impl Terminal {
    #[expect(unsafe_code, reason = "there is no safe wrapper among our dependencies")]
    fn new() -> Self {
        use std::os::fd::FromRawFd;
        let mut name = [0; 64];
        // SAFETY: the descriptor is new and owned by nobody else; the buffer has the length that is given.
        let controller = unsafe {
            let controller = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
            assert!(controller >= 0 && libc::grantpt(controller) == 0 && libc::unlockpt(controller) == 0);
            assert_eq!(libc::ptsname_r(controller, name.as_mut_ptr(), name.len()), 0);
            std::os::fd::OwnedFd::from_raw_fd(controller)
        };
        let path = name.iter().take_while(|byte| **byte != 0).map(|byte| char::from(byte.cast_unsigned())).collect();
        Self { _controller: controller, path }
    }
}

/// Shared memory of another program: a segment, and a file.
struct Memory {
    id: i32,
    file: PathBuf,
}

impl Memory {
    #[expect(unsafe_code, reason = "there is no safe wrapper among our dependencies")]
    fn new(own: &str) -> Self {
        // SAFETY: makes a segment; no memory of this process is touched.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600) };
        assert!(id >= 0);
        let file = PathBuf::from(format!("/dev/shm/holdpoint-escapes-{own}"));
        fs::write(&file, "SECRET").unwrap();
        Self { id, file }
    }
}

impl Drop for Memory {
    #[expect(unsafe_code, reason = "there is no safe wrapper among our dependencies")]
    fn drop(&mut self) {
        // SAFETY: marks the segment for removal; no memory of this process is touched.
        unsafe { libc::shmctl(self.id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}
