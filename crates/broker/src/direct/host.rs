//! Host names as they may be asked for, and patterns that allow them. A name is read once into a type of its own; what
//! is compared and dialled is that, never the text it came from. Pure.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The port of a pattern that names none.
const HTTPS: u16 = 443;
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
const LOOPBACK: &str = "127.0.0.1";

/// Why a text is not a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No port.
    #[error("it has no port; write `host:443`")]
    NoPort,
    /// The port is not a plain number.
    #[error("its port is not a number from 1 to 65535")]
    BadPort,
    /// The name is empty or too long.
    #[error("its name is empty or longer than {LONGEST_NAME} characters")]
    BadLength,
    /// Something that does not stand in a host name: a blank, `@`, a capital letter, a letter beyond ASCII.
    #[error("its name has `{0}`; use small letters, digits, dashes and dots only (other letters as `xn--…`)")]
    BadCharacter(String),
    /// An empty label (two dots, or one at an end), one that is too long, or one with a dash at an end.
    #[error("its name has an empty or malformed part between dots")]
    BadLabel,
    /// An address written as a number.
    #[error("it is an address written as a number; use the name of the host")]
    Number,
    /// A name without a dot.
    #[error("its name has no dot; use the full name of the host")]
    OneLabel,
    /// A `*` at another place than the beginning, or in front of too little.
    #[error("`*` may stand only at the beginning, as in `*.example.com`")]
    BadStar,
}

/// The name of a host: labels of small letters, digits and dashes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostName(String);

impl HostName {
    fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() || text.len() > LONGEST_NAME {
            return Err(HostError::BadLength);
        }
        let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        if let Some(bad) = text.chars().find(|c| !fits(*c)) {
            return Err(HostError::BadCharacter(bad.escape_default().to_string()));
        }
        let labels: Vec<&str> = text.split('.').collect();
        let malformed = |label: &&str| {
            label.is_empty() || label.len() > LONGEST_LABEL || label.starts_with('-') || label.ends_with('-')
        };
        if labels.iter().any(malformed) {
            return Err(HostError::BadLabel);
        }
        // Resolvers read `127.1`, `0x7f.1` and `2130706433` as addresses; no real top-level name looks so.
        let last = labels.last().copied().unwrap_or_default();
        if last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x") {
            return Err(HostError::Number);
        }
        if labels.len() < 2 {
            return Err(HostError::OneLabel);
        }
        Ok(Self(text.to_owned()))
    }

    fn labels(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('.')
    }
}

/// Where a program wants to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Name(HostName, u16),
    /// `127.0.0.1`, which only a pattern that says so allows.
    Loopback(u16),
}

impl Target {
    /// Reads `host:port` as it stands in a request.
    pub(crate) fn parse(authority: &str) -> Result<Self, HostError> {
        let (name, port) = authority.rsplit_once(':').ok_or(HostError::NoPort)?;
        let port = port_of(port)?;
        match name {
            LOOPBACK => Ok(Self::Loopback(port)),
            name => Ok(Self::Name(HostName::parse(name)?, port)),
        }
    }

    /// The name to look up, or the address, and the port.
    pub(crate) fn place(&self) -> (&str, u16) {
        match self {
            Self::Name(name, port) => (&name.0, *port),
            Self::Loopback(port) => (LOOPBACK, *port),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (host, port) = self.place();
        write!(f, "{host}:{port}")
    }
}

/// No sign, no blank, no leading zero: one way to write each port.
fn port_of(text: &str) -> Result<u16, HostError> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
    if plain { text.parse().map_err(|_| HostError::BadPort) } else { Err(HostError::BadPort) }
}

/// Hosts that may be reached: `name`, `*.name` for every name below it, each with `:port` where it is not 443; or
/// `127.0.0.1:port`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPattern(Allows);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Allows {
    Exactly(HostName, u16),
    Below(HostName, u16),
    Loopback(u16),
}

impl HostPattern {
    /// Whether it leads to this machine, which needs a word of its own in the settings.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        matches!(self.0, Allows::Loopback(_))
    }

    pub(crate) fn allows(&self, target: &Target) -> bool {
        match (&self.0, target) {
            (Allows::Exactly(name, port), Target::Name(asked, to)) => name == asked && port == to,
            (Allows::Below(name, port), Target::Name(asked, to)) => {
                let mut rest = asked.labels().rev();
                port == to && name.labels().rev().all(|label| rest.next() == Some(label)) && rest.next().is_some()
            }
            (Allows::Loopback(port), Target::Loopback(to)) => port == to,
            (Allows::Exactly(..) | Allows::Below(..), Target::Loopback(_))
            | (Allows::Loopback(_), Target::Name(..)) => false,
        }
    }
}

impl FromStr for HostPattern {
    type Err = HostError;

