//! What holds unless a request says otherwise: from the environment, then the user's `config.toml`.
//! The repository's own file is read per run and can only tighten.

mod direct;
mod environment;
mod isolation;
mod limits;
mod mcp;
mod notify;
mod project;
mod providers;
mod told;
mod user;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use broker::PriceTable;
use domain::{AgentProgram, Gate, Micros, ModelName, TrustKey};
use engine::EntryRule;
use jiff::SignedDuration;
use runner::{DirectAgents, KeyCommands, McpServers, Models};

use crate::notify::Notify;
use crate::retention;

pub(crate) use project::ProjectFile;
pub(crate) use providers::{check_model, default_model, known, model_list, with_provider};
pub use told::Told;

/// Everything the server was set up with.
#[derive(Clone)]
pub struct Setup {
    /// The data directory.
    pub home: PathBuf,
    /// What holds unless a request says otherwise.
    pub defaults: Defaults,
    /// When a queued run is let in.
    pub entry: EntryRule,
    /// Providers and scripts.
    pub models: Models,
    /// Provider to where its key was found: a variable's name or a file's, never the key.
    pub keys: BTreeMap<String, String>,
    /// MCP servers, and which role may use them.
    pub mcp: McpServers,
    /// Programs that use their own login.
    pub direct: DirectAgents,
    /// What holds agents: tiers, readable paths, limits.
    pub isolation: runner::Isolation,
    /// Every setting with where it came from.
    pub told: Told,
    /// Who is told when something waits or has ended.
    pub notify: Notify,
    /// How long session folders of ended runs are kept; `None` for ever.
    pub keep_sessions: Option<SignedDuration>,
}

/// What holds unless a request says otherwise; `None` where nobody said anything.
#[derive(Debug, Clone, Default)]
pub struct Defaults {
    /// Trust switches.
    pub trust: Vec<(TrustKey, Gate)>,
    /// Models per role, in the order they are tried; no list is empty.
    pub models: BTreeMap<String, Vec<ModelName>>,
    /// The program that plays a role; `*` for every role without one of its own.
    pub programs: BTreeMap<String, AgentProgram>,
    /// Questions before a full approval is asked for.
    pub max_clarifications: Option<u32>,
    /// Squash-merge into the base when every gate passed.
    pub auto_merge: Option<bool>,
    /// Push the branch to the remote.
    pub push: Option<bool>,
    /// What a run may spend.
    pub budget: Option<Micros>,
    /// Turns of a clarifying conversation.
    pub max_clarification_rounds: Option<u32>,
    /// Leave the clarifying conversation out.
    pub skip_clarification: Option<bool>,
    /// Sources of text that others write and the user trusts.
    pub trusted_sources: Vec<String>,
    /// What the agents' token may name besides all this.
    pub agents_token: AgentsToken,
}

/// What a run that is started with the agents' token may name besides the defaults; only the user's file says it.
#[derive(Debug, Clone, Default)]
pub struct AgentsToken {
    /// Playbooks, by name.
    pub playbooks: Vec<String>,
    /// Programs, for any role.
    pub programs: Vec<AgentProgram>,
    /// Models, for any role.
    pub models: Vec<ModelName>,
    /// The highest budget, where it is above the usual one.
    pub budget: Option<Micros>,
}

/// A setting that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable of the environment.
    #[error("the environment variable {name} is `{value}`: {reason}")]
    Environment {
        /// Its name.
        name: String,
        /// What it is set to; never a key.
        value: String,
        /// Why that does not work.
        reason: String,
    },
    /// The user's file.
    #[error("`{}`: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why it does not work, with the line.
        reason: String,
    },
}

