//! Where the server is: the address it listens on, and the name a proxy gives it. Decides which Host and Origin are its
//! own, and what it takes to be reachable from elsewhere.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    address: SocketAddr,
    proxy: Option<Proxy>,
}

/// A proxy in front of the server that encrypts: `https://NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    authority: String,
}

/// Why something is no address of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("say it as browsers will see it: https://NAME or https://NAME:PORT, without a path")]
pub struct BadProxy;

impl FromStr for Proxy {
    type Err = BadProxy;

    fn from_str(text: &str) -> Result<Self, BadProxy> {
        let authority = text.strip_prefix("https://").ok_or(BadProxy)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority).to_ascii_lowercase();
        // Browsers leave the usual port out.
        let authority = authority.strip_suffix(":443").unwrap_or(&authority).to_owned();
        let (name, port) = authority.split_once(':').unwrap_or((&authority, "1"));
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
        let named = !name.is_empty() && name.bytes().all(plain) && port.parse::<u16>().is_ok_and(|port| port > 0);
        if named { Ok(Self { authority }) } else { Err(BadProxy) }
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}", self.authority)
    }
}

impl Place {
    /// An address that is listened on.
    #[must_use]
    pub fn new(address: SocketAddr, proxy: Option<Proxy>) -> Self {
        Self { address, proxy }
    }

    /// Only this machine.
    #[must_use]
    pub fn loopback(port: u16) -> Self {
        Self::new(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), None)
    }

    /// Where programs on this machine reach it.
    #[must_use]
    pub fn url(&self) -> String {
        match self.address.ip() {
            ip if ip.is_unspecified() => format!("http://127.0.0.1:{}", self.address.port()),
            _ => format!("http://{}", self.address),
        }
    }

    /// Where browsers reach it.
    #[must_use]
    pub fn public_url(&self) -> String {
        self.proxy.as_ref().map_or_else(|| self.url(), Proxy::to_string)
    }

    /// Whether what browsers send here is encrypted on its way.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.proxy.is_some()
    }

    /// Whether a Host is one of our own names.
    pub(crate) fn is_own_host(&self, host: &str) -> bool {
        self.is_local(host) || self.proxy.as_ref().is_some_and(|proxy| proxy.authority.eq_ignore_ascii_case(host))
    }

    /// Whether an Origin is that of our own pages.
    pub(crate) fn is_own_origin(&self, origin: &str) -> bool {
        let local = origin.strip_prefix("http://").is_some_and(|host| self.is_local(host));
        local || self.proxy.as_ref().is_some_and(|proxy| proxy.to_string() == origin)
    }

    fn is_local(&self, host: &str) -> bool {
        let port = self.address.port().to_string();
        let named = |name: &str| {
            let rest = host.get(name.len()..);
            host.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
                && rest.and_then(|rest| rest.strip_prefix(':')).is_some_and(|said| said == port)
        };
        let ip = self.address.ip();
        let bound = !ip.is_unspecified() && host == self.address.to_string();
        bound || ["127.0.0.1", "localhost", "[::1]"].into_iter().any(named)
    }
}

/// What is missing for being reachable from elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missing {
    /// Nobody encrypts.
    Encryption,
    /// Nobody is named: all would share the owner's token.
    Users,
}

/// Whether the server may be there. Only this machine needs nothing more than the token.
pub(crate) fn check(listen: IpAddr, proxy: Option<&Proxy>, users: usize) -> Result<(), Missing> {
    match (listen.is_loopback(), proxy) {
        (true, None) => Ok(()),
        (false, None) => Err(Missing::Encryption),
        (_, Some(_)) if users == 0 => Err(Missing::Users),
        (_, Some(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxied(address: &str, proxy: &str) -> Place {
        Place::new(address.parse().unwrap(), Some(proxy.parse().unwrap()))
    }

    #[test]
    fn a_proxy_is_an_encrypted_name_and_nothing_more() {
        let good = |text: &str| text.parse::<Proxy>().map(|proxy| proxy.to_string());
        assert_eq!(good("https://Hold.Example/"), Ok("https://hold.example".to_owned()));
        assert_eq!(good("https://hold.example:443"), Ok("https://hold.example".to_owned()));
        assert_eq!(good("https://hold.example:8443"), Ok("https://hold.example:8443".to_owned()));
        for bad in [
            "http://hold.example",
            "hold.example",
            "https://",
            "https://a/b",
            "https://u@a",
            "https://a:x",
            "https://a b",
        ] {
            assert_eq!(good(bad), Err(BadProxy), "{bad}");
        }
    }

    #[test]
    fn behind_a_proxy_its_name_is_our_own_and_only_encrypted() {
        let place = proxied("0.0.0.0:4000", "https://hold.example");
        assert!(place.is_own_host("hold.example") && place.is_own_host("127.0.0.1:4000"));
        assert!(!place.is_own_host("hold.example:4000") && !place.is_own_host("0.0.0.0:4000"));
        assert!(!place.is_own_host("evil.example") && !place.is_own_host("hold.example.evil.test"));
        assert!(place.is_own_origin("https://hold.example") && place.is_own_origin("http://127.0.0.1:4000"));
        assert!(!place.is_own_origin("http://hold.example") && !place.is_own_origin("https://127.0.0.1:4000"));
        assert_eq!(
            (place.url().as_str(), place.public_url().as_str()),
            ("http://127.0.0.1:4000", "https://hold.example")
        );
        let bound = proxied("10.0.0.5:4000", "https://hold.example");
        assert!(bound.is_own_host("10.0.0.5:4000") && !bound.is_own_host("10.0.0.5"));
        assert_eq!(bound.url(), "http://10.0.0.5:4000");
    }

    #[test]
    fn elsewhere_needs_encryption_and_named_users() {
        let (here, there) = ("127.0.0.1".parse().unwrap(), "0.0.0.0".parse().unwrap());
        let proxy: Proxy = "https://hold.example".parse().unwrap();
        assert_eq!(check(here, None, 0), Ok(()));
        assert_eq!(check(there, None, 3), Err(Missing::Encryption));
        assert_eq!(check("192.168.0.2".parse().unwrap(), None, 3), Err(Missing::Encryption));
        assert_eq!(check(there, Some(&proxy), 0), Err(Missing::Users));
        assert_eq!(check(here, Some(&proxy), 0), Err(Missing::Users));
        assert_eq!(check(there, Some(&proxy), 1), Ok(()));
    }
}
