//! What every handler has at hand.

use std::sync::Arc;
use std::time::Duration;

use domain::RunId;
use engine::{Engine, Store, StoreError};
use jiff::Timestamp;
use store::{Diary, Post};
use wire::Fault;

use crate::channels::Channels;
use crate::config::Setup;
use crate::gate::{Given, TokenFile, TokenUnreadable};
use crate::idle::Door;
use crate::ledger::Ledger;
use crate::metrics::Tally;
use crate::news::News;
use crate::notify::Bureau;
use crate::once::Answering;
use crate::people::{Codes, Holder, People};
use crate::place::Place;
use crate::problem::Failure;
use crate::scope::{Caller, Scope};
use crate::shelf::Shelf;

/// What an [`App`] is made of.
pub struct AppParts {
    /// The one door for changes.
    pub engine: Engine,
    /// What may be looked at.
    pub shelf: Arc<dyn Shelf>,
    /// What agents and people said.
    pub diary: Arc<Diary>,
    /// What came in with a key, and what goes out.
    pub post: Arc<Post>,
    /// Defaults, providers and scripts.
    pub setup: Setup,
    /// The owner's token.
    pub token: TokenFile,
    /// The token of agents that speak for the owner: it reads and starts runs, and decides nothing.
    pub agent_token: TokenFile,
    /// Who else may come in.
    pub people: People,
    /// The name the owner's decisions are written down under.
    pub user: String,
    /// Where it answers.
    pub place: Place,
    /// How much a live client may lag.
    pub live: LiveLimits,
}

/// How much a live client may lag.
#[derive(Debug, Clone, Copy)]
pub struct LiveLimits {
    /// Events it may be behind before it is given a snapshot instead.
    pub backlog: u64,
    /// How long one message may take to be sent before the client counts as slow.
    pub slow: Duration,
    /// How long one message may take before the client is given up.
    pub lost: Duration,
    /// How often a silent client is asked whether it still lives.
    pub ping: Duration,
    /// Messages kept for all clients together; who falls further behind reads on from the store.
    pub ring: usize,
}

impl Default for LiveLimits {
    fn default() -> Self {
        Self {
            backlog: 10_000,
            slow: Duration::from_secs(5),
            lost: Duration::from_secs(30),
            ping: Duration::from_secs(20),
            // A few seconds of a busy server, in a megabyte or two.
            ring: 1024,
        }
    }
}

/// What every handler has at hand; cheap to clone.
#[derive(Clone)]
pub struct App {
    pub(crate) engine: Engine,
    pub(crate) shelf: Arc<dyn Shelf>,
    pub(crate) diary: Arc<Diary>,
    pub(crate) post: Arc<Post>,
    pub(crate) answering: Answering,
    pub(crate) bureau: Arc<Bureau>,
    pub(crate) channels: Channels,
    pub(crate) setup: Arc<Setup>,
    token: Arc<TokenFile>,
    agent_token: Arc<TokenFile>,
    pub(crate) people: Arc<People>,
    pub(crate) codes: Arc<Codes>,
    pub(crate) user: Arc<str>,
    pub(crate) door: Door,
    /// Live clients, who are also inside the door.
    pub(crate) watchers: Door,
    pub(crate) tally: Arc<Tally>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) news: Arc<News>,
    pub(crate) live: LiveLimits,
    pub(crate) place: Arc<Place>,
}

impl App {
    /// Puts the parts together.
    #[must_use]
    pub fn new(parts: AppParts) -> Self {
        let door = Door::new();
        let tally = Arc::new(Tally::from(*parts.engine.positions().borrow()));
        let news = Arc::new(News::new(Arc::clone(parts.engine.store()), parts.engine.positions(), parts.live.ring));
        let channels = Channels::new(Arc::clone(&parts.diary), Arc::clone(&parts.shelf), door.clone());
        Self {
            engine: parts.engine,
            shelf: parts.shelf,
            channels,
            diary: parts.diary,
            post: parts.post,
            answering: Answering::default(),
            bureau: Arc::new(Bureau::new(&parts.setup.notify)),
            setup: Arc::new(parts.setup),
            token: Arc::new(parts.token),
            agent_token: Arc::new(parts.agent_token),
            people: Arc::new(parts.people),
            codes: Arc::new(Codes::default()),
            user: parts.user.into(),
            door,
            watchers: Door::new(),
            tally,
            ledger: Arc::default(),
            news,
            live: parts.live,
            place: Arc::new(parts.place),
        }
    }

    /// Begins to tell whoever wants to be told; ends with the engine.
    pub async fn begin_telling(&self) {
        if let Err(failure) = self.bureau.open(self).await {
            tracing::warn!(?failure, "nobody can be told of anything");
        }
    }

