//! Carries TCP connections on loopback to the broker's unix socket, for programs that can only
//! speak TCP. It looks at no byte of what it carries.

use std::{
    io,
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    thread,
};

use crate::shim::sockets;

/// Serves `listener` in a thread of its own for as long as the process lives.
pub(crate) fn forward(listener: TcpListener, door: PathBuf) -> io::Result<()> {
    thread::Builder::new()
        .name("forward".into())
        .spawn(move || {
            for client in listener.incoming() {
                // A failed connection is the client's to see; the next one may work.
                let _ = client.and_then(|client| carry(client, &door));
            }
        })
        .map(drop)
}

fn carry(client: TcpStream, door: &Path) -> io::Result<()> {
    let broker = sockets::connect(door)?;
    client.set_nodelay(true)?;
    let (client_too, broker_too) = (client.try_clone()?, broker.try_clone()?);
    thread::Builder::new().spawn(move || up(client_too, broker_too))?;
    thread::Builder::new().spawn(move || down(broker, client))?;
    Ok(())
}

/// The end of one direction is passed on; the other may go on (a request body that ended).
fn up(mut client: TcpStream, mut broker: UnixStream) {
    let _ = io::copy(&mut client, &mut broker);
    let _ = broker.shutdown(Shutdown::Write);
}

fn down(mut broker: UnixStream, mut client: TcpStream) {
    let _ = io::copy(&mut broker, &mut client);
    let _ = client.shutdown(Shutdown::Write);
}
