//! `[notify]` of the user's `config.toml`: who is told when something waits or has ended. Never read from a repository.
//! Secrets are named by the environment variable that holds them, never written down.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;

use broker::Secret;
use reqwest::Url;
use serde::Deserialize;
use toml::Spanned;

use super::SettingsError;
use super::environment::get;
use crate::notify::{Desktop, Notify, Topic, Webhook};

/// The name of the destination on the user's own screen.
const DESKTOP: &str = "desktop";
const SHORTEST_SECRET: usize = 16;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NotifyFile {
    webhook: Vec<Spanned<WebhookFile>>,
    desktop: Option<Spanned<DesktopFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WebhookFile {
    /// The host of its address if left out.
    name: Option<String>,
    url: Spanned<String>,
    /// Environment variable that holds the secret its notices are signed with.
    secret_env: Spanned<String>,
    /// All but `run.cancelled` if left out.
    events: Option<Vec<Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DesktopFile {
    /// Called like `notify-send`.
    #[serde(default = "usual_program")]
    program: String,
    #[serde(default)]
    sound: bool,
    events: Option<Vec<Spanned<String>>>,
}

fn usual_program() -> String {
    "notify-send".to_owned()
}

/// Something that cannot be meant, and the place in the text where it stands.
type Refused = (usize, String);

pub(super) fn notify(
    file: &NotifyFile,
    text: &str,
    environment: &BTreeMap<String, String>,
    path: &Path,
) -> Result<Notify, SettingsError> {
    read(file, environment).map_err(|(at, reason)| {
        let line = text.get(..at).unwrap_or_default().matches('\n').count() + 1;
        SettingsError::File { path: path.to_owned(), reason: format!("line {line}: [notify]: {reason}") }
    })
}

fn read(file: &NotifyFile, environment: &BTreeMap<String, String>) -> Result<Notify, Refused> {
    let mut names = BTreeSet::from([DESKTOP.to_owned()]);
    let mut webhooks = Vec::new();
    for entry in &file.webhook {
        let webhook = entry.get_ref().webhook(entry.span().start, environment)?;
        if !names.insert(webhook.name.clone()) {
            let reason = format!("there are two destinations `{}`: give each a `name` of its own", webhook.name);
            return Err((entry.span().start, reason));
        }
        webhooks.push(webhook);
    }
    let desktop = file.desktop.as_ref().map(|entry| entry.get_ref().desktop(entry.span().start)).transpose()?;
    Ok(Notify { webhooks, desktop, ..Notify::default() })
}

impl WebhookFile {
    fn webhook(&self, at: usize, environment: &BTreeMap<String, String>) -> Result<Webhook, Refused> {
        let url = address(self.url.get_ref()).map_err(|reason| (self.url.span().start, reason))?;
        let name = self.name.clone().or_else(|| url.host_str().map(str::to_owned)).unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            return Err((at, format!("`{name}` is no name: use up to 64 letters, digits, `.`, `-` and `_`")));
        }
        let variable = self.secret_env.get_ref();
        let secret = get(environment, variable).filter(|secret| secret.len() >= SHORTEST_SECRET).ok_or_else(|| {
            let reason = format!(
                "secret_env names {variable}, which is not set where the server runs or has fewer than \
                 {SHORTEST_SECRET} characters"
            );
            (self.secret_env.span().start, reason)
        })?;
        Ok(Webhook { name, url, secret: Secret::new(secret), topics: topics(self.events.as_deref())? })
    }
}

impl DesktopFile {
    fn desktop(&self, at: usize) -> Result<Desktop, Refused> {
        if self.program.trim().is_empty() {
            return Err((at, "`program` is empty".to_owned()));
        }
        let topics = topics(self.events.as_deref())?;
        Ok(Desktop { name: DESKTOP.to_owned(), program: self.program.clone(), sound: self.sound, topics })
    }
}

/// Plain HTTP only to this machine; a login in the address would end up in logs.
fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("`url` is no address: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("`url` has a login in it: put it into the path, or use the signature".to_owned());
    }
    let host = url.host_str().ok_or("`url` has no host")?;
    let number = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let here = host == "localhost" || number.is_ok_and(|ip| ip.is_loopback());
    match url.scheme() {
        "https" => Ok(url),
        "http" if here => Ok(url),
        "http" => Err("`url` is not encrypted: use https (http only for this machine)".to_owned()),
        other => Err(format!("`{other}` is not a scheme of a webhook: use https")),
    }
}

