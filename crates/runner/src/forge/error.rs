//! What can go wrong between us and the forge, named by what a person can do about it. Never
//! carries a token: what the API says is cleaned before it gets here.

use jiff::Timestamp;

#[derive(Debug, thiserror::Error)]
pub enum ForgeError {
    #[error("there is no token for `{host}`")]
    NoToken { host: String },
    #[error("the token for `{host}` has characters that cannot stand in an HTTP header")]
    BadToken { host: String },
    #[error("`{url}` is not the address of a GitHub repository: {reason}")]
    BadRemote { url: String, reason: &'static str },
    #[error("`{address}` cannot be used as the address of the API: {reason}")]
    BadApi { address: String, reason: &'static str },
    #[error("`{host}` does not let this token work with pull requests of `{repository}`: {reason}")]
    Unauthorized { host: String, repository: String, reason: String },
    #[error("`{host}` knows no repository `{repository}`, or hides it from this token")]
    NotFound { host: String, repository: String },
    #[error("`{host}` has `{repository}` under another name now")]
    Moved { host: String, repository: String },
    #[error("`{host}` refused the pull request: {message}")]
    Rejected { host: String, message: String },
    #[error("`{host}` answers no more requests until {until}")]
    RateLimited { host: String, until: Timestamp },
    #[error("`{host}` cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("`{host}` does not answer as GitHub does: {detail}")]
    Strange { host: String, detail: String },
    #[error("the HTTP client could not be set up")]
    Client(#[source] reqwest::Error),
}

impl ForgeError {
    /// What the person can do next, where there is something to do.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoToken { .. } => {
                "make a token: a fine-grained one with `Pull requests: read and write` for the repository, or a classic one with the scope `repo`"
            }
            Self::BadToken { .. } => "copy the token again, without spaces or line breaks",
            Self::BadRemote { .. } => {
                "pull requests need a remote such as `https://github.com/OWNER/REPO.git` or `git@github.com:OWNER/REPO.git`"
            }
            Self::BadApi { .. } => "use an https address such as `https://github.example.com/api/v3`",
            Self::Unauthorized { .. } => {
                "the token needs `Pull requests: read and write` for this repository (classic tokens: the scope `repo`, or `public_repo` for a public one); if the organisation uses single sign-on, authorise the token for it"
            }
            Self::NotFound { .. } => {
                "look at the remote with `git remote -v`; for a private repository the token must be given access to it"
            }
            Self::Moved { .. } => "set the new address with `git remote set-url`",
            Self::Rejected { .. } => "see to what it says and try again, or open the pull request by hand",
            Self::RateLimited { .. } => "wait until then and try again",
            Self::Unreachable { .. } => "check the network and try again: what was already done is found again",
            Self::Strange { .. } => "check the address of the remote, or set the address of the API",
            Self::Client(_) => return None,
        };
        Some(hint.to_owned())
    }
}