impl Setup {
    /// Reads the environment and `config.toml` in the data directory.
    pub fn read(home: &Path, environment: &BTreeMap<String, String>) -> Result<Self, SettingsError> {
        let path = home.join("config.toml");
        let user = user::read(&path)?;
        let said = environment::defaults(environment)?;
        let own = user.defaults(&path)?;
        let defaults = Defaults {
            trust: own.trust,
            models: own.models.into_iter().chain(said.models).collect(),
            programs: own.programs,
            max_clarifications: said.max_clarifications.or(own.max_clarifications),
            auto_merge: said.auto_merge.or(own.auto_merge),
            push: own.push,
            budget: own.budget,
            max_clarification_rounds: own.max_clarification_rounds,
            skip_clarification: own.skip_clarification,
            trusted_sources: own.trusted_sources,
            agents_token: own.agents_token,
        };
        let shared = user.shared(&path)?;
        let entry = limits::entry(environment, &user, &path)?;
        let upstreams = providers::upstreams(environment, &user.providers, &path)?;
        let direct = direct::agents(user.direct(), &user.text, environment, &path)?;
        let notify = notify::notify(&user.notify, &user.text, environment, &path)?;
        let keys = providers::keys(environment, &user.providers);
        let commands = KeyCommands::new(providers::key_commands(environment, &user.providers, &path)?);
        let isolation = isolation::isolation(environment, &user, home, &path)?;
        let mut scripts = user::scripts_in(&home.join("scripts"));
        scripts.extend(user.scripts.into_iter().map(|(name, script)| (name, home.join(script))));
        let prices = prices(&home.join("prices.toml"))?;
        let search = user.search.map(|search| search.grant(environment, &path)).transpose()?;
        let mcp = mcp::servers(user.mcp, environment, &path)?;
        let embeddings = user.embeddings.map(|embeddings| embeddings.model(&path)).transpose()?;
        let models = Models { upstreams, scripts, prices, search, embeddings, shared, keys: commands };
        if let Some(model) = &models.embeddings {
            models.check_embeddings(model).map_err(|reason| user::refuse_embeddings(&path, &reason))?;
        }
        let told = Told::read(home, environment)?;
        let keep_sessions = retention::keep(user.keep_sessions_days);
        let home = home.to_owned();
        Ok(Self { home, defaults, entry, models, keys, mcp, direct, isolation, told, notify, keep_sessions })
    }
}

