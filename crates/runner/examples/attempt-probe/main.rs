//! Stands in for the `holdpoint` binary in the tests of attempts: the hidden subcommands, a
//! server that can be killed, and what a test agent cannot do from a shell.

mod escapes;
mod host_escapes;
mod socket_escapes;

use std::{
    env,
    ffi::OsString,
    io::{self, Read, Write},
    net::{TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
    path::Path,
    process::{Command, ExitCode},
    time::Duration,
};

use runner::{
    sandbox::inside,
    shim::{Launch, client::start_or_adopt, main_from_stdin},
};
use rustix::process::{Signal, getpid, kill_process};

fn main() -> ExitCode {
    let mut args = env::args_os().skip(1);
    let what = args.next().unwrap_or_default();
    match what.to_str() {
        Some("shim") => main_from_stdin(),
        Some("inside") => inside::main(args),
        Some("agent") => agent(&args.collect::<Vec<_>>()),
        Some("server") => server(&args.collect::<Vec<_>>()),
        Some("reach") => report(reach(&args.collect::<Vec<_>>())),
        Some("escape") => escapes::main(&args.next().unwrap_or_default().to_string_lossy()),
        _ => ExitCode::from(2),
    }
}

/// `agent work --session FOLDER --door SOCKET`: our own agent, as the binary runs it; or a program that knows nothing of us,
/// where the repository has one for the conversation.
fn agent(args: &[OsString]) -> ExitCode {
    let [_, _, session, _, door] = args else {
        return relay(args);
    };
    let Ok(nonce) = agent::Nonce::receive() else {
        return ExitCode::FAILURE;
    };
    let name = Path::new(session).file_name().unwrap_or_default().to_string_lossy();
    let script = Path::new("agents").join(format!("{name}.sh"));
    if script.exists() {
        let ended = Command::new("sh").arg(&script).status();
        return ended
            .map_or(ExitCode::FAILURE, |ended| ExitCode::from(u8::try_from(ended.code().unwrap_or(1)).unwrap_or(1)));
    }
    let door = Path::new(door);
    let options = agent::Options { session: session.into(), door: door.parent().unwrap_or(door).to_owned(), nonce };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(agent::run(options)).map_err(|error| error.to_string()));
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// `agent relay --session FOLDER`: the tools of a program that is not ours.
fn relay(args: &[OsString]) -> ExitCode {
    let [_, _, session] = args else {
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let carried = runtime.and_then(|runtime| {
        let carried = runtime.block_on(agent::relay(Path::new(session)));
        // Standard input is read in a thread that nothing ends.
        runtime.shutdown_background();
        carried
    });
    if carried.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// `server SPOOL (live|die)`: starts the attempt whose order is on standard input.
fn server(args: &[OsString]) -> ExitCode {
    let [spool, then] = args else {
        return ExitCode::from(2);
    };
    let mut order = String::new();
    if io::stdin().read_to_string(&mut order).is_err() {
        return ExitCode::from(2);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        return ExitCode::FAILURE;
    };
    let prepare = async || {
        if then == "die" {
            let _ = kill_process(getpid(), Signal::KILL);
        }
        serde_json::from_str::<Launch>(&order)
    };
    let started = runtime.block_on(start_or_adopt(Path::new(spool), prepare));
    report(started.map(|_| "started".into()).map_err(io::Error::other))
}

/// `reach (tcp|udp|unix|abstract) WHERE`: what an agent can talk to.
fn reach(args: &[OsString]) -> io::Result<String> {
    const SOON: Duration = Duration::from_secs(2);
    let [how, place] = args else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let text = place.to_string_lossy();
    match how.to_str() {
        Some("tcp") => {
            let place = text.parse().map_err(io::Error::other)?;
            ask(TcpStream::connect_timeout(&place, SOON)?)
        }
        Some("unix") => ask(UnixStream::connect(place)?),
        Some("unix-waiting") => waiting(place),
        Some("abstract") => {
            let place = SocketAddr::from_abstract_name(text.as_bytes())?;
            ask(UnixStream::connect_addr(&place)?)
        }
        Some("udp") => {
            UdpSocket::bind("0.0.0.0:0")?.send_to(b"hello", text.as_ref())?;
            Ok("sent".into())
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// The same by a client that never blocks, as our own agent is one.
fn waiting(place: &OsString) -> io::Result<String> {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut stream = tokio::net::UnixStream::connect(place).await?;
        stream.write_all(b"GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer.lines().next().unwrap_or_default().to_owned())
    })
}

fn ask(mut stream: impl Read + Write) -> io::Result<String> {
    stream.write_all(b"GET /nothing HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
}

fn report(outcome: io::Result<String>) -> ExitCode {
    let (line, code) = match outcome {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(error) => (format!("error: {error}"), ExitCode::FAILURE),
    };
    let _ = writeln!(io::stdout(), "{line}");
    code
}
