//! What the usual vendors' secrets look like.

use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::{Hit, random};

/// One kind: what it is called, what it looks like (the first group, if there is one, is the secret itself), and what
/// else must hold.
struct Kind {
    name: &'static str,
    looks: Regex,
    holds: fn(&Captures<'_>) -> bool,
}

pub(super) fn compile(pattern: &str) -> Regex {
    RegexBuilder::new(pattern).unicode(false).build().expect("patterns of ours are well formed")
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    let kind = |name, looks: &str, holds| Kind { name, looks: compile(looks), holds };
    vec![
        kind("AWS access key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b", real),
        kind(
            "AWS secret access key",
            r#"(?i:secret_?access_?key|aws_?secret(?:_?key)?)["']?\s{0,4}(?::=|=>|=|:)\s{0,4}["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+=]|$)"#,
            random,
        ),
        kind("GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b", real),
        kind("GitHub token", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b", real),
        kind("GitLab token", r"\bgl(?:pat|ptt|dt|rt|cbt|ft|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,300}", random),
        kind("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{24,300}", random),
        kind("OpenAI key", r"\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{24,300}", random),
        kind("OpenAI key", r"\bsk-[A-Za-z0-9]{48}\b", random),
        kind("OpenRouter key", r"\bsk-or-v1-[0-9a-f]{64}\b", real),
        kind("Groq key", r"\bgsk_[A-Za-z0-9]{52}\b", random),
        kind("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{20,300}", random),
        kind("Slack token", r"\bxapp-[0-9]-[A-Z0-9]{6,20}-[0-9]{6,20}-[a-f0-9]{20,100}\b", real),
        kind(
            "Slack webhook",
            r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9]{6,20}/[A-Za-z0-9]{6,20}/[A-Za-z0-9]{16,60}",
            mixed_end,
        ),
        kind(
            "Discord webhook",
            r"https://(?:ptb\.|canary\.)?discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/[A-Za-z0-9_-]{50,100}",
            real,
        ),
        kind("Stripe key", r"\b(?:sk|rk)_live_[A-Za-z0-9]{16,250}\b", random),
        kind("Stripe webhook secret", r"\bwhsec_[A-Za-z0-9+/]{32,100}", random),
        kind("Google API key", r"\bAIza[A-Za-z0-9_-]{35}(?:[^A-Za-z0-9_-]|$)", random),
        kind("Google OAuth secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}(?:[^A-Za-z0-9_-]|$)", random),
        kind("Google OAuth token", r"\bya29\.[A-Za-z0-9_-]{40,500}", random),
        kind("npm token", r"\bnpm_[A-Za-z0-9]{36}\b", random),
        kind("PyPI token", r"\bpypi-AgE[A-Za-z0-9_-]{50,500}", real),
        kind("crates.io token", r"\bcio[A-Za-z0-9]{32}\b", random),
        kind("Telegram bot token", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?:[^A-Za-z0-9_-]|$)", random),
        kind("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39,50}", random),
        kind("Twilio key", r"\bSK[0-9a-f]{32}\b", real),
        kind("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b", real),
        kind("Hugging Face token", r"\bhf_[A-Za-z0-9]{34,60}\b", mixed_case),
        kind("Docker Hub token", r"\bdckr_[op]at_[A-Za-z0-9_-]{27,60}", random),
        kind("Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b", real),
        kind("Databricks token", r"\bdapi[a-f0-9]{32}\b", real),
        kind("Linear key", r"\blin_api_[A-Za-z0-9]{40}\b", random),
        kind("Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,300}", random),
        kind("age key", r"\bAGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}\b", real),
        kind("Azure storage key", r"\bAccountKey=([A-Za-z0-9+/]{86}==)", azure),
        kind(
            "JSON web token",
            r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{20,2000}",
            signed,
        ),
        kind(
            "password in an address",
            r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\s/:@"'`<>{}$\\]{0,100}:([^\s/@"'`<>\\]{3,200})@[A-Za-z0-9._\[\]:-]{1,255}"#,
            in_address,
        ),
    ]
});

