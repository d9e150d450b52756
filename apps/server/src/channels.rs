//! Channels at work: a question is kept, then answered by an agent that may only read, then its answer is kept. What a
//! killed server leaves open is taken up again. Never touches a run.

use std::path::PathBuf;
use std::sync::Arc;

use domain::ModelName;
use drivers::AgentEvent;
use engine::{Answered, Channel, Question, StoreError};
use jiff::Timestamp;
use runner::{Talk, Talked};
use store::Diary;
use tokio::sync::{Semaphore, broadcast};

use crate::idle::Door;
use crate::shelf::Shelf;

/// So many questions are answered at once; the rest wait their turn.
const AT_ONCE: usize = 2;
/// Earlier questions and answers that an agent is told.
const REMEMBERED: usize = 20;
// A slow watcher misses old pieces and is given the whole channel again.
const BACKLOG: usize = 1024;

/// News of a channel.
#[derive(Debug, Clone)]
pub(crate) enum News {
    /// Something was asked or answered.
    Changed { channel: String },
    /// The agent of a question does something.
    Activity { channel: String, number: u32, event: AgentEvent },
}

/// All channels.
#[derive(Clone)]
pub(crate) struct Channels {
    pub(crate) diary: Arc<Diary>,
    shelf: Arc<dyn Shelf>,
    news: broadcast::Sender<News>,
    slots: Arc<Semaphore>,
    door: Door,
}

impl Channels {
    pub(crate) fn new(diary: Arc<Diary>, shelf: Arc<dyn Shelf>, door: Door) -> Self {
        let (news, _) = broadcast::channel(BACKLOG);
        Self { diary, shelf, news, slots: Arc::new(Semaphore::new(AT_ONCE)), door }
    }

    pub(crate) fn news(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    /// Takes up what an earlier server left open. Blocks.
    pub(crate) fn recover(&self) -> Result<(), StoreError> {
        self.diary.open_questions()?.into_iter().for_each(|question| self.begin(question));
        Ok(())
    }

    /// Keeps a question and has it answered. Blocks.
    pub(crate) fn ask(&self, mut question: Question) -> Result<Question, StoreError> {
        question.number = self.diary.ask(&question)?;
        self.tell(News::Changed { channel: question.channel.clone() });
        self.begin(question.clone());
        Ok(question)
    }

    fn tell(&self, news: News) {
        // Nobody may be watching.
        let _ = self.news.send(news);
    }

    fn begin(&self, question: Question) {
        // A server that answers is not idle; one that is closing leaves the question to the next.
        let Some(visit) = self.door.enter() else { return };
        let channels = self.clone();
        tokio::spawn(async move {
            let Ok(_slot) = channels.slots.clone().acquire_owned().await else { return };
            let (channel, number) = (question.channel.clone(), question.number);
            let talked = channels.talk(question).await;
            let diary = Arc::clone(&channels.diary);
            let kept = {
                let channel = channel.clone();
                tokio::task::spawn_blocking(move || diary.answered(&channel, number, &talked)).await
            };
            if !matches!(kept, Ok(Ok(_))) {
                tracing::warn!(%channel, number, ?kept, "an answer could not be kept; it is asked for again later");
            }
            channels.tell(News::Changed { channel });
            drop(visit);
        });
    }

    async fn talk(&self, question: Question) -> Answered {
        let failed = |problem: String| Answered { answer: Err(problem), at: Timestamp::now(), cost: None };
        let talk = match self.prepare(&question).await {
            Ok(talk) => talk,
            Err(problem) => return failed(problem),
        };
        let (channels, channel, number) = (self.clone(), question.channel.clone(), question.number);
        let watch = move |event: &AgentEvent| {
            channels.tell(News::Activity { channel: channel.clone(), number, event: event.clone() });
        };
        match self.shelf.discuss(talk, Box::new(watch)).await {
            Ok(Talked { answer, cost }) => Answered { answer, at: Timestamp::now(), cost },
            Err(problem) => failed(problem),
        }
    }

    async fn prepare(&self, question: &Question) -> Result<Talk, String> {
        let model: ModelName = question.model.parse().map_err(|error| format!("{error}"))?;
        let (diary, id) = (Arc::clone(&self.diary), question.channel.clone());
        let read = move || Ok::<_, StoreError>((diary.channel(&id)?, diary.questions(&id)?));
        let joined = tokio::task::spawn_blocking(read).await.map_err(|error| error.to_string())?;
        let (channel, all) = joined.map_err(|error| error.to_string())?;
        let channel: Channel = channel.ok_or_else(|| "the channel is gone".to_owned())?;
        let earlier: Vec<String> = all.iter().filter(|other| other.number < question.number).flat_map(said).collect();
        let from = earlier.len().saturating_sub(REMEMBERED * 2);
        Ok(Talk {
            channel: channel.id,
            number: question.number,
            project: PathBuf::from(channel.project),
            model,
            question: question.text.clone(),
            earlier: earlier[from..].to_vec(),
        })
    }
}

/// What was asked and answered, for whoever answers next.
fn said(question: &Question) -> Vec<String> {
    let asked = format!("{}: {}", question.asked_by, question.text);
    let answer = question.answered.as_ref().and_then(|answered| answered.answer.as_ref().ok());
    std::iter::once(asked).chain(answer.map(|answer| format!("agent: {answer}"))).collect()
}
