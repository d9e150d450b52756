//! Which addresses belong to the public internet, and names that lead only there.
//!
//! What is connected to is the address that was looked at: a name is resolved once, and never again on the way.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Which addresses may be connected to.
pub(crate) type Allowed = fn(IpAddr) -> bool;

/// Why a name leads nowhere.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ResolveError {
    #[error("resolves to a private address")]
    Private,
    #[error("cannot be looked up: {0}")]
    Lookup(#[from] io::Error),
}

/// The addresses of a name, if all of them may be connected to.
pub(crate) async fn resolve(name: &str, port: u16, allowed: Allowed) -> Result<Vec<SocketAddr>, ResolveError> {
    let found = tokio::net::lookup_host((name, port)).await?.collect();
    all_of(found, allowed)
}

/// One private address among public ones is a trap, not a mirror.
fn all_of(found: Vec<SocketAddr>, allowed: Allowed) -> Result<Vec<SocketAddr>, ResolveError> {
    if found.iter().any(|address| !allowed(address.ip())) {
        return Err(ResolveError::Private);
    }
    Ok(found)
}

pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let reserved = a == 0 || a >= 224 || (a == 192 && b == 0 && c == 0) || (a == 198 && (b == 18 || b == 19));
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || shared
        || reserved)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        // Addresses of version 4 in other clothes: mapped, compatible, translated, 6to4.
        (0, 0) if (c, d, e) == (0, 0, 0) && (f == 0 || f == 0xffff) => f == 0xffff && inner(g, h),
        (0x64, 0xff9b) => inner(g, h),
        (0x2002, _) => inner(b, c),
        // Everything that is handed out to the public begins with the bits 001; 2001:db8 is for books, 2001:0 tunnels.
        (0x2001, 0xdb8 | 0) => false,
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_public() {
        for address in ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "::ffff:8.8.8.8", "64:ff9b::808:808"] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.9.9",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "198.18.0.1",
            "192.0.2.1",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::7f00:1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001:db8::1",
            "fec0::1",
            "2002:a00:1::",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_name_with_one_private_address_among_public_ones_leads_nowhere() {
        let addresses = |all: &[&str]| all.iter().map(|one| SocketAddr::new(one.parse().unwrap(), 443)).collect();
        let public = ["93.184.216.34", "2606:2800:220:1::1"];
        assert_eq!(all_of(addresses(&public), is_public).unwrap().len(), 2);
        for private in ["127.0.0.1", "169.254.169.254", "10.0.0.1", "100.64.0.1", "::1", "fd00::1", "::ffff:10.0.0.1"] {
            let refused = all_of(addresses(&[public[0], private, public[1]]), is_public);
            assert!(matches!(refused, Err(ResolveError::Private)), "{private}");
        }
    }

    #[tokio::test]
    async fn a_name_that_leads_home_is_not_resolved() {
        let refused = resolve("localhost", 443, is_public).await.unwrap_err();
        assert!(matches!(refused, ResolveError::Private), "{refused}");
    }
}
