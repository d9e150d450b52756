//! Everything that is known about models, put together from settings, price table and records. Never shows a key.

use std::path::Path;

use broker::{LongPrice, Price, PriceSource, UpstreamKind};
use runner::{DirectSettings, TriesSpend, tries_folder};
use wire::{
    DirectAgentView, LongPriceView, ModelView, ModelsView, PriceView, PricesView, Problem, ProviderView,
    RoleModelsView, TestSpendView,
};

use super::{models_of, roles};
use crate::config::{Setup, known};

const SCRIPTED: &str = "scripted";

/// What is shown; `spend` is of the test calls so far.
pub(crate) fn view(setup: &Setup, spend: TriesSpend) -> ModelsView {
    let roles: Vec<RoleModelsView> = roles(setup).into_iter().map(|role| role_view(setup, role)).collect();
    let mut providers = providers(setup);
    for provider in &mut providers {
        provider.models = models(setup, &provider.name, &roles);
    }
    providers.sort_by_key(|provider| !provider.set_up);
    let user_file = setup.home.join("prices.toml");
    ModelsView {
        providers,
        roles,
        prices: PricesView {
            version: broker::prices::table().version().to_owned(),
            user_file_used: user_file.exists(),
            user_file: user_file.display().to_string(),
        },
        tests: tests(spend, &setup.home),
        direct: setup.direct.0.iter().map(|(program, settings)| direct(program, settings)).collect(),
    }
}

fn direct(program: &str, settings: &DirectSettings) -> DirectAgentView {
    let files = settings.login.iter().map(|file| file.from.display().to_string());
    let problem = settings.check(program).err().map(|error| Problem {
        code: "login_missing".to_owned(),
        message: error.to_string(),
        hint: error.hint(),
        field: None,
    });
    DirectAgentView {
        program: program.to_owned(),
        hosts: settings.hosts.iter().map(ToString::to_string).collect(),
        login: files.chain(settings.variables.keys().cloned()).collect(),
        problem,
    }
}

fn tests(spend: TriesSpend, home: &Path) -> TestSpendView {
    TestSpendView {
        calls: spend.calls,
        usd: spend.cost.usd(),
        unpriced: spend.unpriced,
        records: tries_folder(home).display().to_string(),
    }
}

fn role_view(setup: &Setup, role: String) -> RoleModelsView {
    let models = models_of(setup, &role).iter().map(ToString::to_string).collect();
    let from = if setup.defaults.models.contains_key(&role) { "chosen" } else { "default" };
    let programs = &setup.defaults.programs;
    let program = programs.get(&role).or_else(|| programs.get("*")).map(ToString::to_string);
    RoleModelsView { role, models, from: from.to_owned(), program }
}

/// Built-in ones, the user's own, and scripts; without their models.
fn providers(setup: &Setup) -> Vec<ProviderView> {
    let upstreams = &setup.models.upstreams;
    let mut views: Vec<ProviderView> = known()
        .map(|provider| {
            let settings = upstreams.get(provider.name);
            ProviderView {
                name: provider.name.to_owned(),
                protocol: settings.map_or(provider.protocol, |settings| word(settings.kind)).to_owned(),
                set_up: settings.is_some(),
                base_url: Some(shown_url(settings.map_or(provider.base_url, |settings| &settings.base_url))),
                key_variable: Some(provider.key_variable),
                key_from: setup.keys.get(provider.name).cloned(),
                models: Vec::new(),
            }
        })
        .collect();
    for (name, settings) in upstreams {
        if views.iter().any(|view| view.name == *name) {
            continue;
        }
        views.push(ProviderView {
            name: name.clone(),
            protocol: word(settings.kind).to_owned(),
            set_up: true,
            base_url: Some(shown_url(&settings.base_url)),
            key_variable: None,
            key_from: setup.keys.get(name).cloned(),
            models: Vec::new(),
        });
    }
    views.push(ProviderView {
        name: SCRIPTED.to_owned(),
        protocol: SCRIPTED.to_owned(),
        set_up: !setup.models.scripts.is_empty(),
        base_url: None,
        key_variable: None,
        key_from: None,
        models: Vec::new(),
    });
    views
}

/// The rows of the price table and what roles use beside them; of scripts, those that there are.
fn models(setup: &Setup, provider: &str, roles: &[RoleModelsView]) -> Vec<ModelView> {
    let prefix = format!("{provider}/");
    let mut names: Vec<String> = match provider {
        SCRIPTED => setup.models.scripts.keys().cloned().collect(),
        _ => setup.models.prices.rows_of(provider).map(|(price, _)| price.model.clone()).collect(),
    };
    for used in roles.iter().flat_map(|role| &role.models).filter_map(|model| model.strip_prefix(&prefix)) {
        if !names.iter().any(|name| name == used) {
            names.push(used.to_owned());
        }
    }
    names.iter().map(|name| model(setup, provider, name, roles)).collect()
}

fn model(setup: &Setup, provider: &str, name: &str, roles: &[RoleModelsView]) -> ModelView {
    let full = format!("{provider}/{name}");
    let priced = setup.models.prices.find_with_source(provider, name);
    let using = roles.iter().filter(|role| role.models.contains(&full));
    ModelView {
        price_from: priced.as_ref().map(|(_, source)| match source {
            PriceSource::BuiltIn => "built_in".to_owned(),
            PriceSource::User => "user".to_owned(),
        }),
        price: priced.map(|(price, _)| price_view(&price)),
        context_tokens: drivers::known_window(&full),
        roles: using.map(|role| role.role.clone()).collect(),
        name: full,
    }
}

