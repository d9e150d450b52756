//! Which upstreams an agent may use: settings and scripts become the broker's grant.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use broker::purses::SharedPurse;
use broker::{
    EmbeddingsGrant, Grant, HostedFeatures, Limits, PriceTable, RetryPolicy, Script, SearchGrant, Secret, Upstream,
    UpstreamKind,
};
use domain::{ModelName, Run, Session};
use drivers::ModelDoor;

use crate::provider_keys::KeyCommands;
use crate::purses::SharedLimits;

/// Everything the server knows about models. Holds keys: its `Debug` shows none.
#[derive(Clone)]
pub struct Models {
    /// Provider to where it is and how to get in.
    pub upstreams: BTreeMap<String, UpstreamSettings>,
    /// Name of a scripted model to its file.
    pub scripts: BTreeMap<String, PathBuf>,
    /// What tokens cost.
    pub prices: PriceTable,
    /// Where agents may look words up on the web; `None`: nowhere.
    pub search: Option<SearchGrant>,
    /// The model that makes vectors of texts; `None`: none does.
    pub embeddings: Option<ModelName>,
    /// What runs may spend together.
    pub shared: SharedLimits,
    /// Commands that print the keys of providers; their keys go before those of `upstreams`.
    pub keys: KeyCommands,
}

/// One provider.
#[derive(Debug, Clone)]
pub struct UpstreamSettings {
    /// Which protocol it speaks.
    pub kind: UpstreamKind,
    /// Its address.
    pub base_url: String,
    /// Its key; empty for servers that want none.
    pub key: Secret,
    /// What all attempts of this machine together may ask of it.
    pub limits: Limits,
    /// What it may do for agents outside this machine.
    pub hosted: HostedFeatures,
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Models")
            .field("upstreams", &self.upstreams.keys())
            .field("scripts", &self.scripts.keys())
            .finish()
    }
}

/// A model that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Nobody knows the provider.
    #[error("no provider `{provider}` is configured")]
    UnknownProvider {
        /// The provider.
        provider: String,
        /// What to set.
        hint: String,
    },
    /// The command for the key gave none.
    #[error("there is no key for `{provider}`: {reason}")]
    NoKey {
        /// The provider.
        provider: String,
        /// Why.
        reason: String,
        /// What to do.
        hint: String,
    },
    /// There is no such script.
    #[error("there is no script `{0}`")]
    UnknownScript(String),
    /// The script cannot be read.
    #[error("the script `{name}` cannot be used: {reason}")]
    BadScript {
        /// Its name.
        name: String,
        /// Why.
        reason: String,
    },
}

impl ModelError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownProvider { hint, .. } | Self::NoKey { hint, .. } => hint.clone(),
            Self::UnknownScript(name) => format!("put it at `scripts/{name}.toml` in the data directory"),
            Self::BadScript { .. } => "mend the script file and try again".to_owned(),
        }
    }
}

impl Models {
    /// Whether the model can be used at all.
    pub fn check(&self, model: &ModelName) -> Result<(), ModelError> {
        self.upstream_with(model, Secret::default()).map(drop)
    }

    /// Whether the cost of the model's tokens is known.
    #[must_use]
    pub fn has_price(&self, model: &ModelName) -> bool {
        self.prices.find(model.provider(), model.model()).is_some()
    }

