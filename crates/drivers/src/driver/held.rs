//! What needs a person's yes, for programs that cannot wait for one: written as rules of their own, so that they refuse
//! it. Pure. A command is told by its first words only; what is hidden well enough is not seen here.

/// Names of files that hold secrets, at any depth.
pub const SECRET_FILES: &[&str] = &[
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.keystore",
    "*.jks",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    "credentials",
    "credentials.*",
    "secrets.*",
    "*.kdbx",
    ".htpasswd",
    "service-account*.json",
];
/// Of those, the ones that only show what belongs there.
pub const HARMLESS_FILES: &[&str] = &["*.example", "*.sample", "*.template", "*.dist", "*.pub", "*.md"];

/// Commands that send work out, publish it, or harm the machine, by their first words.
pub(super) const COMMANDS: &[&str] = &[
    "git push",
    "cargo publish",
    "npm publish",
    "pnpm publish",
    "yarn publish",
    "poetry publish",
    "uv publish",
    "flit publish",
    "hatch publish",
    "lerna publish",
    "twine upload",
    "gem push",
    "docker push",
    "podman push",
    "helm push",
    "dotnet push",
    "mkfs",
    "fdisk",
    "parted",
    "wipefs",
    "shutdown",
    "reboot",
    "halt",
    "poweroff",
];

/// What a program is told that wanted to do one of these.
pub(super) const REFUSED: &str = "Holdpoint does not let this be done here without a person's yes, and you cannot wait \
                                  for one. Go on without it, and say in what you hand in that it is left to do.";

/// Whether what is changed in the workspace is taken from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// It is.
    Kept,
    /// The role only looks.
    Lost,
}

/// A glob as a regular expression without anchors. No group is followed by a quantifier: Gemini CLI takes those for
/// dangerous and leaves the rule out.
pub(super) fn regex_of(glob: &str) -> String {
    let mut regex = String::new();
    let mut characters = glob.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' if characters.next_if_eq(&'*').is_some() => regex.push_str(r#"[^"]*"#),
            '*' => regex.push_str(r#"[^/\s"]*"#),
            '?' => regex.push_str(r#"[^/\s"]"#),
            plain => regex.push_str(&escaped(plain)),
        }
    }
    regex
}

fn escaped(character: char) -> String {
    if character.is_ascii_alphanumeric() || !character.is_ascii() || matches!(character, '/' | '_' | '-' | ' ') {
        character.to_string()
    } else {
        format!("\\{character}")
    }
}

/// Any one of them.
pub(super) fn any_of<'a>(globs: impl IntoIterator<Item = &'a str>) -> String {
    let all: Vec<String> = globs.into_iter().map(regex_of).collect();
    format!("({})", all.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_becomes_an_expression_that_means_the_same() {
        assert_eq!(regex_of(".env.*"), r#"\.env\.[^/\s"]*"#);
        assert_eq!(regex_of("deploy/**/x?.tf"), r#"deploy/[^"]*/x[^/\s"]\.tf"#);
        assert_eq!(regex_of("a+(b)"), r"a\+\(b\)");
        assert_eq!(any_of(["*.pem", "b"]), r#"([^/\s"]*\.pem|b)"#);
    }
}
