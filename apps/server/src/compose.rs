//! Puts everything together. The only place that sees concrete stores, hands and secrets.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{DiarySink, Engine, NodeId, Parts, Slots, Store, StoreError};
use jiff::Timestamp;
use runner::{ForgeSettings, Hands, HandsConfig, ServerSecrets};
use store::{Diary, Post, Sqlite};

use crate::app::{App, AppParts, LiveLimits};
use crate::config::Setup;
use crate::gate::TokenFile;
use crate::home::Home;
use crate::people::People;
use crate::place::Place;

/// What differs from server to server.
pub(crate) struct Wishes {
    pub(crate) token: PathBuf,
    pub(crate) agent_token: PathBuf,
    pub(crate) people: People,
    pub(crate) setup: Setup,
    pub(crate) forge: ForgeSettings,
    pub(crate) program: PathBuf,
    pub(crate) agents: usize,
    pub(crate) user: String,
    pub(crate) place: Place,
    pub(crate) secrets: ServerSecrets,
}

/// Opens the database and starts the engine. Blocks.
pub(crate) fn compose(home: &Home, wishes: Wishes) -> Result<App, StoreError> {
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&home.database())?);
    let diary = Arc::new(open_or_begin(&home.conversations(), Diary::open)?);
    let post = Arc::new(open_or_begin(&home.post(), Post::open)?);
    let scribe = Arc::clone(&diary);
    let hands = Hands::new(HandsConfig {
        home: home.path().to_owned(),
        program: wishes.program,
        models: wishes.setup.models.clone(),
        mcp: wishes.setup.mcp.clone(),
        direct: wishes.setup.direct.clone(),
        isolation: wishes.setup.isolation.clone(),
        forge: wishes.forge,
        secrets: own_secrets(wishes.secrets, &wishes.token, &wishes.agent_token, &wishes.setup),
        store: Arc::clone(&store),
        diary: DiarySink(Arc::new(move |page| scribe.keep(page))),
    });
    let engine = Engine::start(Parts {
        store,
        runner: hands.clone(),
        clock: Arc::new(Timestamp::now),
        slots: Slots { heavy: wishes.agents.max(1), light: 8 },
        entry: wishes.setup.entry,
        node: NodeId(format!("{}-{:08x}", std::process::id(), rand::random::<u32>())),
        // The lock on the data directory is held.
        sole_process: true,
    })?;
    Ok(App::new(AppParts {
        engine,
        shelf: hands,
        diary,
        post,
        setup: wishes.setup,
        token: TokenFile::new(wishes.token),
        agent_token: TokenFile::new(wishes.agent_token),
        people: wishes.people,
        user: wishes.user,
        place: wishes.place,
        live: LiveLimits::default(),
    }))
}

/// What the server holds for itself. A token file that cannot be read is told of where it is used.
fn own_secrets(secrets: ServerSecrets, token: &Path, agent_token: &Path, setup: &Setup) -> ServerSecrets {
    for (name, path) in [("the token of this server", token), ("the token of agents (mcp-token)", agent_token)] {
        if let Ok(text) = std::fs::read_to_string(path) {
            secrets.add(name, &text);
        }
    }
    for webhook in &setup.notify.webhooks {
        secrets.add(&format!("the secret of the webhook `{}`", webhook.name), &webhook.secret.hand_over());
    }
    secrets
}

/// No run depends on these: a damaged file is put aside, not a reason to stay down.
fn open_or_begin<T>(path: &Path, open: impl Fn(&Path) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let damage = match open(path) {
        Err(StoreError::Damaged(damage)) => damage,
        opened => return opened,
    };
    let aside = path.with_extension(format!("damaged-{}", Timestamp::now().as_second()));
    tracing::warn!(%damage, aside = %aside.display(), "a file cannot be read and is put aside");
    std::fs::rename(path, &aside).map_err(|error| StoreError::ReadOnly(format!("`{}`: {error}", path.display())))?;
    open(path)
}

/// The name decisions are written down under.
pub(crate) fn user(environment: &BTreeMap<String, String>) -> String {
    let named = ["USER", "LOGNAME"].iter().filter_map(|name| environment.get(*name));
    let plain = named.map(|name| name.chars().filter(|c| !c.is_control()).take(64).collect::<String>());
    plain.into_iter().find(|name| !name.trim().is_empty()).unwrap_or_else(|| "local".to_owned())
}
