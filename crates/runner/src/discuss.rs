//! Answers a question about a repository, outside any run: an agent that may only read, in a workspace of its own, under
//! a shim like every other. Asked for twice, the second time adopts what the first did.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::{Micros, ModelName};
use drivers::{AgentEvent, Decoded, HandIn, INDEX_FILE, JOB_FILE, Job, JobKind, Own, RoleSettings};
use engine::Channel;
use futures_util::StreamExt as _;

use crate::attempt::{self, Reader};
use crate::commission::PrepareError;
use crate::diary::Scribe;
use crate::dir_fd::Dir;
use crate::effects::run_agent::was_killed;
use crate::git::{self, PrivateRepo, UserRepo};
use crate::hands::Hands;
use crate::isolation::Needs;
use crate::laid;
use crate::models::{GrantLimits, Who};
use crate::record;
use crate::rounds::shorten;
use crate::sandbox::{Tier, TierChoice};
use crate::shim::client::start_or_adopt;
use crate::shim::{self, DOOR, HOLDPOINT, Input, Launch};
use crate::spend::{paid, unsettled};
use crate::trouble::Trouble;

const ROLE: &str = "discussion";
const STAGE: &str = "discussion";
/// Model calls for one question.
const MAX_TURNS: u32 = 40;
/// What one question may cost where prices are known.
const ENVELOPE: Micros = Micros(1_000_000);
const RETRIES: u32 = 3;

/// A question to a repository.
#[derive(Debug, Clone)]
pub struct Talk {
    /// The channel's id.
    pub channel: String,
    /// Which question, from 1.
    pub number: u32,
    /// Top of the user's checkout.
    pub project: PathBuf,
    /// Who answers.
    pub model: ModelName,
    /// What is asked.
    pub question: String,
    /// What was said before, each with who said it, oldest first.
    pub earlier: Vec<String>,
}

