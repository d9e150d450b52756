//! Text of strangers: what an agent is left with after what its run has read, and what it reads itself on its way into
//! the run's log. What follows from it is decided in the core.

use std::collections::BTreeSet;

use broker::calls::{CallRecord, ReadSource};
use domain::{Reach, Run, TaintReport, TaintSource};
use drivers::{AgentEvent, MCP_PREFIX, McpWay, WEB_TOOLS, is_web_tool};
use engine::Job;

use crate::mcp::McpServers;

/// Our own tool for a search on the web.
const SEARCH: &str = "web_code_search";

/// The job with what the run's agents may still use.
pub(crate) fn within(run: &Run, mcp: &McpServers, job: drivers::Job) -> drivers::Job {
    let (reach, config) = (run.reach(), &run.opened().config);
    let begins = |name: &str| format!("{MCP_PREFIX}{name}__");
    let mut strange_tools = Vec::new();
    if !config.trusts(&TaintSource::search()) {
        strange_tools.extend([SEARCH].iter().chain(WEB_TOOLS).map(|name| (*name).to_owned()));
    }
    let behind_address = |server: &&drivers::McpServer| server.way == McpWay::Http;
    let untrusted = |server: &&drivers::McpServer| !config.trusts(&TaintSource::mcp(&server.name));
    strange_tools.extend(job.mcp.iter().filter(behind_address).filter(untrusted).map(|server| begins(&server.name)));
    drivers::Job {
        web_search: job.web_search && reach < Reach::ModelsOnly,
        reach,
        strangers: config.from.iter().map(|brought| brought.source.words()).collect(),
        strangers_texts: config.from.iter().filter_map(|brought| brought.text.clone()).collect(),
        strange_tools,
        secret_tools: mcp.with_secrets().map(|server| begins(&server.name)).collect(),
        ..job
    }
}

/// What an attempt reads; each source is told once.
#[derive(Debug, Default)]
pub(crate) struct Strangers {
    told: BTreeSet<TaintSource>,
    read: BTreeSet<TaintSource>,
}

impl Strangers {
    /// What a program reads with tools of its own.
    pub(crate) fn seen(&mut self, event: &AgentEvent) {
        if let AgentEvent::ToolStarted { tool, .. } = event
            && is_web_tool(tool)
        {
            self.add(TaintSource { source: tool.clone(), ..TaintSource::search() });
        }
    }

    /// What came in through the broker.
    pub(crate) fn recorded(&mut self, records: &[CallRecord]) {
        for record in records {
            if let CallRecord::Read(read) = record {
                self.add(match &read.source {
                    ReadSource::Search => TaintSource::search(),
                    ReadSource::Mcp(name) => TaintSource::mcp(name),
                    ReadSource::Hosted(tool) => TaintSource { source: tool.clone(), ..TaintSource::search() },
                });
            }
        }
    }

    fn add(&mut self, source: TaintSource) {
        if !self.told.contains(&source) {
            self.read.insert(source);
        }
    }

    /// Tells what was read and not told; when this returns, it is stored or refused.
    pub(crate) async fn tell(&mut self, job: &Job, effect: u32) {
        for source in std::mem::take(&mut self.read) {
            job.taint.report(TaintReport { effect, source: source.clone() }).await;
            self.told.insert(source);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_of_a_programs_own_and_what_the_broker_brought_in_are_strangers() {
        let mut strangers = Strangers::default();
        let began =
            |tool: &str| AgentEvent::ToolStarted { turn: 1, call: "c".into(), tool: tool.into(), input: String::new() };
        for tool in ["Read", "WebFetch", "shell", "WebFetch"] {
            strangers.seen(&began(tool));
        }
        let line =
            |source: &str| format!("{{\"state\":\"read\",\"source\":{source},\"at\":\"2026-01-01T00:00:00Z\"}}\n");
        let text = line("\"search\"") + &line("{\"mcp\":\"docs\"}") + &line("\"search\"");
        strangers.recorded(&broker::calls::parse(text.as_bytes()).unwrap().records);
        let words: Vec<String> = strangers.read.iter().map(TaintSource::words).collect();
        assert_eq!(words, ["web search", "web search (WebFetch)", "MCP server docs"]);
    }
}