    fn from_str(text: &str) -> Result<Self, HostError> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) => (name, Some(port_of(port)?)),
            None => (text, None),
        };
        if name == LOOPBACK {
            return port.map(|port| Self(Allows::Loopback(port))).ok_or(HostError::NoPort);
        }
        let port = port.unwrap_or(HTTPS);
        if let Some(below) = name.strip_prefix("*.") {
            let below = HostName::parse(below).map_err(|error| match error {
                HostError::OneLabel => HostError::BadStar,
                other => other,
            })?;
            return Ok(Self(Allows::Below(below, port)));
        }
        if name.contains('*') {
            return Err(HostError::BadStar);
        }
        Ok(Self(Allows::Exactly(HostName::parse(name)?, port)))
    }
}

impl TryFrom<String> for HostPattern {
    type Error = HostError;
    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

impl From<HostPattern> for String {
    fn from(pattern: HostPattern) -> Self {
        pattern.to_string()
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (star, name, port) = match &self.0 {
            Allows::Exactly(name, port) => ("", name.0.as_str(), *port),
            Allows::Below(name, port) => ("*.", name.0.as_str(), *port),
            Allows::Loopback(port) => return write!(f, "{LOOPBACK}:{port}"),
        };
        match port {
            HTTPS => write!(f, "{star}{name}"),
            port => write!(f, "{star}{name}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(patterns: &[&str], asked: &str) -> bool {
        let Ok(target) = Target::parse(asked) else { return false };
        patterns.iter().any(|pattern| pattern.parse::<HostPattern>().unwrap().allows(&target))
    }

    const LIST: &[&str] = &["api.vendor.example", "*.cdn.example", "gateway.example:8443", "127.0.0.1:9000"];

    #[test]
    fn what_is_on_the_list_is_allowed() {
        for asked in [
            "api.vendor.example:443",
            "a.cdn.example:443",
            "a.b.cdn.example:443",
            "gateway.example:8443",
            "127.0.0.1:9000",
        ] {
            assert!(allowed(LIST, asked), "{asked}");
        }
    }

    #[test]
    fn no_other_spelling_and_no_twin_is_allowed() {
        for asked in [
            "api.vendor.example",
            "api.vendor.example:",
            "api.vendor.example:80",
            "api.vendor.example:0443",
            "api.vendor.example:+443",
            "api.vendor.example: 443",
            "api.vendor.example:443 ",
            "api.vendor.example:443\r",
            "api.vendor.example:65979",
            "api.vendor.example:443:443",
            "API.vendor.example:443",
            "api.Vendor.example:443",
            "api.vendor.example.:443",
            ".api.vendor.example:443",
            "api..vendor.example:443",
            "api.vendor.example\0:443",
            "api.vendor.example\0.evil.example:443",
            "evil.example\0.cdn.example:443",
            "api.vendor.example\n:443",
            "api.vendor.example%00:443",
            "api.vendor.example/evil:443",
            "api.vendor.example#evil.example:443",
            "api.vendor.example?:443",
            "user@api.vendor.example:443",
            "api.vendor.example@evil.example:443",
            "api.vendor.example:443@evil.example:443",
            "api.vendor.example.evil.example:443",
            "evilapi.vendor.example:443",
            "evil-api.vendor.example:443",
            "vendor.example:443",
            "cdn.example:443",
            "evilcdn.example:443",
            "x.evilcdn.example:443",
            "a.cdn.example.evil.example:443",
            "*.cdn.example:443",
            "-a.cdn.example:443",
            "a_b.cdn.example:443",
            "аpi.vendor.example:443",
            "api。vendor。example:443",
            "gateway.example:443",
            "localhost:9000",
            "127.0.0.1:9001",
            "127.1:9000",
            "127.0.0.1.:9000",
            "0127.0.0.1:9000",
            "2130706433:9000",
            "0x7f000001:9000",
            "0x7f.0.0.0x1:9000",
            "[::1]:9000",
            "[::ffff:127.0.0.1]:9000",
            "[fe80::1%25lo]:443",
            "::1:9000",
            "169.254.169.254:443",
            "10.0.0.1:443",
            ":443",
            "",
        ] {
            assert!(!allowed(LIST, asked), "{asked:?}");
        }
        let long = format!("{}.cdn.example:443", "a".repeat(64));
        assert!(!allowed(LIST, &long));
        assert!(!allowed(LIST, &format!("{}.cdn.example:443", "a.".repeat(130).trim_end_matches('.'))));
    }

    #[test]
    fn a_pattern_reads_as_it_is_written_and_odd_ones_are_refused() {
        for text in LIST.iter().chain(&["xn--bcher-kva.example"]) {
            assert_eq!(text.parse::<HostPattern>().unwrap().to_string(), **text);
        }
        assert_eq!("api.example:443".parse::<HostPattern>().unwrap().to_string(), "api.example");
        for text in [
            "",
            "*",
            "*.",
            "*.com",
            "a.*.example",
            "*a.example",
            "api.example/",
            "https://api.example",
            "10.0.0.1",
            "[::1]",
            "localhost",
            "127.0.0.1",
            "API.example",
            "bücher.example",
            "api.example.",
            "a b.example",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
    }
}