impl Talk {
    /// Of its temporary files.
    fn name(&self) -> String {
        format!("{}-{}", self.channel, self.number)
    }
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Talked {
    /// The answer, or why there is none.
    pub answer: Result<String, String>,
    /// What it cost; none where a price is unknown.
    pub cost: Option<Micros>,
}

/// Is told what the agent does.
pub type Watch = Box<dyn Fn(&AgentEvent) + Send + Sync>;

impl Hands {
    /// Has a question answered.
    ///
    /// # Errors
    /// In words for people, when the agent could not be started.
    pub async fn discuss(&self, talk: Talk, watch: Watch) -> Result<Talked, String> {
        converse(self, talk, watch).await.map_err(|trouble| match &trouble.hint {
            Some(hint) => format!("{trouble} ({hint})"),
            None => trouble.to_string(),
        })
    }
}

async fn converse(hands: &Hands, talk: Talk, watch: Watch) -> Result<Talked, Trouble> {
    let place = Place::of(hands, &talk);
    let session = Channel::session(&talk.channel, talk.number);
    let attempt = start_or_adopt(&place.spool, || prepare(hands, &talk, &place)).await?;
    let mut scribe = Scribe::of_session(hands.diary.clone(), session, STAGE, ROLE);
    let mut reader = Reader::new(&place.spool);
    let mut messages = attempt.follow();
    while messages.next().await.is_some() {
        tell(&mut scribe, &watch, reader.lines().await);
        scribe.rest().await;
    }
    let ended = attempt.wait().await?;
    tell(&mut scribe, &watch, reader.lines().await);
    scribe.keep().await;
    keep_index(hands, &talk, &place).await?;
    let Place { workspace, spool, .. } = place;
    let killed = was_killed(&ended);
    let finish = move || {
        let handed_in = if killed { None } else { shim::handed_in(&spool)? };
        let answer = handed_in.and_then(|bytes| read_answer(&bytes));
        // What was only read is not needed again; one that stays is in nobody's way.
        let _ = git::remove_workspace(&workspace);
        Ok((answer, cost(&spool)?))
    };
    let (answer, cost) = hands.blocking_on(&format!("channel {}", talk.channel), finish).await?;
    let answer = answer.unwrap_or_else(|| Err(format!("the agent ended without an answer ({ended:?})")));
    Ok(Talked { answer, cost })
}

/// Who answers runs no commands: what it leaves was written by our own code, unless programs run beside it.
async fn keep_index(hands: &Hands, talk: &Talk, place: &Place) -> Result<(), Trouble> {
    if hands.mcp.has_processes(ROLE) {
        return Ok(());
    }
    let (stored, session) = (hands.paths.project(&talk.project).join(INDEX_FILE), place.session.clone());
    let (name, channel) = (talk.name(), talk.channel.clone());
    let keep = move || {
        if let Err(error) = laid::keep_index(&session, &stored, &name) {
            tracing::warn!(channel, %error, "the index of the project could not be kept");
        }
        Ok(())
    };
    hands.blocking_on(&format!("channel {}", talk.channel), keep).await
}

/// Where the processes of a channel work.
struct Place {
    workspace: PathBuf,
    session: PathBuf,
    spool: PathBuf,
}

impl Place {
    fn of(hands: &Hands, talk: &Talk) -> Self {
        let folder = hands.paths.channel(&talk.channel).join(talk.number.to_string());
        Self { workspace: folder.join("workspace"), session: folder.join("session"), spool: folder.join("spool") }
    }
}

fn tell(scribe: &mut Scribe, watch: &Watch, lines: Vec<String>) {
    for line in lines {
        let decoded = Own::decode(&line);
        let Decoded::Event(event) = decoded else {
            scribe.line(None);
            continue;
        };
        scribe.line(Some(&event));
        watch(&event);
    }
}

async fn prepare(hands: &Hands, talk: &Talk, place: &Place) -> Result<Launch, PrepareError> {
    let tier = hands.tier(&talk.project, Needs::Nothing).await?;
    let (paths, session, workspace, inner) =
        (hands.paths.clone(), place.session.clone(), place.workspace.clone(), talk.clone());
    let (web_search, doors, mcp) = (hands.models.search.is_some(), hands.models.doors(), hands.mcp.offered(ROLE));
    let embeddings = hands.models.embeddings.as_ref().map(ToString::to_string);
    let lay_out = move || {
        let user = UserRepo::open(&inner.project)?;
        let private = PrivateRepo::open(&paths.repo(user.top()), &user)?;
        let tip = private.import_base(&user, &user.current_branch()?)?;
        git::materialise(&private, &tip, &workspace)?;
        Dir::create(&session).map_err(|error| Trouble::io("creating", &session, &error))?;
        if let Err(error) = laid::seed_index(&paths.project(&inner.project).join(INDEX_FILE), &session, &inner.name()) {
            // Without it the agent makes its own, vectors included.
            tracing::warn!(channel = inner.channel, %error, "the index of the project could not be handed on");
        }
        let memory = private.read_file(&tip, ".autonomous/memory.md")?;
        let memory = memory.map(|bytes| record::trusted_memory(&String::from_utf8_lossy(&bytes)));
        let job = Job { web_search, embeddings, doors, mcp, ..job(&inner, &workspace, memory) };
        let text = serde_json::to_vec_pretty(&job).map_err(|error| Trouble::of(&error))?;
        laid::put(&session, JOB_FILE, &text)
    };
    hands.blocking_on(&format!("channel {}", talk.channel), lay_out).await?;
    hands.models.fetch_keys([&talk.model]).await;
    Ok(Launch { tier, ..launch(hands, talk, place)? })
}

fn job(talk: &Talk, workspace: &Path, memory: Option<String>) -> Job {
    Job {
        run: talk.channel.clone(),
        role: ROLE.to_owned(),
        kind: JobKind::Discuss,
        model: talk.model.to_string(),
        workspace: workspace.display().to_string(),
        request: talk.question.clone(),
        requirement: None,
        conversation: shorten(&talk.earlier),
        scope: None,
        research: None,
        spec: None,
        plan: None,
        pulse: None,
        iteration: None,
        question: None,
        memory,
        tried: Vec::new(),
        notes: Vec::new(),
        own_notes: Vec::new(),
        previous: None,
        diff: None,
        proof: None,
        answers: Vec::new(),
        refusal: None,
        extensions: 0,
        minutes: None,
        max_turns: MAX_TURNS,
        web_search: false,
        embeddings: None,
        mcp: Vec::new(),
        program: domain::AgentProgram::Own,
        fallbacks: Vec::new(),
        doors: BTreeMap::new(),
        context_tokens: None,
        reach: domain::Reach::Whole,
        strangers: Vec::new(),
        strangers_texts: Vec::new(),
        strange_tools: Vec::new(),
        secret_tools: Vec::new(),
        way: drivers::Way::Broker,
        permissions: Vec::new(),
        protected: Vec::new(),
        past: Vec::new(),
        settings: RoleSettings::default(),
        skills: Vec::new(),
    }
}

fn launch(hands: &Hands, talk: &Talk, place: &Place) -> Result<Launch, Trouble> {
    let priced = hands.models.has_price(&talk.model);
    let limits = GrantLimits {
        envelope: priced.then_some(ENVELOPE),
        ask_after: None,
        purses: hands.models.shared.purses(&talk.project.to_string_lossy(), None),
        retries: RETRIES,
        home: hands.paths.home().to_owned(),
    };
    let attempt = format!("{}/{}", talk.channel, talk.number);
    let who = Who { run: &talk.channel, attempt: &attempt, role: ROLE, visit: talk.number };
    let mut grant = hands.models.grant_to(&who, [&talk.model], limits)?;
    grant.mcp = hands.mcp.granted(ROLE);
    let session = place.session.display().to_string();
    Ok(Launch {
        spool: place.spool.clone(),
        workspace: place.workspace.clone(),
        session: place.session.clone(),
        extra_ro: hands.isolation.readable(hands.mcp.readable(ROLE, hands.paths.home())),
        hide: vec![hands.paths.home().to_owned()],
        argv: Own::argv(HOLDPOINT, &session, DOOR),
        env: BTreeMap::new(),
        tier: TierChoice::Exactly(Tier::Sandboxed),
        grant,
        limits: hands.isolation.limits.clone(),
        program: hands.program.clone(),
        input: Input::Nonce,
    })
}

/// What the agent handed in; none when that is nothing that can be read.
fn read_answer(bytes: &[u8]) -> Option<Result<String, String>> {
    let handed_in: Option<HandIn> = serde_json::from_slice(bytes).ok();
    handed_in.map(|handed_in| match handed_in {
        HandIn::Answer { text } => Ok(text),
        HandIn::ModelFailed { reason }
        | HandIn::QuotaSpent { reason, .. }
        | HandIn::BudgetSpent { reason, .. }
        | HandIn::GaveUp { reason } => Err(reason),
        other @ (HandIn::Plan(_)
        | HandIn::Tasks(_)
        | HandIn::Scope(_)
        | HandIn::Research(_)
        | HandIn::Pulse(_)
        | HandIn::Handoff(_)
        | HandIn::Review(_)
        | HandIn::Said { .. }
        | HandIn::Reflection(_)
        | HandIn::Questions { .. }
        | HandIn::Extension { .. }
        | HandIn::Permission { .. }) => {
            Err(format!("the agent handed in `{}` where an answer was wanted", other.word()))
        }
    })
}

/// What was paid or, where the shim died, may have been; none as soon as one call has no price.
fn cost(spool: &Path) -> Result<Option<Micros>, Trouble> {
    let records = attempt::records(spool)?;
    let open = unsettled(&records);
    let mut spent = records.iter().filter_map(paid).chain(open);
    Ok(spent.try_fold(Micros(0), |sum, call| Some(sum.plus(call.cost?))))
}