    /// Has the keys of these models' providers fetched, where commands print them. Grants say why one is missing.
    pub(crate) async fn fetch_keys<'a>(&self, models: impl IntoIterator<Item = &'a ModelName>) {
        let mut providers: BTreeSet<&str> = models.into_iter().map(ModelName::provider).collect();
        providers.extend(self.embeddings.as_ref().map(ModelName::provider));
        for provider in providers {
            self.keys.fetch(provider).await;
        }
    }

    /// The models of a role failed: the next attempt asks for their keys anew.
    pub(crate) fn forget_keys(&self, run: &Run, role: &str) {
        for model in run.model(role).into_iter().chain(run.fallbacks(role)) {
            self.keys.forget(model.provider());
        }
    }

    /// What one attempt may ask of models.
    pub(crate) fn grant(
        &self,
        run: &Run,
        session: &Session,
        attempt: &str,
        limits: GrantLimits,
    ) -> Result<Grant, ModelError> {
        let who = Who { run: run.id.as_str(), attempt, role: &session.role, visit: session.visit };
        self.grant_to(&who, run.model(&session.role).into_iter().chain(run.fallbacks(&session.role)), limits)
    }

    /// The same for a program with its own login: no model is asked here for it.
    pub(crate) fn grant_nothing(
        &self,
        run: &Run,
        session: &Session,
        attempt: &str,
        limits: GrantLimits,
    ) -> Result<Grant, ModelError> {
        let who = Who { run: run.id.as_str(), attempt, role: &session.role, visit: session.visit };
        self.grant_to(&who, [], limits)
    }

    /// The same for somebody who belongs to no run.
    pub(crate) fn grant_to<'a>(
        &self,
        who: &Who<'_>,
        models: impl IntoIterator<Item = &'a ModelName>,
        limits: GrantLimits,
    ) -> Result<Grant, ModelError> {
        let mut upstreams: Vec<Upstream> = Vec::new();
        for model in models {
            let mut upstream = self.upstream(model)?;
            upstream.script = upstream.script.map(|script| {
                let log = limits.home.join("scripted").join(format!("{}.jsonl", script.name().replace('/', "-")));
                script.logging_to(log)
            });
            let script = |upstream: &Upstream| upstream.script.as_ref().map(|script| script.name().to_owned());
            let same =
                |other: &&mut Upstream| other.provider == upstream.provider && script(other) == script(&upstream);
            match upstreams.iter_mut().find(same) {
                Some(known) => known.models.extend(upstream.models),
                None => upstreams.push(upstream),
            }
        }
        Ok(Grant {
            run: who.run.to_owned(),
            attempt: who.attempt.to_owned(),
            role: who.role.to_owned(),
            visit: who.visit,
            upstreams,
            limit: limits.envelope.map(|envelope| broker::Micros(envelope.0)),
            ask_after: limits.ask_after.map(|after| broker::Micros(after.0)),
            purses: limits.purses,
            purses_folder: Some(limits.home.join("spend")),
            retry: RetryPolicy { attempts: limits.retries.max(1), ..RetryPolicy::default() },
            max_calls: None,
            search: self.search.clone(),
            embeddings: self.embeddings.as_ref().map(|model| self.embeddings_with(model)).transpose()?,
            mcp: Vec::new(),
            direct: None,
            limits_folder: Some(limits.home.join("providers")),
        })
    }

    /// The upstream that makes vectors, apart from those an agent may talk to.
    pub(crate) fn embeddings_with(&self, model: &ModelName) -> Result<EmbeddingsGrant, ModelError> {
        Ok(EmbeddingsGrant { upstream: self.upstream(model)?, model: model.model().to_owned() })
    }

    /// Whether a model can make vectors: its provider is set up, and speaks the protocol for it.
    ///
    /// # Errors
    /// Why not, for people.
    pub fn check_embeddings(&self, model: &ModelName) -> Result<(), String> {
        let upstream = self.upstream_with(model, Secret::default());
        let upstream = upstream.map_err(|error| format!("{error}; {}", error.hint()))?;
        let grant = EmbeddingsGrant { upstream, model: model.model().to_owned() };
        grant.check().map_err(|error| error.to_string())
    }

    /// How each provider is spoken to.
    pub(crate) fn doors(&self) -> BTreeMap<String, ModelDoor> {
        let door = |kind: UpstreamKind| match kind {
            UpstreamKind::Anthropic => ModelDoor::Messages,
            UpstreamKind::OpenAi | UpstreamKind::Scripted => ModelDoor::Chat,
            UpstreamKind::Gemini => ModelDoor::Gemini,
        };
        self.upstreams.iter().map(|(name, settings)| (name.clone(), door(settings.kind))).collect()
    }

    fn upstream(&self, model: &ModelName) -> Result<Upstream, ModelError> {
        let provider = model.provider();
        let key = match self.keys.key(provider) {
            Some(key) => key.map_err(|(reason, hint)| {
                let provider = provider.to_owned();
                ModelError::NoKey { provider, reason, hint }
            })?,
            None => self.upstreams.get(provider).map(|settings| settings.key.clone()).unwrap_or_default(),
        };
        self.upstream_with(model, key)
    }

    fn upstream_with(&self, model: &ModelName, key: Secret) -> Result<Upstream, ModelError> {
        let provider = model.provider();
        let prices = self.prices.for_provider(provider);
        if provider == "scripted" {
            let script = Some(self.script(model.model())?);
            let kind = UpstreamKind::Scripted;
            return Ok(Upstream {
                provider: provider.to_owned(),
                kind,
                base_url: String::new(),
                key: Secret::default(),
                script,
                prices,
                models: Vec::new(),
                hosted: HostedFeatures::default(),
                limits: Limits::default(),
            });
        }
        let settings = self.upstreams.get(provider).ok_or_else(|| unknown(provider))?;
        Ok(Upstream {
            provider: provider.to_owned(),
            kind: settings.kind,
            base_url: settings.base_url.clone(),
            key,
            script: None,
            prices,
            models: vec![model.model().to_owned()],
            hosted: settings.hosted.clone(),
            limits: settings.limits,
        })
    }

    fn script(&self, name: &str) -> Result<Script, ModelError> {
        let path = self.scripts.get(name).ok_or_else(|| ModelError::UnknownScript(name.to_owned()))?;
        let bad = |reason: String| ModelError::BadScript { name: name.to_owned(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
        Script::parse(&text, name).map_err(|error| bad(error.to_string()))
    }
}

/// Who asks models.
pub(crate) struct Who<'a> {
    pub(crate) run: &'a str,
    pub(crate) attempt: &'a str,
    pub(crate) role: &'a str,
    pub(crate) visit: u32,
}

/// What bounds a grant.
pub(crate) struct GrantLimits {
    pub(crate) envelope: Option<domain::Micros>,
    pub(crate) ask_after: Option<domain::Micros>,
    pub(crate) purses: Vec<SharedPurse>,
    pub(crate) retries: u32,
    /// Below it the attempts of this machine count their calls and their money together.
    pub(crate) home: PathBuf,
}

fn unknown(provider: &str) -> ModelError {
    let variable = provider.to_uppercase().replace('-', "_");
    let hint = format!("set {variable}_API_KEY (and {variable}_BASE_URL for another address) where the server runs");
    ModelError::UnknownProvider { provider: provider.to_owned(), hint }
}

/// A grant that allows no model call, for processes that are not agents.
pub(crate) fn nothing(effect: &domain::EffectId) -> Grant {
    Grant {
        run: effect.run.to_string(),
        attempt: effect.to_string(),
        role: "check".to_owned(),
        visit: 1,
        upstreams: Vec::new(),
        limit: None,
        ask_after: None,
        purses: Vec::new(),
        purses_folder: None,
        retry: RetryPolicy::default(),
        max_calls: Some(0),
        search: None,
        embeddings: None,
        mcp: Vec::new(),
        direct: None,
        limits_folder: None,
    }
}