fn topics(said: Option<&[Spanned<String>]>) -> Result<Vec<Topic>, Refused> {
    let Some(said) = said else { return Ok(Topic::USUAL.to_vec()) };
    let topic = |word: &Spanned<String>| {
        Topic::parse(word.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = Topic::ALL.iter().map(|topic| topic.word()).collect();
            let reason = format!("`{}` is no event: use {}", word.get_ref().escape_debug(), known.join(", "));
            (word.span().start, reason)
        })
    };
    said.iter().map(topic).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Setup;
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn read(file: &str) -> Result<Notify, String> {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = BTreeMap::from([("OPS".to_owned(), SECRET.to_owned()), ("SHORT".to_owned(), "x".to_owned())]);
        Setup::read(home.path(), &said).map(|setup| setup.notify).map_err(|error| error.to_string())
    }

    #[test]
    fn nobody_is_told_unless_the_users_file_says_so() {
        let none = read("").unwrap();
        assert!(none.webhooks.is_empty() && none.desktop.is_none());
        let file = "[[notify.webhook]]\nurl = \"https://ops.example/x\"\nsecret_env = \"OPS\"\n\
                    [[notify.webhook]]\nname = \"here\"\nurl = \"http://127.0.0.1:9/\"\nsecret_env = \"OPS\"\n\
                    events = [\"run.failed\"]\n[notify.desktop]\n";
        let notify = read(file).unwrap();
        assert_eq!((notify.webhooks[0].name.as_str(), notify.webhooks[1].name.as_str()), ("ops.example", "here"));
        assert_eq!(notify.webhooks[0].topics, Topic::USUAL);
        assert_eq!(notify.webhooks[1].topics, [Topic::RunFailed]);
        let desktop = notify.desktop.unwrap();
        assert_eq!((desktop.program.as_str(), desktop.sound), ("notify-send", false));
        assert!(!format!("{:?}", notify.webhooks).contains(SECRET));
    }

    #[track_caller]
    fn check_refused(lines: &str, expected: &str) {
        let refused = read(&format!("# a file\n[[notify.webhook]]\n{lines}")).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_its_line() {
        let secret = "secret_env = \"OPS\"\n";
        check_refused(&format!("url = \"http://ops.example/\"\n{secret}"), "line 3: [notify]: `url` is not encrypted");
        check_refused(&format!("url = \"https://a:b@ops.example/\"\n{secret}"), "line 3: [notify]: `url` has a login");
        check_refused(&format!("url = \"ftp://ops.example/\"\n{secret}"), "`ftp` is not a scheme");
        check_refused(&format!("url = \"ops.example\"\n{secret}"), "line 3");
        let url = "url = \"https://ops.example/\"\n";
        check_refused(&format!("{url}secret_env = \"NONE\"\n"), "line 4: [notify]: secret_env names NONE");
        check_refused(&format!("{url}secret_env = \"SHORT\"\n"), "fewer than 16 characters");
        check_refused(
            &format!("{url}{secret}events = [\n\"run.begun\"]\n"),
            "line 6: [notify]: `run.begun` is no event",
        );
        check_refused(&format!("{url}{secret}name = \"a b\"\n"), "`a b` is no name");
        check_refused(&format!("{url}{secret}name = \"desktop\"\n"), "two destinations");
        check_refused(&format!("{url}{secret}[[notify.webhook]]\n{url}{secret}"), "line 5");
        check_refused(&format!("{url}{secret}token = \"x\"\n"), "token");
    }
}