pub(super) fn hits(text: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for kind in KINDS.iter() {
        for found in kind.looks.captures_iter(text) {
            if (kind.holds)(&found) {
                let secret = secret_in(&found);
                // What only ends the pattern is not the secret's.
                let length = trimmed(kind.name, secret.as_bytes());
                let (start, end) = (secret.start(), secret.start() + length);
                hits.push(Hit { kind: kind.name, known_as: None, start, end });
            }
        }
    }
    hits
}

fn secret_in<'t>(found: &Captures<'t>) -> regex::bytes::Match<'t> {
    found.get(1).or_else(|| found.get(0)).expect("a match has a whole")
}

fn trimmed(name: &str, secret: &[u8]) -> usize {
    let ended = matches!(name, "Google API key" | "Google OAuth secret" | "Telegram bot token");
    let last = secret.last().copied().unwrap_or_default();
    let foreign = ended && !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'-'));
    secret.len() - usize::from(foreign)
}

/// Its form says enough: only one that says it is none is passed over.
fn real(found: &Captures<'_>) -> bool {
    let secret = secret_in(found).as_bytes();
    let text = String::from_utf8_lossy(secret).to_ascii_lowercase();
    let says = ["example", "xxxxx", "*****", "00000000", "1234567890", "placeholder", "deadbeef", "your"];
    let distinct = secret.iter().collect::<std::collections::BTreeSet<_>>().len();
    !says.iter().any(|part| text.contains(part)) && distinct > 7
}

/// It must also look made by a machine: with figures among its letters.
fn random(found: &Captures<'_>) -> bool {
    let secret = secret_in(found).as_bytes();
    real(found) && secret.iter().filter(|byte| byte.is_ascii_digit()).count() >= 2
}

fn mixed_case(found: &Captures<'_>) -> bool {
    let secret = &secret_in(found).as_bytes()[3..];
    real(found) && secret.iter().any(u8::is_ascii_lowercase) && secret.iter().any(u8::is_ascii_uppercase)
}

/// The last part of an address is the secret in it.
fn mixed_end(found: &Captures<'_>) -> bool {
    let secret = secret_in(found).as_bytes();
    let last = secret.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let kinds = [last.iter().any(u8::is_ascii_lowercase), last.iter().any(u8::is_ascii_uppercase)];
    real(found) && kinds == [true, true]
}

/// Not the one of the emulator that everybody has.
fn azure(found: &Captures<'_>) -> bool {
    random(found) && !secret_in(found).as_bytes().starts_with(b"Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1")
}

/// Not the one that explains what such a token is.
fn signed(found: &Captures<'_>) -> bool {
    let text = String::from_utf8_lossy(secret_in(found).as_bytes()).into_owned();
    !["IxMjM0NTY3ODkw", "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c"].iter().any(|known| text.contains(known))
}

/// One of a machine elsewhere, or one that nobody would use as an example.
fn in_address(found: &Captures<'_>) -> bool {
    let whole = found.get(0).map(|found| found.as_bytes()).unwrap_or_default();
    let whole = String::from_utf8_lossy(whole).into_owned();
    let Some((_, rest)) = whole.split_once("://") else { return false };
    let Some((login, host)) = rest.rsplit_once('@') else { return false };
    let Some((user, password)) = login.split_once(':') else { return false };
    let host = host.trim_start_matches('[').split([':', ']']).next().unwrap_or_default().to_ascii_lowercase();
    let local = ["localhost", "0.0.0.0", "host", "hostname", "host.docker.internal", "server"].contains(&host.as_str())
        || host.starts_with("127.")
        || host.is_empty()
        || ["example", "test", "invalid", "localhost"].iter().any(|end| host.ends_with(&format!(".{end}")))
        || host.starts_with("example.")
        || host.contains(".example.");
    let weak = [
        "pass", "password", "passwd", "pw", "pwd", "secret", "token", "user", "root", "admin", "postgres", "guest",
        "key",
    ];
    let lower = password.to_ascii_lowercase();
    let plain = weak.contains(&lower.as_str())
        || user == password
        || random::is_placeholder(password.as_bytes())
        || lower == "x-oauth-basic"
        || password.len() < 6
        || password.bytes().all(|byte| byte.is_ascii_digit());
    // A name without a dot is a machine beside this one, as in a file for containers.
    let elsewhere = host.contains('.') && !local;
    !plain && (elsewhere || (!local && random::is_password(password.as_bytes())))
}
