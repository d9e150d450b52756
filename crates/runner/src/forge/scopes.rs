//! Scopes of a classic token, as GitHub names them in `X-OAuth-Scopes`: those beyond what pull requests need. A fine-grained
//! token has none, and the header is missing then.

/// The header that names them.
pub(super) const HEADER: &str = "x-oauth-scopes";

/// What is known of the repository that the token is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Everybody can read it: `public_repo` is enough.
    Public,
    /// Only some can read it, or it is not known.
    Private,
}

/// Scopes that a token has, from the header's text.
pub(super) fn parse(header: &str) -> Vec<String> {
    let plain = |scope: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'_' | b'-' | b'.');
        !scope.is_empty() && scope.len() <= 60 && scope.bytes().all(allowed)
    };
    let mut scopes: Vec<String> = header.split(',').map(str::trim).filter(plain).map(str::to_owned).collect();
    scopes.truncate(100);
    scopes
}

/// Those that pull requests do not need.
#[must_use]
pub fn excess(scopes: &[String], visibility: Visibility) -> Vec<String> {
    let needed: &[&str] = match visibility {
        Visibility::Public => &["public_repo"],
        Visibility::Private => &["repo", "public_repo"],
    };
    scopes.iter().filter(|scope| !needed.contains(&scope.as_str())).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(header: &str, visibility: Visibility, expected: &[&str]) {
        assert_eq!(excess(&parse(header), visibility), expected);
    }

    #[test]
    fn what_pull_requests_do_not_need_is_too_much() {
        check("repo", Visibility::Private, &[]);
        check("", Visibility::Private, &[]);
        check("public_repo", Visibility::Public, &[]);
        check("repo", Visibility::Public, &["repo"]);
        let much = "admin:org, delete_repo, repo, workflow, write:packages";
        check(much, Visibility::Private, &["admin:org", "delete_repo", "workflow", "write:packages"]);
    }

    #[test]
    fn a_hostile_header_is_no_text_of_ours() {
        check("a b, \u{1b}[2J, repo,,workflow", Visibility::Private, &["workflow"]);
        assert_eq!(parse(&"x,".repeat(10_000)).len(), 100);
    }
}