    /// Where it answers programs on this machine.
    #[must_use]
    pub fn url(&self) -> String {
        self.place.url()
    }

    /// Who comes with this; nobody where it is no token and no session of ours. Looked up anew each time, so that what
    /// was taken back stops working at once.
    ///
    /// # Errors
    /// When a token file cannot be read that decides about it. A user's own token needs none of them.
    pub(crate) fn caller(&self, given: &Given) -> Result<Option<Caller>, TokenUnreadable> {
        match given {
            Given::Token(text) => self.caller_with_token(text),
            Given::Session(secret) => match self.people.session(secret, Timestamp::now()) {
                Some(holder) => self.caller_of(&holder),
                None => Ok(None),
            },
        }
    }

    fn caller_with_token(&self, text: &str) -> Result<Option<Caller>, TokenUnreadable> {
        if let Some((name, role)) = self.people.with_token(text) {
            return Ok(Some(Caller { name: name.into(), scope: Scope::User(role) }));
        }
        let owner = |scope| Ok(Some(Caller { name: Arc::clone(&self.user), scope }));
        let (owners, agents) = (self.token.admits(text), self.agent_token.admits(text));
        match (owners, agents) {
            (Ok(true), _) => owner(Scope::Owner),
            (_, Ok(true)) => owner(Scope::Agent),
            (Err(error), _) | (_, Err(error)) => Err(error),
            (Ok(false), Ok(false)) => Ok(None),
        }
    }

    /// Who a login is for, if it is still good for anybody.
    pub(crate) fn caller_of(&self, holder: &Holder) -> Result<Option<Caller>, TokenUnreadable> {
        match holder {
            // Who replaces the owner's token ends what was done with it.
            Holder::Owner(mark) => {
                let same = self.token.mark()?.as_ref() == Some(mark);
                Ok(same.then(|| Caller { name: Arc::clone(&self.user), scope: Scope::Owner }))
            }
            Holder::User(name) => {
                let role = self.people.role(name);
                Ok(role.map(|role| Caller { name: name.as_str().into(), scope: Scope::User(role) }))
            }
        }
    }

    /// The login of a user, as far as the caller may let them in: the owner only by the owner's own token.
    pub(crate) fn holder(&self, user: &str, caller: &Caller) -> Result<Option<Holder>, TokenUnreadable> {
        if *self.user == *user {
            return Ok(self.token.mark()?.filter(|_| caller.scope == Scope::Owner).map(Holder::Owner));
        }
        Ok(self.people.role(user).map(|_| Holder::User(user.to_owned())))
    }

    /// Reads from the store on a thread that may block.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Failure> {
        let store = Arc::clone(self.engine.store());
        let joined = tokio::task::spawn_blocking(move || read(store.as_ref())).await;
        Ok(joined.map_err(|_| Failure::bug("reading the database broke off"))??)
    }

    /// The run that a unique beginning of its id means.
    pub(crate) async fn find(&self, given: &str) -> Result<RunId, Failure> {
        let prefix = given.to_ascii_lowercase();
        let shown: String = given.chars().filter(|c| !c.is_control()).take(40).collect();
        let plausible = !prefix.is_empty()
            && prefix.len() <= 13
            && prefix.bytes().all(|byte| byte == b'-' || RunId::ALPHABET.contains(&byte));
        let mut found = match plausible {
            true => self.read(move |store| store.ids_with_prefix(&prefix, 6)).await?,
            false => Vec::new(),
        };
        match found.len() {
            0 => {
                let message = format!("there is no run `{shown}`");
                Err(Failure::new(Fault::Missing, "no_such_run", message, "see `holdpoint list` for the runs there are"))
            }
            1 => Ok(found.swap_remove(0)),
            count => {
                let ids: Vec<_> = found.iter().take(5).map(RunId::as_str).collect();
                let more = if count > 5 { " and more" } else { "" };
                let message = format!("`{shown}` could be {}{more}", ids.join(", "));
                Err(Failure::user("id", "ambiguous_id", message, "give more of the id"))
            }
        }
    }

    /// The run itself, by a unique beginning of its id.
    pub(crate) async fn load(&self, given: &str) -> Result<domain::Run, Failure> {
        let id = self.find(given).await?;
        let loaded = self.engine.load(&id).await;
        if let Some(report) = self.engine.quarantined(&id) {
            return Err(Failure::quarantined(&report));
        }
        let run = loaded?;
        run.ok_or_else(|| Failure::bug(format!("run {id} has a row and no events")))
    }
}