/// The built-in table, with the user's own prices over it.
fn prices(path: &Path) -> Result<PriceTable, SettingsError> {
    let mut table = broker::prices::table();
    match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(SettingsError::File { path: path.to_owned(), reason: error.to_string() }),
        Ok(text) => table
            .merge(&text)
            .map_err(|error| SettingsError::File { path: path.to_owned(), reason: error.to_string() })?,
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_environment_wins_over_the_users_file() {
        let home = tempfile::tempdir().unwrap();
        let file =
            "max_clarifications = 9\nauto_merge = true\n[models]\nplanner = \"gpt-4o\"\nvalidator = \"gpt-4o\"\n";
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = [("DEFAULT_PLANNER_MODEL", "deepseek-reasoner"), ("DEFAULT_MAX_CLARIFICATIONS", "2")];
        let setup = Setup::read(home.path(), &environment(&said)).unwrap();
        assert_eq!(setup.defaults.models["planner"], ["deepseek/deepseek-reasoner".parse().unwrap()]);
        assert_eq!(setup.defaults.models["validator"], ["openai/gpt-4o".parse().unwrap()]);
        assert_eq!((setup.defaults.max_clarifications, setup.defaults.auto_merge), (Some(2), Some(true)));
    }

    #[test]
    fn a_role_may_have_several_models_in_order() {
        let home = tempfile::tempdir().unwrap();
        let file = "[models]\nplanner = [\"claude-sonnet-4-5\", \"xai/grok-4\"]\nvalidator = \"gpt-4o\"\n";
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = [("DEFAULT_VALIDATOR_MODEL", "gemini-2.5-pro, ollama/qwen")];
        let models = Setup::read(home.path(), &environment(&said)).unwrap().defaults.models;
        let names = |role: &str| models[role].iter().map(|model| model.as_str().to_owned()).collect::<Vec<_>>();
        assert_eq!(names("planner"), ["anthropic/claude-sonnet-4-5", "xai/grok-4"]);
        assert_eq!(names("validator"), ["gemini/gemini-2.5-pro", "ollama/qwen"]);
        check_refused("[models]\nplanner = []\n", &[], "[models] planner");
        check_refused("[models]\nplanner = [\"gpt-4o\", \"\"]\n", &[], "[models] planner");
    }

    #[test]
    fn providers_say_their_protocol_and_their_limits() {
        let home = tempfile::tempdir().unwrap();
        let file = "[providers.house]\nkind = \"gemini\"\nbase_url = \"http://127.0.0.1:1\"\n\
                    max_concurrent_calls = 2\nmax_calls_per_minute = 30\n[providers.openai]\nmax_concurrent_calls = 4\n";
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = [("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
        let models = Setup::read(home.path(), &environment(&said)).unwrap().models;
        let house = &models.upstreams["house"];
        assert_eq!(house.kind, broker::UpstreamKind::Gemini);
        assert_eq!(house.limits, broker::Limits { concurrent: Some(2), per_minute: Some(30) });
        assert_eq!(models.upstreams["openai"].limits.concurrent, Some(4));
        assert_eq!(models.upstreams["gemini"].kind, broker::UpstreamKind::Gemini);
        let own = "[providers.x]\nbase_url = \"http://127.0.0.1:1\"\n";
        check_refused(&format!("{own}kind = \"soap\"\n"), &[], "`soap` is not a kind");
        check_refused(&format!("{own}max_calls_per_minute = 0\n"), &[], "max_calls_per_minute");
    }

    #[test]
    fn a_provider_runs_tools_for_agents_only_if_the_users_file_names_them() {
        let home = tempfile::tempdir().unwrap();
        let read = |file: &str| {
            std::fs::write(home.path().join("config.toml"), file).unwrap();
            let setup = Setup::read(home.path(), &environment(&[("ANTHROPIC_API_KEY", "k")])).unwrap();
            setup.models.upstreams["anthropic"].hosted.clone()
        };
        assert_eq!(read(""), broker::HostedFeatures::default());
        let named =
            read("[providers.anthropic]\nhosted_tools = [\"web_search\"]\nbeta_headers = [\"some-2026-01-01\"]\n");
        assert_eq!((named.tools, named.beta_headers), (vec!["web_search".into()], vec!["some-2026-01-01".into()]));
        let set = [("ANTHROPIC_API_KEY", "k")];
        check_refused("[providers.anthropic]\nhosted_tools = [\"a b\"]\n", &set, "hosted_tools");
        check_refused("[providers.anthropic]\nbeta_headers = [\"a,b\"]\n", &set, "beta_headers");
    }

    #[test]
    fn limits_come_from_the_environment_then_the_file_then_the_default() {
        let home = tempfile::tempdir().unwrap();
        let read = |said: &[(&str, &str)]| Setup::read(home.path(), &environment(said)).unwrap().entry;
        assert_eq!(read(&[]), EntryRule { per_user: 5, waiting: 20 });
        let file = "max_concurrent_runs_per_user = 2\nmax_waiting_reviews = 0\n";
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        assert_eq!(read(&[]), EntryRule { per_user: 2, waiting: 0 });
        assert_eq!(read(&[("MAX_CONCURRENT_RUNS_PER_USER", "7")]), EntryRule { per_user: 7, waiting: 0 });
        assert_eq!(read(&[("HOLDPOINT_MAX_WAITING_REVIEWS", "3")]), EntryRule { per_user: 2, waiting: 3 });
    }

    #[test]
    fn an_attempts_limits_come_from_the_environment_then_the_file_then_the_default() {
        let home = tempfile::tempdir().unwrap();
        let read = |said: &[(&str, &str)]| Setup::read(home.path(), &environment(said)).unwrap().isolation.limits;
        assert_eq!(read(&[]), runner::sandbox::Limits::default());
        std::fs::write(home.path().join("config.toml"), "agent_disk_gib = 2\nagent_memory_gib = 3\n").unwrap();
        let own = read(&[]);
        assert_eq!((own.disk_bytes, own.memory_bytes), (2 << 30, Some(3 << 30)));
        assert_eq!(read(&[("HOLDPOINT_AGENT_DISK_GIB", "7")]).disk_bytes, 7 << 30);
        assert_eq!(read(&[("HOLDPOINT_AGENT_MEMORY_GIB", "8")]).memory_bytes, Some(8 << 30));
        check_refused("agent_disk_gib = 0\n", &[], "agent_disk_gib is 0");
        check_refused("", &[("HOLDPOINT_AGENT_MEMORY_GIB", "much")], "HOLDPOINT_AGENT_MEMORY_GIB");
    }

    #[test]
    fn a_web_search_is_off_unless_the_users_file_names_one() {
        let home = tempfile::tempdir().unwrap();
        let read = |file: &str, said: &[(&str, &str)]| {
            std::fs::write(home.path().join("config.toml"), file).unwrap();
            Setup::read(home.path(), &environment(said)).map(|setup| setup.models.search)
        };
        assert!(read("", &[]).unwrap().is_none());
        let file =
            "[search]\nendpoint = \"https://s.example/?q={query}\"\nheader = \"X-Key\"\nkey_env = \"SEARCH_KEY\"\n";
        let search = read(file, &[("SEARCH_KEY", "s3cret")]).unwrap().unwrap();
        assert_eq!(
            (search.endpoint.as_str(), search.header.as_deref()),
            ("https://s.example/?q={query}", Some("X-Key"))
        );
        assert!(!format!("{search:?}").contains("s3cret"));
        assert!(read(file, &[]).unwrap_err().to_string().contains("SEARCH_KEY"));
        let bad = read("[search]\nendpoint = \"https://s.example/\"\n", &[]).unwrap_err().to_string();
        assert!(bad.contains("{query}"), "{bad}");
    }

    #[test]
    fn sources_are_trusted_only_by_name_in_the_users_file() {
        let home = tempfile::tempdir().unwrap();
        let read = |file: &str| {
            std::fs::write(home.path().join("config.toml"), file).unwrap();
            Setup::read(home.path(), &environment(&[])).map(|setup| setup.defaults.trusted_sources)
        };
        assert!(read("").unwrap().is_empty());
        let named = read("trusted_sources = [\"search\", \"mcp:docs\", \"https://github.com/ours\"]\n").unwrap();
        assert_eq!(named, ["search", "mcp:docs", "https://github.com/ours"]);
        for bad in ["", "mcp:", "https://", "everything"] {
            let refused = read(&format!("trusted_sources = [\"{bad}\"]\n")).unwrap_err().to_string();
            assert!(refused.contains("is no source"), "{refused}");
        }
    }

    #[test]
    fn the_weaker_tier_is_for_projects_with_an_absolute_path_in_the_users_file() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), "restricted_projects = [\"/srv/shop\"]\n").unwrap();
        let setup = Setup::read(home.path(), &environment(&[])).unwrap();
        assert_eq!(setup.isolation.restricted, [PathBuf::from("/srv/shop")]);
        check_refused("restricted_projects = [\"shop\"]\n", &[], "restricted_projects");
    }

    #[test]
    fn sandboxes_show_more_only_where_the_users_file_says_so() {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), "readable_paths = [\"/srv/toolchain\"]\n").unwrap();
        let setup = Setup::read(home.path(), &environment(&[])).unwrap();
        assert_eq!(setup.isolation.readable, [PathBuf::from("/srv/toolchain")]);
        assert_eq!(setup.told.readable, [PathBuf::from("/srv/toolchain")]);
        check_refused("readable_paths = [\"/home/ada\"]\n", &[], "readable_paths");
        check_refused("readable_paths = [\"/people/ada\"]\n", &[("HOME", "/people/ada")], "is or holds a home");
    }

    #[test]
    fn embeddings_are_off_unless_the_users_file_names_a_model_that_can_be_reached() {
        let home = tempfile::tempdir().unwrap();
        let read = |file: &str, said: &[(&str, &str)]| {
            std::fs::write(home.path().join("config.toml"), file).unwrap();
            Setup::read(home.path(), &environment(said)).map(|setup| setup.models.embeddings.map(|m| m.to_string()))
        };
        assert_eq!(read("", &[("OPENAI_API_KEY", "k")]).unwrap(), None);
        let file = "[embeddings]\nmodel = \"openai/text-embedding-3-small\"\n";
        assert_eq!(read(file, &[("OPENAI_API_KEY", "k")]).unwrap().as_deref(), Some("openai/text-embedding-3-small"));
        let local = "[embeddings]\nmodel = \"house/minilm\"\n[providers.house]\nbase_url = \"http://127.0.0.1:1\"\n";
        assert_eq!(read(local, &[]).unwrap().as_deref(), Some("house/minilm"));
        check_refused(file, &[], "OPENAI_API_KEY");
        let wrong = "[embeddings]\nmodel = \"anthropic/claude-x\"\n";
        check_refused(wrong, &[("ANTHROPIC_API_KEY", "k")], "[embeddings]: provider `anthropic` has no embeddings");
        check_refused("[embeddings]\nmodel = \"the best\"\n", &[], "[embeddings]");
        check_refused("[embeddings]\nmodle = \"x/y\"\n", &[], "modle");
    }

    #[track_caller]
    fn check_refused(file: &str, said: &[(&str, &str)], expected: &str) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let Err(error) = Setup::read(home.path(), &environment(said)) else { panic!("taken: {file} {said:?}") };
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn a_setting_that_means_nothing_is_refused_by_name() {
        check_refused("", &[("DEFAULT_MAX_CLARIFICATIONS", "many")], "DEFAULT_MAX_CLARIFICATIONS");
        check_refused("", &[("DEFAULT_AUTO_MERGE", "perhaps")], "DEFAULT_AUTO_MERGE");
        check_refused("", &[("DEFAULT_PLANNER_MODEL", "the best")], "DEFAULT_PLANNER_MODEL");
        check_refused("", &[("OPENAI_BASE_URL", "localhost:1")], "OPENAI_BASE_URL");
        for number in ["0", "-1", "some", "10001"] {
            check_refused("", &[("MAX_CONCURRENT_RUNS_PER_USER", number)], "use a number from 1 to 10000");
        }
        check_refused("", &[("HOLDPOINT_MAX_WAITING_REVIEWS", "x")], "HOLDPOINT_MAX_WAITING_REVIEWS");
        check_refused("max_concurrent_runs_per_user = 0\n", &[], "max_concurrent_runs_per_user is 0");
        check_refused("max_waiting_reviews = 10001\n", &[], "max_waiting_reviews is 10001");
        check_refused("automerge = true\n", &[], "automerge");
        check_refused("[trust]\nplanning = \"never\"\n", &[], "never");
        check_refused("[providers.mine]\nkey = \"x\"\n", &[], "base_url");
    }

    #[test]
    fn a_command_that_prints_a_key_makes_a_provider_usable_and_a_variable_goes_before_it() {
        let home = tempfile::tempdir().unwrap();
        let file = "[providers.openai]\nkey_command = [\"/usr/bin/pass\", \"show\", \"work/openai\"]\n";
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let read = |said: &[(&str, &str)]| Setup::read(home.path(), &environment(said)).unwrap();
        let setup = read(&[]);
        assert!(check_model(&setup.models, &"openai/gpt-4o".parse().unwrap()).is_ok());
        assert_eq!(setup.keys["openai"], "key_command (`pass`)");
        assert_eq!(setup.told.keys, ["openai: key_command (`pass`)"]);
        assert!(format!("{:?}", setup.models.keys).contains("openai"));
        let setup = read(&[("OPENAI_API_KEY", "k")]);
        assert_eq!(setup.keys["openai"], "OPENAI_API_KEY");
        assert!(!format!("{:?}", setup.models.keys).contains("openai"));
        let of = |value: &str| format!("[providers.openai]\nkey_command = {value}\n");
        check_refused(&of("[]"), &[], "[providers.openai]: key_command names no program");
        check_refused(&of("[\"./key\"]"), &[], "relative path");
        check_refused(&of("\"pass show x\""), &[], "line 2");
        check_refused(&(of("[\"pass\"]") + "key = \"k\"\n"), &[], "not both");
    }

    #[test]
    fn keys_and_base_urls_make_a_provider_usable() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("scripts")).unwrap();
        std::fs::write(home.path().join("scripts/demo.json"), "{}").unwrap();
        let said = [("ANTHROPIC_API_KEY", "k"), ("OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1"), ("XAI_API_KEY", "")];
        let models = Setup::read(home.path(), &environment(&said)).unwrap().models;
        let check = |name: &str| check_model(&models, &name.parse().unwrap());
        assert!(check("anthropic/claude-x").is_ok());
        assert!(check("ollama/qwen").is_ok());
        assert!(check("scripted/demo").is_ok());
        assert!(check("xai/grok-4").unwrap_err().hint.contains("XAI_API_KEY"));
        let file =
            "[providers.house]\nbase_url = \"http://127.0.0.1:1\"\nkey = \"k\"\n[providers.openai]\nkey = \"k\"\n";
        std::fs::write(home.path().join("config.toml"), file).unwrap();
        let said = [("ANTHROPIC_API_KEY", "k"), ("OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1")];
        let keys = Setup::read(home.path(), &environment(&said)).unwrap().keys;
        let found: Vec<_> = keys.iter().map(|(provider, from)| (provider.as_str(), from.as_str())).collect();
        assert_eq!(found, [("anthropic", "ANTHROPIC_API_KEY"), ("house", "config.toml"), ("openai", "config.toml")]);
        assert!(check("scripted/none").unwrap_err().hint.contains("demo"));
        assert!(check("acme/model").unwrap_err().message.contains("acme"));
    }
}
