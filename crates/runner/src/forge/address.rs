//! From the URL of a remote to the API of the host it lives on. Pure text rules; nothing here
//! connects.

use std::net::IpAddr;

use reqwest::Url;

use super::ForgeError;
use crate::git::redacted;

/// Hosts that are no GitHub, so that a token is not tried there.
const OTHERS: &[&str] = &["gitlab.com", "bitbucket.org", "codeberg.org", "azure.com", "sr.ht", "gitee.com"];

/// A repository on a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    port: Option<u16>,
    pub(crate) owner: String,
    pub(crate) name: String,
}

/// The host a remote lives on, which is the one that a token for it must belong to.
pub fn host_of(remote_url: &str) -> Result<String, ForgeError> {
    Address::parse(remote_url).map(|address| address.host)
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, ForgeError> {
        let refuse = |reason| ForgeError::BadRemote { url: shown(url), reason };
        if url.is_empty() || url.starts_with('-') || url.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(refuse("it is empty, starts with `-` or has spaces or control characters"));
        }
        let (host, port, path) = match url.contains("://") {
            true => from_url(url).map_err(refuse)?,
            false => from_short_form(url).ok_or_else(|| refuse("it is a path, not an address"))?,
        };
        let host = host.to_ascii_lowercase();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b".-".contains(&b);
        if host.is_empty() || host.starts_with('-') || !host.bytes().all(plain) {
            return Err(refuse("its host is not a plain name"));
        }
        let host = match host.as_str() {
            // The second is ssh over the port of https.
            "www.github.com" | "ssh.github.com" => "github.com".to_owned(),
            _ => host,
        };
        let path = path.trim_matches('/');
        let path = path.strip_suffix(".git").unwrap_or(path);
        match path.split_once('/') {
            Some((owner, name)) if is_name(owner) && is_name(name) => {
                Ok(Self { host, port, owner: owner.to_owned(), name: name.to_owned() })
            }
            _ => Err(refuse("its path is not `OWNER/REPO`")),
        }
    }

    /// Where the host has its API.
    pub(crate) fn api(&self, remote_url: &str) -> Result<Url, ForgeError> {
        let refuse = |reason| ForgeError::BadRemote { url: shown(remote_url), reason };
        let of = |name: &str| self.host == name || self.host.ends_with(&format!(".{name}"));
        if OTHERS.iter().any(|name| of(name)) || self.host.starts_with("gitlab.") {
            return Err(refuse("that host is not GitHub"));
        }
        if !self.host.contains('.') {
            return Err(refuse("its host is a short name: write the whole name, or set the address of the API"));
        }
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        let api = match self.host.as_str() {
            "github.com" => "https://api.github.com".to_owned(),
            host if host.ends_with(".ghe.com") => format!("https://api.{host}"),
            host => format!("https://{host}{port}/api/v3"),
        };
        Url::parse(&api).map_err(|_| refuse("its host is not a plain name"))
    }

    pub(crate) fn repository(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// An API address somebody set: https, or anything on this machine.
pub(crate) fn check_api(address: &str) -> Result<Url, ForgeError> {
    let refuse = |reason| ForgeError::BadApi { address: shown(address), reason };
    let url = Url::parse(address).map_err(|_| refuse("it is not a URL"))?;
    if url.host_str().is_none() || url.query().is_some() || url.fragment().is_some() {
        return Err(refuse("it has no host, or has a `?` or `#`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refuse("it has a user or a password in it"));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback(&url) => Ok(url),
        _ => Err(refuse("anything but https would send the token in the clear")),
    }
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "localhost" || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn from_url(url: &str) -> Result<(String, Option<u16>, String), &'static str> {
    let url = Url::parse(url).map_err(|_| "it is not a URL")?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("it has a `?` or `#`");
    }
    let host = url.host_str().ok_or("it has no host")?.to_owned();
    let port = match url.scheme() {
        "https" => url.port(),
        "http" if is_loopback(&url) => url.port(),
        // The port of ssh says nothing about that of the API.
        "ssh" => None,
        "http" => return Err("plain http would send credentials in the clear"),
        _ => return Err("its scheme is none of https, ssh"),
    };
    Ok((host, port, url.path().to_owned()))
}

/// `[user@]host:path`
fn from_short_form(url: &str) -> Option<(String, Option<u16>, String)> {
    let (host, path) = url.split_once(':')?;
    let host = host.rsplit('@').next()?;
    (!host.contains('/')).then(|| (host.to_owned(), None, path.to_owned()))
}

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    !name.is_empty() && name.len() <= 100 && name != "." && name != ".." && name.bytes().all(plain)
}

/// The address as people read it, without what may be a credential.
fn shown(url: &str) -> String {
    let url = redacted(url);
    let short = match url.contains("://") {
        true => url.as_str(),
        false => url.rsplit_once('@').map_or(url.as_str(), |(_, rest)| rest),
    };
    short.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, repository: &str, api: &str) {
        let address = Address::parse(url).unwrap();
        assert_eq!(address.repository(), repository);
        assert_eq!(address.api(url).unwrap().as_str().trim_end_matches('/'), api);
    }

    #[test]
    fn every_way_to_write_a_remote_leads_to_its_api() {
        for url in [
            "https://github.com/o/r",
            "https://github.com/o/r.git",
            "https://github.com/o/r/",
            "https://me:secret@GitHub.com/o/r.git",
            "git@github.com:o/r.git",
            "github.com:o/r",
            "git@github.com:/o/r.git",
            "ssh://git@github.com/o/r",
            "ssh://git@github.com:22/o/r.git",
            "ssh://git@ssh.github.com:443/o/r.git",
        ] {
            check(url, "o/r", "https://api.github.com");
        }
        check("git@github.example.com:team/r.x.git", "team/r.x", "https://github.example.com/api/v3");
        check("https://ghe.example.com:8443/t/r", "t/r", "https://ghe.example.com:8443/api/v3");
        check("ssh://git@ghe.example.com:7999/t/r", "t/r", "https://ghe.example.com/api/v3");
        check("https://acme.ghe.com/t/r", "t/r", "https://api.acme.ghe.com");
    }

    #[test]
    fn what_is_no_repository_on_github_is_refused() {
        for url in [
            "",
            "/srv/r.git",
            "../r.git",
            "file:///srv/o/r.git",
            "git://github.com/o/r",
            "http://github.com/o/r",
            "https://github.com/o",
            "https://github.com/o/r/tree/main",
            "https://github.com/o/..",
            "https://github.com/o/r?x=1",
            "https://github.com/o/r#x",
            "https://github.com/o%2f/r",
            "git@github.com:o",
            "git@-oProxyCommand=x:o/r",
            "--upload-pack=x:o/r",
            "git@gi thub.com:o/r",
            "git@github.com:o/r\n",
        ] {
            assert!(matches!(Address::parse(url), Err(ForgeError::BadRemote { .. })), "{url:?} was taken");
        }
        for url in ["https://gitlab.com/o/r", "git@gitlab.acme.org:o/r", "git@work:o/r", "git@ssh.dev.azure.com:o/r"] {
            let refused = Address::parse(url).unwrap().api(url);
            assert!(matches!(refused, Err(ForgeError::BadRemote { .. })), "{url:?} was taken");
        }
    }

    #[test]
    fn credentials_in_an_address_are_not_shown() {
        for url in ["https://me:s3cret@github.com/o", "s3cret@github.com:o"] {
            let refused = Address::parse(url).unwrap_err().to_string();
            assert!(!refused.contains("s3cret") && refused.contains("github.com"), "{refused}");
        }
    }

    #[test]
    fn an_api_is_spoken_to_in_the_clear_on_this_machine_only() {
        for address in
            ["https://api.github.com", "http://127.0.0.1:8080", "http://localhost:1/api/v3", "http://[::1]:9"]
        {
            assert!(check_api(address).is_ok(), "{address:?} was refused");
        }
        for address in [
            "",
            "api.github.com",
            "http://api.github.com",
            "http://127.0.0.1.evil.test",
            "ftp://127.0.0.1",
            "https://me:pw@api.github.com",
            "https://api.github.com?x=1",
        ] {
            assert!(matches!(check_api(address), Err(ForgeError::BadApi { .. })), "{address:?} was taken");
        }
    }
}
