//! Text of strangers that a new run begins with, and whom the user trusts. A repository has no say in either.

use domain::{Brought, RunConfig, Start, TaintKind, TaintSource, TrustedBy, TrustedSource};
use wire::{NewRun, StrangersText};

use super::plain;
use crate::config::Setup;
use crate::problem::Failure;

/// What is said with the request.
pub(super) fn brought(new: &NewRun) -> Result<Vec<Brought>, Failure> {
    if new.from.len() > TaintSource::MOST {
        let message = format!("{} sources are too many", new.from.len());
        return Err(refuse(message, &format!("name at most {}", TaintSource::MOST)));
    }
    let mut all: Vec<Brought> = Vec::new();
    for said in &new.from {
        let source = source(said)?;
        if let Some(text) = &said.text {
            Start::check_request(text, true).map_err(|reason| {
                let reason = reason.replacen("the request", "the text of strangers", 1);
                refuse(reason, "shorten it, or put it in a file of the repository")
            })?;
        }
        if all.iter().any(|known| known.source == source) {
            return Err(refuse(format!("`{}` is named twice", plain(&source.source)), "name each source once"));
        }
        all.push(Brought { source, text: said.text.clone().filter(|text| !text.trim().is_empty()) });
    }
    Ok(all)
}

fn source(said: &StrangersText) -> Result<TaintSource, Failure> {
    let name = said.source.trim();
    if name.is_empty() || name.len() > TaintSource::MAX_NAME || name.chars().any(char::is_control) {
        let message = format!("a source has a name of 1 to {} bytes in one line", TaintSource::MAX_NAME);
        return Err(refuse(message, "give its address, or a few words"));
    }
    let told = TaintSource::named(name);
    let kind = match said.kind.as_deref() {
        None => told.kind,
        Some("issue") => TaintKind::Issue,
        Some("comment") => TaintKind::Comment,
        Some("page") => TaintKind::Page,
        Some("other") => TaintKind::Other,
        Some(kind) => {
            let message = format!("`{}` is no kind of source", plain(kind));
            return Err(refuse(message, "use `issue`, `comment`, `page` or `other`, or leave it out"));
        }
    };
    Ok(TaintSource { kind, ..told })
}

/// A login is a secret: who has one does not begin with text of strangers.
pub(super) fn check_logins(config: &RunConfig) -> Result<(), Failure> {
    let untrusted = config.from.iter().find(|brought| !config.trusts(&brought.source));
    let (Some(brought), Some(role)) = (untrusted, config.direct.first()) else { return Ok(()) };
    let message = format!(
        "the {role} would work with a login of yours, and the run begins with text of strangers: {}",
        plain(&brought.source.words())
    );
    let hint = "use a program that goes through the broker, or `--trust-source` if you trust the text";
    Err(refuse(message, hint))
}

/// The user's file first, then what is said with the request.
pub(super) fn trusted(setup: &Setup, new: &NewRun) -> Vec<TrustedSource> {
    let by = TrustedBy::Configuration;
    let known = setup.defaults.trusted_sources.iter().map(|source| TrustedSource { source: source.clone(), by });
    let said = new.trust_sources.unwrap_or(false);
    let all = said.then(|| TrustedSource { source: TrustedSource::ALL.to_owned(), by: TrustedBy::Request });
    known.chain(all).collect()
}

fn refuse(message: impl Into<String>, hint: &str) -> Failure {
    Failure::user("from", "bad_source", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(source: &str, kind: Option<&str>, text: Option<&str>) -> StrangersText {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        StrangersText { source: source.to_owned(), kind: owned(kind), text: owned(text) }
    }

    fn read(from: Vec<StrangersText>) -> Result<Vec<Brought>, Failure> {
        brought(&NewRun { from, ..NewRun::default() })
    }

    #[test]
    fn a_source_is_what_it_is_said_to_be_or_what_its_address_tells() {
        let issue = "https://github.com/a/b/issues/1";
        let all = read(vec![said(issue, None, Some("It fails")), said("mail", Some("comment"), Some(" "))]).unwrap();
        let told: Vec<_> = all.iter().map(|brought| (brought.source.kind, brought.text.as_deref())).collect();
        assert_eq!(told, [(TaintKind::Issue, Some("It fails")), (TaintKind::Comment, None)]);
    }

    #[test]
    fn what_cannot_be_a_source_is_refused() {
        for bad in [
            said(" ", None, None),
            said("a\nb", None, None),
            said(&"x".repeat(501), None, None),
            // These are found out, not said.
            said("docs", Some("mcp"), None),
            said("a", Some("search"), None),
            said("a", None, Some("a\u{1b}[2J")),
        ] {
            assert!(read(vec![bad.clone()]).is_err(), "{bad:?}");
        }
        assert!(read(vec![said("a", None, None), said("a", None, None)]).is_err());
        assert!(read((0..51).map(|n| said(&format!("a{n}"), None, None)).collect()).is_err());
    }

    #[test]
    fn a_login_and_text_of_strangers_do_not_go_together_unless_it_is_trusted() {
        let brought = Brought { source: TaintSource::named("https://forge.example/a/b/issues/7"), text: None };
        let direct = ["implementer".to_owned()].into_iter().collect();
        let least = serde_json::json!({
            "trust": {"planning": "manual", "implementation": "manual", "fixes": "manual"}, "maxClarifications": 1,
            "models": {}, "timeoutMinutes": {}, "checks": [], "excludePaths": [], "requireApproval": [],
            "git": {"baseBranch": "main", "autoMerge": false, "push": true},
        });
        let least: RunConfig = serde_json::from_value(least).unwrap();
        let config = RunConfig { from: vec![brought], direct, ..least };
        let told = format!("{:?}", check_logins(&config).unwrap_err());
        assert!(told.contains("implementer") && told.contains("issues/7") && told.contains("--trust-source"), "{told}");
        let trusted = vec![TrustedSource { source: TrustedSource::ALL.to_owned(), by: TrustedBy::Request }];
        assert!(check_logins(&RunConfig { trusted, ..config.clone() }).is_ok());
        assert!(check_logins(&RunConfig { from: Vec::new(), ..config }).is_ok());
    }
}
