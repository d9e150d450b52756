//! Names derived from a request: slug and branch.

use crate::{Parent, RunId, SecretScanner};

/// A short, safe name from free text: `Add login with OAuth!` becomes `add-login-with-oauth`.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().take(400) {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 40 {
            break;
        }
    }
    // Prefer whole words: a cut word at the end reads badly in a branch list.
    if slug.len() >= 40
        && let Some(at) = slug.rfind('-')
        && at >= 20
    {
        slug.truncate(at);
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "run".to_owned() } else { slug.to_owned() }
}

/// The branch a run works on. It is pushed and shown, so what looks like a secret in the request is not in it.
#[must_use]
pub fn branch_name(id: &RunId, request: &str) -> String {
    format!("autonomous/{}-{}", id.short(), slug(&SecretScanner::default().redact(request)))
}

/// The branch a child run works on: its parent's, with the task's number.
#[must_use]
pub fn child_branch_name(parent: &Parent) -> String {
    let again = if parent.attempt > 1 { format!("-{}", parent.attempt) } else { String::new() };
    format!("{}-task-{}{again}", parent.branch, parent.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(slug(text), expected);
    }

    #[test]
    fn a_branch_name_holds_no_secret_of_the_request() {
        let token = ["gh", "p_q7Zt1Lw9Xc3Vb5Nm2Kj8Hg4Fd6Sa0Pr1Ty3u"].concat();
        let name = branch_name(&RunId::from_bits(7), &format!("{token} goes into the note"));
        assert!(name.ends_with("redacted-github-token-goes-into-the"), "{name}");
    }

    #[test]
    fn a_slug_is_lower_case_words_joined_by_dashes() {
        check("Add login with OAuth!", "add-login-with-oauth");
        check("  --upload-pack=x ../../etc ", "upload-pack-x-etc");
    }

    #[test]
    fn a_request_without_latin_letters_still_has_a_slug() {
        check("登录", "run");
        check("", "run");
    }

    #[test]
    fn a_long_request_is_cut_at_a_word() {
        check("please refactor the whole of the billing subsystem now", "please-refactor-the-whole-of-the");
    }
}
