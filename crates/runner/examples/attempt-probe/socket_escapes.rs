//! Attempts over sockets: services of the host by path, by abstract name and by datagram, and networks of every kind.
#![expect(unsafe_code, reason = "attacks are made with bare system calls")]

use std::io::{self, Read};
use std::mem;
use std::net::{SocketAddr as InternetAddress, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::Duration;

use crate::escapes::{Came, call, came, target};

const SOON: Duration = Duration::from_millis(500);

pub(crate) fn attempt(name: &str) -> Option<Came> {
    Some(match name {
        "tmux-socket" => spoken(UnixStream::connect(target("SOCKET"))),
        "abstract-socket" => {
            let address = SocketAddr::from_abstract_name(target("ABSTRACT"));
            spoken(address.and_then(|address| UnixStream::connect_addr(&address)))
        }
        "connect-again" => connected_again(),
        "log-socket" => came(UnixDatagram::unbound().and_then(|socket| socket.send_to(b"escaped", target("DATAGRAM")))),
        "datagram-pair-sendmsg" => by_pair(libc::SOCK_DGRAM, &target("DATAGRAM"), send_named),
        "datagram-pair-sendmmsg" => by_pair(libc::SOCK_DGRAM, &target("DATAGRAM"), send_many_named),
        "datagram-pair-sendto" => by_pair(libc::SOCK_DGRAM, &target("DATAGRAM"), send_to),
        "packet-pair-sendmsg" => by_pair(libc::SOCK_SEQPACKET, &target("DATAGRAM"), send_named_and_check),
        "stream-pair-sendmsg" => by_pair(libc::SOCK_STREAM, &target("DATAGRAM"), send_named_and_check),
        "listen" => came(UnixListener::bind("own.sock").map(|_| "listens")).unless_own(),
        "tcp-loopback" => tcp(&target("TCP")),
        "tcp-loopback-ipv6" => tcp(&target("TCP6")),
        "tcp-outside" => tcp("203.0.113.1:80"),
        "tcp-ipv6-outside" => tcp("[2001:db8::1]:80"),
        "metadata-service" => tcp("169.254.169.254:80"),
        "udp-loopback" => udp(&target("UDP")),
        "udp-outside" => udp("203.0.113.1:53"),
        "raw-socket" => made(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        "packet-socket" => made(libc::AF_PACKET, libc::SOCK_RAW, 0),
        "netlink" => netlink(),
        "vsock" => made(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        "bluetooth-can-alg" => {
            first(&[(31, libc::SOCK_RAW), (libc::AF_CAN, libc::SOCK_RAW), (libc::AF_ALG, libc::SOCK_SEQPACKET)])
        }
        _ => return None,
    })
}

impl Came {
    /// A socket in a folder of its own reaches nobody.
    fn unless_own(self) -> Self {
        match self {
            Self::Reached(what) => Self::Contained(what),
            other => other,
        }
    }
}

/// Reads the greeting of a service.
fn spoken(stream: io::Result<impl Read>) -> Came {
    came(stream.and_then(|mut stream| {
        let mut greeting = [0; 8];
        let read = stream.read(&mut greeting)?;
        match &greeting[..read] {
            b"welcome\n" => Ok("greeted by the host's service"),
            _ => Err(io::Error::other("not the host's service")),
        }
    }))
}

/// A stream that is connected already, moved to another service.
fn connected_again() -> Came {
    let Ok((stream, _other)) = UnixStream::pair() else { return Came::Denied("no pair".to_owned()) };
    let (address, length) = named(&target("SOCKET"));
    let fd = i64::from(stream.as_raw_fd());
    let _ = call(libc::SYS_connect, &[fd, 0, 0]);
    spoken(call(libc::SYS_connect, &[fd, (&raw const address) as i64, i64::from(length)]).map(|_| stream))
}

fn named(path: &str) -> (libc::sockaddr_un, u32) {
    // SAFETY: an address of zeroes is one.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = u16::try_from(libc::AF_UNIX).expect("a small number");
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from.cast_signed();
    }
    (address, u32::try_from(mem::size_of::<libc::sockaddr_un>()).expect("a small number"))
}

fn by_pair(kind: i32, path: &str, send: fn(i32, &mut libc::msghdr) -> io::Result<i64>) -> Came {
    let mut ends = [0; 2];
    // SAFETY: the array has room for both ends.
    if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
        return Came::Denied(io::Error::last_os_error().to_string());
    }
    // SAFETY: both were made just now, and nobody else has them.
    let ends = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
    let (mut address, length) = named(path);
    let mut text = *b"escaped";
    let mut part = libc::iovec { iov_base: text.as_mut_ptr().cast(), iov_len: text.len() };
    // SAFETY: a message of zeroes is one.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_name = (&raw mut address).cast();
    message.msg_namelen = length;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    came(send(ends[0].as_raw_fd(), &mut message))
}

fn send_named(fd: i32, message: &mut libc::msghdr) -> io::Result<i64> {
    call(libc::SYS_sendmsg, &[fd.into(), std::ptr::from_mut(message) as i64, 0])
}

/// The kernel may ignore the name and send to the other end: the host's service decides, which heard nothing then.
fn send_named_and_check(fd: i32, message: &mut libc::msghdr) -> io::Result<i64> {
    send_named(fd, message)?;
    Err(io::Error::other("sent to the other end of the pair"))
}

fn send_many_named(fd: i32, message: &mut libc::msghdr) -> io::Result<i64> {
    let mut many = libc::mmsghdr { msg_hdr: *message, msg_len: 0 };
    call(libc::SYS_sendmmsg, &[fd.into(), (&raw mut many) as i64, 1, 0])
}

fn send_to(fd: i32, message: &mut libc::msghdr) -> io::Result<i64> {
    let text = b"escaped";
    let (name, length) = (message.msg_name as i64, i64::from(message.msg_namelen));
    call(libc::SYS_sendto, &[fd.into(), text.as_ptr() as i64, 7, 0, name, length])
}

fn tcp(address: &str) -> Came {
    let address: InternetAddress = address.parse().expect("an address");
    match TcpStream::connect_timeout(&address, SOON) {
        Ok(stream) => spoken(stream.set_read_timeout(Some(SOON)).map(|()| stream)),
        // Nobody answers there; but the packets left.
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Came::Reached("packets are sent".to_owned()),
        Err(error) => Came::Denied(error.to_string()),
    }
}

/// What is sent to a loopback of its own goes nowhere.
fn udp(address: &str) -> Came {
    match came(UdpSocket::bind("0.0.0.0:0").and_then(|socket| socket.send_to(b"escaped", address))) {
        Came::Reached(_) if interfaces_of_the_host() == 0 => Came::Contained("a loopback of its own".to_owned()),
        other => other,
    }
}

fn interfaces_of_the_host() -> usize {
    let all = std::fs::read_to_string("/proc/net/dev").unwrap_or_default();
    all.lines().skip(2).filter(|line| !line.trim_start().starts_with("lo:")).count()
}

fn made(family: i32, kind: i32, protocol: i32) -> Came {
    came(call(libc::SYS_socket, &[family.into(), kind.into(), protocol.into()]))
}

fn first(kinds: &[(i32, i32)]) -> Came {
    let mut last = Came::Denied(String::new());
    for (family, kind) in kinds {
        match made(*family, *kind, 0) {
            reached @ Came::Reached(_) => return reached,
            other => last = other,
        }
    }
    last
}

/// In a network of its own there is only its own loopback to be told of.
fn netlink() -> Came {
    let made = call(libc::SYS_socket, &[libc::AF_NETLINK.into(), libc::SOCK_RAW.into(), 0]);
    let others = interfaces_of_the_host();
    match made {
        Ok(_) if others == 0 => Came::Contained("only its own loopback".to_owned()),
        Ok(_) => Came::Reached(format!("{others} interfaces of the host")),
        Err(error) => Came::Denied(error.to_string()),
    }
}
