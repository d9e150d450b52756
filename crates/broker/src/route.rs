//! Which granted upstream serves a model name. Pure.

use crate::grant::{Upstream, UpstreamKind};
use crate::protocol::Protocol;
use crate::refusal::Refusal;

/// An upstream by its place in the grant, and the model name it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) upstream: usize,
    pub(crate) model: String,
}

pub(crate) fn find(upstreams: &[Upstream], protocol: Protocol, model: &str) -> Result<Route, Refusal> {
    match model.split_once('/') {
        Some((provider, model)) => named(upstreams, protocol, provider, model),
        None => bare(upstreams, protocol, model),
    }
}

fn named(upstreams: &[Upstream], protocol: Protocol, provider: &str, model: &str) -> Result<Route, Refusal> {
    let of_provider = || {
        let all = upstreams.iter().enumerate();
        all.filter(|(_, upstream)| upstream.provider == provider)
    };
    let Some((_, first)) = of_provider().next() else {
        return Err(Refusal::ProviderNotGranted { provider: provider.to_owned(), granted: granted(upstreams) });
    };
    let Some((upstream, chosen)) = of_provider().find(|(_, upstream)| knows(upstream, model)) else {
        let (model, granted) = (model.to_owned(), granted(upstreams));
        return Err(match first.kind {
            UpstreamKind::Scripted => Refusal::ScriptNotGranted { name: model, granted },
            UpstreamKind::Anthropic | UpstreamKind::OpenAi | UpstreamKind::Gemini => {
                Refusal::ModelNotGranted { provider: provider.to_owned(), model, granted }
            }
        });
    };
    if !chosen.kind.speaks(protocol) {
        return Err(Refusal::WrongDoor {
            provider: provider.to_owned(),
            door: protocol.door(),
            other: first.kind.door(),
        });
    }
    let model = model.to_owned();
    Ok(Route { upstream, model })
}

/// Agents also ask for small models of their own choice; a script stands in for those when nothing else can.
fn bare(upstreams: &[Upstream], protocol: Protocol, model: &str) -> Result<Route, Refusal> {
    let fits = |upstream: &Upstream| upstream.kind.speaks(protocol) && knows(upstream, model);
    if let Some(upstream) = upstreams.iter().position(fits) {
        return Ok(Route { upstream, model: model.to_owned() });
    }
    let script = |upstream: &Upstream| upstream.script.as_ref().map(|script| script.name().to_owned());
    let stand_in = upstreams.iter().enumerate().find_map(|(at, upstream)| Some((at, script(upstream)?)));
    let granted = || granted(upstreams);
    match (stand_in, upstreams.iter().find(|upstream| upstream.kind.speaks(protocol))) {
        (Some((upstream, model)), _) => Ok(Route { upstream, model }),
        (None, Some(Upstream { provider, .. })) => {
            let (provider, model) = (provider.clone(), model.to_owned());
            Err(Refusal::ModelNotGranted { provider, model, granted: granted() })
        }
        (None, None) => Err(Refusal::NoUpstream { door: protocol.door(), granted: granted() }),
    }
}

/// A key opens more models than a role was given; a script is the only model of its upstream.
fn knows(upstream: &Upstream, model: &str) -> bool {
    match (upstream.kind, &upstream.script) {
        (UpstreamKind::Scripted, Some(script)) => script.name() == model,
        (UpstreamKind::Scripted, None) => false,
        (UpstreamKind::Anthropic | UpstreamKind::OpenAi | UpstreamKind::Gemini, _) => {
            upstream.models.iter().any(|granted| granted == model)
        }
    }
}

fn granted(upstreams: &[Upstream]) -> String {
    let names = upstreams.iter().flat_map(|upstream| {
        let script = upstream.script.as_ref().map(|script| script.name());
        let models = upstream.models.iter().map(String::as_str).chain(script);
        models.map(|model| format!("`{}/{model}`", upstream.provider))
    });
    let names: Vec<String> = names.collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{HostedFeatures, Secret};
    use crate::scripted::Script;

    fn upstreams() -> Vec<Upstream> {
        let upstream = |provider: &str, kind, script: Option<Script>, models: &[&str]| Upstream {
            provider: provider.into(),
            kind,
            base_url: String::new(),
            key: Secret::default(),
            script,
            prices: Vec::new(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
            hosted: HostedFeatures::default(),
            limits: crate::turnstile::Limits::default(),
        };
        let script = |name| {
            let text = "[[conversation]]\nrole='r'\n[[conversation.turn]]\ntext='t'\n";
            Some(Script::parse(text, name).unwrap())
        };
        vec![
            upstream("scripted", UpstreamKind::Scripted, script("one"), &[]),
            upstream("scripted", UpstreamKind::Scripted, script("two"), &[]),
            upstream("anthropic", UpstreamKind::Anthropic, None, &["claude-x"]),
            upstream("openai", UpstreamKind::OpenAi, None, &["gpt-5", "meta/llama"]),
            upstream("deepseek", UpstreamKind::OpenAi, None, &["deepseek-chat"]),
        ]
    }

    #[track_caller]
    fn check(protocol: Protocol, model: &str, expected: Result<(usize, &str), &str>) {
        let found = find(&upstreams(), protocol, model);
        let found = found.as_ref().map(|route| (route.upstream, route.model.as_str()));
        match (found, expected) {
            (Err(refusal), Err(words)) => {
                assert!(refusal.to_string().contains(words), "{refusal}");
            }
            (found, expected) => assert_eq!(found.ok(), expected.ok(), "{model}"),
        }
    }

    #[test]
    fn a_provider_name_picks_its_upstream() {
        check(Protocol::Chat, "deepseek/deepseek-chat", Ok((4, "deepseek-chat")));
        check(Protocol::Messages, "anthropic/claude-x", Ok((2, "claude-x")));
        check(Protocol::Responses, "scripted/two", Ok((1, "two")));
    }

    #[test]
    fn only_the_first_slash_separates() {
        check(Protocol::Chat, "openai/meta/llama", Ok((3, "meta/llama")));
    }

    #[test]
    fn a_bare_model_goes_to_the_first_that_fits() {
        check(Protocol::Chat, "gpt-5", Ok((3, "gpt-5")));
        check(Protocol::Messages, "claude-x", Ok((2, "claude-x")));
        check(Protocol::Messages, "two", Ok((1, "two")));
        check(Protocol::Gemini, "gemini-flash", Ok((0, "one")));
    }

    #[test]
    fn a_model_of_a_granted_provider_that_the_role_was_not_given_is_refused() {
        check(Protocol::Chat, "openai/gpt-5-pro", Err("model `gpt-5-pro` of provider `openai` is not granted"));
        let without_scripts: Vec<Upstream> = upstreams().into_iter().skip(2).collect();
        let refusal = find(&without_scripts, Protocol::Messages, "claude-opus").unwrap_err();
        assert!(refusal.to_string().contains("(granted: `anthropic/claude-x`"), "{refusal}");
    }

    #[test]
    fn refusals_say_what_is_granted() {
        check(Protocol::Chat, "xai/grok", Err("`scripted/one`, `scripted/two`, `anthropic/claude-x`"));
        check(Protocol::Chat, "scripted/three", Err("script `three` is not granted"));
        check(Protocol::Chat, "anthropic/claude-x", Err("use /anthropic/v1/messages"));
        check(Protocol::Chat, "openai/", Err("is not granted"));
        let nothing = find(&[], Protocol::Chat, "gpt-5").unwrap_err();
        assert!(nothing.to_string().contains("granted: nothing"));
    }
}