fn price_view(price: &Price) -> PriceView {
    PriceView {
        input: usd(price.input),
        output: usd(price.output),
        cache_read: usd(price.cache_read),
        cache_write: usd(price.cache_write),
        long: price.long.as_ref().map(long_view),
    }
}

fn long_view(long: &LongPrice) -> LongPriceView {
    LongPriceView {
        above: long.above,
        input: usd(long.input),
        output: usd(long.output),
        cache_read: usd(long.cache_read),
        cache_write: usd(long.cache_write),
    }
}

/// Prices are kept in micro-dollars.
fn usd(micros: u64) -> f64 {
    domain::Micros(micros).usd()
}

fn word(kind: UpstreamKind) -> &'static str {
    match kind {
        UpstreamKind::Anthropic => "anthropic",
        UpstreamKind::OpenAi => "openai",
        UpstreamKind::Gemini => "gemini",
        UpstreamKind::Scripted => SCRIPTED,
    }
}

/// Without user, password and query: any of them may be a secret.
fn shown_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_once('/').map_or((rest, String::new()), |(host, path)| (host, format!("/{path}")));
    let host = host.rsplit('@').next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn setup(home: &Path, file: &str, said: &[(&str, &str)]) -> Setup {
        std::fs::write(home.join("config.toml"), file).unwrap();
        let said = said.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Setup::read(home, &said.collect::<BTreeMap<_, _>>()).unwrap()
    }

    fn provider(view: &ModelsView, name: &str) -> ProviderView {
        view.providers.iter().find(|provider| provider.name == name).unwrap().clone()
    }

    #[test]
    fn an_address_is_shown_without_what_may_be_a_secret() {
        assert_eq!(shown_url("https://u:p@h.example:8/v1/x?key=k"), "https://h.example:8/v1/x");
        assert_eq!(shown_url("http://127.0.0.1:1"), "http://127.0.0.1:1");
        assert_eq!(shown_url("https://h.example?key=a/b@c"), "https://h.example");
    }

    #[test]
    fn providers_say_whether_and_from_where_they_have_a_key_and_never_the_key() {
        let home = tempfile::tempdir().unwrap();
        let file = "[providers.house]\nbase_url = \"http://127.0.0.1:1/v1\"\nkey = \"sk-house\"\n";
        let setup = setup(home.path(), file, &[("ANTHROPIC_API_KEY", "sk-said")]);
        let view = view(&setup, TriesSpend::default());
        let anthropic = provider(&view, "anthropic");
        assert_eq!((anthropic.set_up, anthropic.key_from.as_deref()), (true, Some("ANTHROPIC_API_KEY")));
        assert_eq!(anthropic.base_url.as_deref(), Some("https://api.anthropic.com"));
        assert_eq!(provider(&view, "house").key_from.as_deref(), Some("config.toml"));
        let openai = provider(&view, "openai");
        assert_eq!((openai.set_up, openai.key_variable.as_deref()), (false, Some("OPENAI_API_KEY")));
        assert!(view.providers.iter().position(|one| !one.set_up) > Some(1), "those that are set up come first");
        let text = format!("{view:?}");
        assert!(!text.contains("sk-said") && !text.contains("sk-house"), "{text}");
    }

    #[test]
    fn prices_come_with_their_source_and_an_unknown_one_is_absent() {
        let home = tempfile::tempdir().unwrap();
        let own = "[[price]]\nprovider = 'openai'\nmodel = 'gpt-4o'\ninput = 9\noutput = 10\n";
        std::fs::write(home.path().join("prices.toml"), own).unwrap();
        let file =
            "[models]\nplanner = [\"openai/gpt-4o\", \"openai/gpt-9\"]\nvalidator = \"claude-sonnet-4-5-20250929\"\n";
        let setup = setup(home.path(), file, &[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")]);
        let view = view(&setup, TriesSpend::default());
        let models = provider(&view, "openai").models;
        let find = |name: &str| models.iter().find(|model| model.name == name).unwrap();
        let own = find("openai/gpt-4o");
        assert_eq!((own.price.as_ref().unwrap().input, own.price_from.as_deref()), (9.0, Some("user")));
        assert_eq!((own.roles.clone(), own.context_tokens), (vec!["planner".to_owned()], Some(128_000)));
        assert_eq!(find("openai/gpt-5").price_from.as_deref(), Some("built_in"));
        let new = find("openai/gpt-9");
        assert_eq!((new.price.clone(), new.price_from.clone(), new.context_tokens), (None, None, None));
        let dated = provider(&view, "anthropic").models.pop().unwrap();
        assert_eq!(dated.name, "anthropic/claude-sonnet-4-5-20250929");
        assert_eq!(dated.price.unwrap().output, 15.0);
        assert!(view.prices.user_file_used && view.prices.version.starts_with("20"));
    }

    #[test]
    fn roles_show_their_fallbacks_and_where_they_come_from() {
        let home = tempfile::tempdir().unwrap();
        let file = "[models]\nplanner = [\"deepseek-chat\", \"anthropic/claude-sonnet-4-5\"]\n";
        let setup = setup(home.path(), file, &[("DEEPSEEK_API_KEY", "k")]);
        let view = view(&setup, TriesSpend::default());
        let role = |name: &str| view.roles.iter().find(|role| role.role == name).unwrap().clone();
        assert_eq!(role("planner").models, ["deepseek/deepseek-chat", "anthropic/claude-sonnet-4-5"]);
        assert_eq!(role("planner").from, "chosen");
        assert_eq!(
            (role("validator").models, role("validator").from),
            (vec!["deepseek/deepseek-reasoner".to_owned()], "default".to_owned())
        );
        assert!(view.roles.iter().any(|role| role.role == "discussion"));
    }
}
