//! Pushing a branch to the user's remote with the user's own credentials. Never forces, never
//! asks, never runs a hook; what happened is read from `--porcelain` where git says it there.

use std::time::Duration;

use super::run::{Call, Finished, redacted};
use super::{BranchName, CommitId, GitError, PrivateRepo, Remote, UserRepo};

const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    Pushed,
    AlreadyThere,
    /// The remote has other commits, or its rules say no.
    Rejected {
        reason: String,
    },
    /// The remote does not let this user in.
    Refused {
        reason: String,
    },
    /// The remote could not be reached, or not to the end: worth another try.
    Unreachable {
        reason: String,
    },
}

/// Pushes the commit as the branch of that name.
pub fn push_remote(
    private: &PrivateRepo,
    user: &UserRepo,
    remote: &Remote,
    branch: &BranchName,
    commit: &CommitId,
) -> Result<PushOutcome, GitError> {
    check_url(&remote.url)?;
    let mut call = Call::for_user(user.git_dir())
        .directory(user.top())
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", private.dir().join("objects"))
        .pin("http.lowSpeedLimit", "1000")
        .pin("http.lowSpeedTime", "60")
        .timeout(PATIENCE);
    if !has_own_ssh(user)? {
        call = call.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=15");
    }
    let pushed = call
        .args(["push", "--porcelain", "--no-verify", "--no-signed", "--no-follow-tags"])
        .args(["--no-force", "--recurse-submodules=no", "--"])
        .arg(&remote.url)
        .arg(format!("{commit}:{}", branch.full()))
        .finish();
    match pushed {
        Ok(finished) => Ok(outcome(&finished, &branch.full())),
        Err(GitError::TimedOut { seconds, .. }) => {
            Ok(PushOutcome::Unreachable { reason: format!("no answer within {seconds} seconds") })
        }
        // Also a remote may have no memory or space left, and says so in the same words as this machine.
        Err(GitError::Failed { stderr, .. }) => Ok(without_answer(&stderr)),
        Err(other) => Err(other),
    }
}

fn has_own_ssh(user: &UserRepo) -> Result<bool, GitError> {
    if std::env::var_os("GIT_SSH_COMMAND").is_some() {
        return Ok(true);
    }
    let set = Call::for_user(user.git_dir()).args(["config", "--get", "core.sshCommand"]).finish()?;
    Ok(set.found("config --get core.sshCommand")?.is_some())
}

/// Only ways of transport that run no program named by the URL.
fn check_url(url: &str) -> Result<(), GitError> {
    let refuse = |reason| {
        let url = redacted(url);
        Err(GitError::BadRemote { url, reason })
    };
    if url.is_empty() || url.starts_with('-') || url.chars().any(char::is_control) {
        return refuse("it is empty, starts with `-` or has control characters");
    }
    if url.contains("::") && !url.contains("://") && !url.contains('[') {
        return refuse("remote helpers are not used");
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(());
    };
    match scheme {
        "https" | "ssh" | "file" => {
            if rest.starts_with('-') {
                return refuse("its host starts with `-`");
            }
            Ok(())
        }
        "http" => {
            let host = rest.split('/').next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or_default();
            let local = ["localhost", "127.0.0.1", "[::1]"];
            let is_local = local
                .iter()
                .any(|name| host.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':')));
            match is_local {
                true => Ok(()),
                false => refuse("plain http would send credentials in the clear"),
            }
        }
        _ => refuse("its scheme is none of https, ssh, file"),
    }
}

/// `<flag>\t<from>:<to>\t<summary> (<reason>)`
fn outcome(finished: &Finished, reference: &str) -> PushOutcome {
    let text = String::from_utf8_lossy(&finished.stdout);
    let suffix = format!(":{reference}");
    for line in text.lines() {
        let mut fields = line.split('\t');
        let (Some(flag), Some(refs)) = (fields.next(), fields.next()) else {
            continue;
        };
        if !refs.ends_with(&suffix) {
            continue;
        }
        let reason = redacted(fields.next().unwrap_or_default());
        match flag {
            "=" => return PushOutcome::AlreadyThere,
            "!" => return PushOutcome::Rejected { reason },
            _ if finished.code == 0 => return PushOutcome::Pushed,
            _ => {}
        }
    }
    without_answer(&finished.stderr)
}

/// The connection failed before the remote spoke of the branch: only prose says how.
fn without_answer(stderr: &str) -> PushOutcome {
    let reason: String = stderr.chars().take(500).collect();
    let lower = reason.to_lowercase();
    let denied = [
        "authentication failed",
        "could not read username",
        "could not read password",
        "permission denied",
        "access denied",
        "invalid credentials",
        "returned error: 401",
        "returned error: 403",
        "repository not found",
        "host key verification failed",
        "does not appear to be a git repository",
    ];
    match denied.iter().any(|words| lower.contains(words)) {
        true => PushOutcome::Refused { reason },
        false => PushOutcome::Unreachable { reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_could_run_programs_are_refused() {
        for url in [
            "",
            "--upload-pack=x",
            "-x",
            "ext::sh -c x",
            "fd::3",
            "git://host/x",
            "ftp://h/x",
            "http://example.com/x",
            "http://localhost.evil.test/x",
            "ssh://-oProxyCommand=x/y",
            "https://h/\nx",
            "transport::address",
        ] {
            assert!(check_url(url).is_err(), "{url:?} was taken");
        }
        for url in [
            "https://github.com/a/b.git",
            "ssh://git@host/x",
            "git@host:a/b.git",
            "/srv/x.git",
            "../x.git",
            "file:///srv/x.git",
            "http://127.0.0.1:3000/x",
            "http://localhost/x",
        ] {
            assert!(check_url(url).is_ok(), "{url:?} was refused");
        }
    }

    #[test]
    fn prose_tells_a_closed_door_from_a_dead_line() {
        let refused = without_answer("fatal: Authentication failed for 'https://h/x'");
        assert!(matches!(refused, PushOutcome::Refused { .. }));
        let dead = without_answer("fatal: unable to access 'https://h/': Could not resolve host: h");
        assert!(matches!(dead, PushOutcome::Unreachable { .. }));
    }
}
