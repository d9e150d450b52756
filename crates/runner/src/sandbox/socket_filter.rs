//! The filter on sockets of the tier `Restricted`: a socket of a host's service can be neither connected to nor written
//! to, whatever its name. One thing is left: a stream to the broker, which `broker_streams` hands out.
//!
//! `socket` asks the supervisor (a seccomp user notification), which answers with a stream that is connected to the
//! broker already. `connect` is never run: with an address of exactly the length of [`BROKER_ADDRESS`] it succeeds and
//! does nothing, so that ordinary clients work; any other address is refused. Datagram sockets do not exist at all,
//! because `sendmsg` reaches a named one without `connect`, and a filter cannot read its address.

use seccompiler::{BpfProgram, sock_filter};

/// The path that agents are told in place of the broker's; nothing lies there. Its length is what the filter knows, so it
/// is one that no path of a service has by chance: `connect` on it is the only one that succeeds.
pub(super) const BROKER_ADDRESS: &str =
    "/run/holdpoint/the-filter-knows-this-address-by-its-length-and-there-is-no-file/broker.sock";

/// Bytes of the address as clients give it: family, path, and the zero at its end.
const ADDRESS_BYTES: u32 = 2 + BROKER_ADDRESS.len() as u32 + 1;

/// Flags that may be given with a type.
const TYPE_FLAGS: u32 = (libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK).cast_unsigned();

/// Offsets in what the kernel shows a filter; both processors are little-endian, so this is the lower half.
const NUMBER: u32 = 0;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const EQUALS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const MASK: u32 = libc::BPF_ALU | libc::BPF_AND | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// To be installed with a listener; other filters see to foreign architectures and numbers.
pub(super) fn program() -> BpfProgram {
    let call = |number: i64| u32::try_from(number).expect("system calls have small numbers");
    let deny = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
    let unix = libc::AF_UNIX.cast_unsigned();
    let (stream, packets) = (libc::SOCK_STREAM.cast_unsigned(), libc::SOCK_SEQPACKET.cast_unsigned());
    vec![
        step(LOAD, 0, 0, NUMBER),
        step(EQUALS, 3, 0, call(libc::SYS_socket)),
        step(EQUALS, 7, 0, call(libc::SYS_socketpair)),
        step(EQUALS, 12, 0, call(libc::SYS_connect)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        // socket
        step(LOAD, 0, 0, argument(0)),
        step(EQUALS, 0, 12, unix),
        step(LOAD, 0, 0, argument(1)),
        step(MASK, 0, 0, !TYPE_FLAGS),
        step(EQUALS, 10, 9, stream),
        // socketpair
        step(LOAD, 0, 0, argument(0)),
        step(EQUALS, 0, 7, unix),
        step(LOAD, 0, 0, argument(1)),
        step(MASK, 0, 0, !TYPE_FLAGS),
        step(EQUALS, 6, 0, stream),
        step(EQUALS, 5, 3, packets),
        // connect
        step(LOAD, 0, 0, argument(2)),
        step(EQUALS, 4, 0, ADDRESS_BYTES),
        step(RETURN, 0, 0, deny(libc::EACCES)),
        step(RETURN, 0, 0, deny(libc::EPERM)),
        step(RETURN, 0, 0, libc::SECCOMP_RET_USER_NOTIF),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        // Success without doing anything: the stream is connected since it was made.
        step(RETURN, 0, 0, deny(0)),
    ]
}

fn step(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    let code = u16::try_from(code).expect("BPF opcodes are 16 bits wide");
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would do with the program: loads, masks, jumps, returns.
    fn verdict(number: i64, arguments: [u64; 3]) -> u32 {
        let program = program();
        let (mut accumulator, mut at) = (0_u32, 0_usize);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match u32::from(code) {
                LOAD if k == NUMBER => accumulator = u32::try_from(number).unwrap(),
                LOAD => accumulator = arguments[usize::try_from((k - 16) / 8).unwrap()] as u32,
                MASK => accumulator &= k,
                EQUALS => at += usize::from(if accumulator == k { jt } else { jf }),
                RETURN => return k,
                other => panic!("{other:#x}"),
            }
        }
    }

    const DENIED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();

    #[track_caller]
    fn check(number: i64, arguments: [i32; 3], expected: u32) {
        assert_eq!(verdict(number, arguments.map(|argument| u64::from(argument.cast_unsigned()))), expected);
    }

    #[test]
    fn only_a_unix_stream_can_be_asked_for() {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        for flags in [0, flags] {
            check(libc::SYS_socket, [libc::AF_UNIX, libc::SOCK_STREAM | flags, 0], libc::SECCOMP_RET_USER_NOTIF);
            for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_SEQPACKET, 0, 1 | 1 << 8] {
                check(libc::SYS_socket, [libc::AF_UNIX, kind | flags, 0], DENIED);
            }
            for family in [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK] {
                check(libc::SYS_socket, [family, libc::SOCK_STREAM | flags, 0], DENIED);
            }
        }
    }

    #[test]
    fn pairs_are_streams_or_sequences_of_packets_and_never_datagrams() {
        for (kind, expected) in [
            (libc::SOCK_STREAM | libc::SOCK_CLOEXEC, libc::SECCOMP_RET_ALLOW),
            (libc::SOCK_SEQPACKET, libc::SECCOMP_RET_ALLOW),
            (libc::SOCK_DGRAM, DENIED),
            (libc::SOCK_RAW | libc::SOCK_NONBLOCK, DENIED),
        ] {
            check(libc::SYS_socketpair, [libc::AF_UNIX, kind, 0], expected);
        }
        check(libc::SYS_socketpair, [libc::AF_INET, libc::SOCK_STREAM, 0], DENIED);
    }

    #[test]
    fn connecting_succeeds_for_the_brokers_address_alone_and_other_calls_are_left_alone() {
        let length = i32::try_from(ADDRESS_BYTES).unwrap();
        check(libc::SYS_connect, [3, 0, length], libc::SECCOMP_RET_ERRNO);
        for other in [0, 16, 110, length - 1, length + 1] {
            check(libc::SYS_connect, [3, 0, other], libc::SECCOMP_RET_ERRNO | libc::EACCES.cast_unsigned());
        }
        check(libc::SYS_read, [0, 0, 0], libc::SECCOMP_RET_ALLOW);
        assert!(BROKER_ADDRESS.len() < 108, "the kernel takes no longer path");
    }
}
