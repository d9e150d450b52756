//! Speaks `wire` with the server over HTTP. Has no rules of its own and prints nothing.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, header};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use wire::{
    AnswerRequest, ApproveRequest, ArtifactContent, ArtifactView, AskRequest, AttachRequest, AttachView, BatchRequest,
    BatchView, CancelRequest, ChannelView, CompareView, DecideRequest, DeliveryView, DestinationView, EstimateView,
    EventView, ForkPointView, ForkRequest, ForkView, HoldView, LoginCodeView, MessageRequest, MetricsView,
    ModelTestRequest, ModelTestView, ModelsView, NewChannel, NewLoginCode, NewRun, NewUser, NewUserView, NotifyRequest,
    OverturnRequest, PauseRequest, PlaybookView, Problem, QuestionView, RequestChanges, ResumeRequest, RevivedView,
    RunView, SessionHistory, SessionView, SpendCall, TaskMerge, TaskRunView, TaskUpdate, UserView, VariantsRequest,
    WayOutRequest, WhyView,
};

mod change;

use crate::failure::Failure;

/// Tells the server through which door a decision came.
const CHANNEL: &str = "holdpoint-channel";

/// Starting many runs looks at a repository for each; a model may take its time.
const LONG: Duration = Duration::from_secs(600);

/// A server that answers, and the right to speak to it.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
    channel: &'static str,
}

impl Client {
    pub(crate) fn new(url: &str, token: String, channel: &'static str) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .no_proxy()
            .connect_timeout(Duration::from_secs(3))
            .timeout(Duration::from_secs(60))
            .build()
            .map_err(|error| unreachable(url, &error))?;
        Ok(Self { http, url: url.trim_end_matches('/').to_owned(), token, channel })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Whether a server of ours answers there.
    pub(crate) async fn is_healthy(&self) -> bool {
        let answer = self.http.get(format!("{}/healthz", self.url)).timeout(Duration::from_secs(5)).send().await;
        answer.is_ok_and(|response| response.status().is_success())
    }

    pub(crate) async fn start(&self, run: &NewRun) -> Result<RunView, Failure> {
        self.post("/api/runs", run).await
    }

    pub(crate) async fn start_batch(&self, batch: &BatchRequest) -> Result<BatchView, Failure> {
        self.send(self.request(Method::POST, "/api/runs/batch").json(batch).timeout(LONG)).await
    }

    pub(crate) async fn start_variants(&self, variants: &VariantsRequest) -> Result<BatchView, Failure> {
        self.send(self.request(Method::POST, "/api/runs/variants").json(variants).timeout(LONG)).await
    }

    /// Runs that a person started.
    pub(crate) async fn roots(&self) -> Result<Vec<RunView>, Failure> {
        self.get("/api/runs?roots=true").await
    }

    /// All runs, those of tasks too.
    pub(crate) async fn runs(&self) -> Result<Vec<RunView>, Failure> {
        self.get("/api/runs").await
    }

    /// A page of runs, newest first.
    pub(crate) async fn page(&self, which: &[(&str, &str)]) -> Result<Vec<RunView>, Failure> {
        let pairs: Vec<String> = which.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
        self.get(&format!("/api/runs?{}", pairs.join("&"))).await
    }

    /// The runs of a run's tasks.
    pub(crate) async fn children(&self, run: &str) -> Result<Vec<RunView>, Failure> {
        self.get(&format!("/api/runs?parent={}&limit=1000", escape(run))).await
    }

    pub(crate) async fn compare(&self, runs: &[String]) -> Result<CompareView, Failure> {
        let runs: Vec<String> = runs.iter().map(|run| escape(run)).collect();
        self.get(&format!("/api/compare?runs={}", runs.join(","))).await
    }

    /// Where a run can be forked.
    pub(crate) async fn checkpoints(&self, run: &str) -> Result<Vec<ForkPointView>, Failure> {
        self.get(&of_run(run, "/checkpoints")).await
    }

    pub(crate) async fn fork(&self, run: &str, request: &ForkRequest) -> Result<ForkView, Failure> {
        self.post(&of_run(run, "/fork"), request).await
    }

    /// The plan of tasks, as `modify_plan` takes it back.
    pub(crate) async fn plan(&self, run: &str) -> Result<Value, Failure> {
        self.get(&of_run(run, "/plan")).await
    }

    pub(crate) async fn pause(&self, run: &str, request: &PauseRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/pause"), request).await
    }

    pub(crate) async fn attach(&self, run: &str) -> Result<AttachView, Failure> {
        self.post(&of_run(run, "/attach"), &AttachRequest {}).await
    }

    pub(crate) async fn resume(&self, run: &str, request: &ResumeRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/resume"), request).await
    }

    pub(crate) async fn overturn(&self, run: &str, request: &OverturnRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/overturn"), request).await
    }

    pub(crate) async fn tell(&self, run: &str, request: &MessageRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/message"), request).await
    }

    pub(crate) async fn run(&self, run: &str) -> Result<RunView, Failure> {
        self.get(&of_run(run, "")).await
    }

    /// The built-in playbooks and those of a repository.
    pub(crate) async fn playbooks(&self, project: &str) -> Result<Vec<PlaybookView>, Failure> {
        self.get(&format!("/api/playbooks?project={}", escape(project))).await
    }

    pub(crate) async fn metrics(&self, weeks: u16, project: Option<&str>) -> Result<MetricsView, Failure> {
        let project = project.map(|project| format!("&project={}", escape(project))).unwrap_or_default();
        self.get(&format!("/api/metrics?weeks={weeks}{project}")).await
    }

    pub(crate) async fn models(&self) -> Result<ModelsView, Failure> {
        self.get("/api/models").await
    }

    pub(crate) async fn test_models(&self, request: &ModelTestRequest) -> Result<Vec<ModelTestView>, Failure> {
        self.send(self.request(Method::POST, "/api/models/test").json(request).timeout(LONG)).await
    }

    pub(crate) async fn holds(&self) -> Result<Vec<HoldView>, Failure> {
        self.get("/api/holds").await
    }

    pub(crate) async fn events(&self, run: &str, after: u64) -> Result<Vec<EventView>, Failure> {
        self.get(&of_run(run, &format!("/events?after={after}"))).await
    }

    pub(crate) async fn sessions(&self, run: &str) -> Result<Vec<SessionView>, Failure> {
        self.get(&of_run(run, "/sessions")).await
    }

    pub(crate) async fn session(&self, id: &str, after: u32) -> Result<SessionHistory, Failure> {
        self.get(&format!("/api/sessions/{}?after={after}", escape(id))).await
    }

    pub(crate) async fn channels(&self) -> Result<Vec<ChannelView>, Failure> {
        self.get("/api/channels?limit=1000").await
    }

    pub(crate) async fn channel(&self, id: &str) -> Result<ChannelView, Failure> {
        self.get(&format!("/api/channels/{}", escape(id))).await
    }

    pub(crate) async fn open_channel(&self, new: &NewChannel) -> Result<ChannelView, Failure> {
        self.post("/api/channels", new).await
    }

    pub(crate) async fn ask_channel(&self, id: &str, question: &AskRequest) -> Result<QuestionView, Failure> {
        self.post(&format!("/api/channels/{}/session", escape(id)), question).await
    }

    pub(crate) async fn artifacts(&self, run: &str) -> Result<Vec<ArtifactView>, Failure> {
        self.get(&of_run(run, "/artifacts")).await
    }

    pub(crate) async fn artifact(&self, run: &str, number: usize) -> Result<ArtifactContent, Failure> {
        self.get(&of_run(run, &format!("/artifacts/{number}"))).await
    }

    pub(crate) async fn why(&self, run: &str) -> Result<WhyView, Failure> {
        self.get(&of_run(run, "/why")).await
    }

    /// What keeps a run out that is not let in yet. A courtesy: a server that does not say is not a failure.
    pub(crate) async fn queued(&self, run: &RunView) -> Option<String> {
        if run.status != "queued" {
            return None;
        }
        let why = self.why(&run.id).await.ok()?;
        why.queue.is_some().then_some(why.waits_for)
    }

    pub(crate) async fn estimate(&self, new: &NewRun) -> Result<EstimateView, Failure> {
        self.post("/api/runs/estimate", new).await
    }

    pub(crate) async fn spend(&self, run: &str) -> Result<Vec<SpendCall>, Failure> {
        self.get(&of_run(run, "/spend")).await
    }

    pub(crate) async fn approve(&self, run: &str, request: &ApproveRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/approve"), request).await
    }

    pub(crate) async fn request_changes(&self, run: &str, request: &RequestChanges) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/request-changes"), request).await
    }

    pub(crate) async fn decide(&self, run: &str, request: &DecideRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/decide"), request).await
    }

    pub(crate) async fn answer(&self, hold: &str, request: &AnswerRequest) -> Result<RunView, Failure> {
        self.post(&format!("/api/clarifications/{}/answer", escape(hold)), request).await
    }

    pub(crate) async fn merge(&self, run: &str, request: &WayOutRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/merge"), request).await
    }

    pub(crate) async fn pull_request(&self, run: &str, request: &WayOutRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/pull-request"), request).await
    }

    pub(crate) async fn cancel(&self, run: &str, request: &CancelRequest) -> Result<RunView, Failure> {
        self.post(&of_run(run, "/cancel"), request).await
    }

    pub(crate) async fn tasks(&self, project: Option<&str>, all: bool) -> Result<Vec<TaskRunView>, Failure> {
        let project = project.map(|project| format!("&project={}", escape(project))).unwrap_or_default();
        self.get(&format!("/api/tasks?all={all}{project}")).await
    }

    pub(crate) async fn task(&self, task: &str) -> Result<TaskRunView, Failure> {
        self.get(&of_task(task, "")).await
    }

    pub(crate) async fn update_task(&self, task: &str, update: &TaskUpdate) -> Result<TaskRunView, Failure> {
        self.post(&of_task(task, "/update"), update).await
    }

    pub(crate) async fn complete_task(&self, task: &str) -> Result<TaskRunView, Failure> {
        self.send(self.request(Method::POST, &of_task(task, "/complete"))).await
    }

    pub(crate) async fn create_task_pr(&self, task: &str) -> Result<TaskRunView, Failure> {
        self.send(self.request(Method::POST, &of_task(task, "/create-pr"))).await
    }

    pub(crate) async fn merge_task(&self, task: &str, merge: &TaskMerge) -> Result<TaskRunView, Failure> {
        self.post(&of_task(task, "/merge"), merge).await
    }

    pub(crate) async fn respawn_task(&self, task: &str, update: &TaskUpdate) -> Result<TaskRunView, Failure> {
        self.post(&of_task(task, "/respawn"), update).await
    }

    pub(crate) async fn login_code(&self, wish: &NewLoginCode) -> Result<LoginCodeView, Failure> {
        self.post("/api/login-codes", wish).await
    }

    pub(crate) async fn users(&self) -> Result<Vec<UserView>, Failure> {
        self.get("/api/users").await
    }

    pub(crate) async fn add_user(&self, new: &NewUser) -> Result<NewUserView, Failure> {
        self.post("/api/users", new).await
    }

    pub(crate) async fn revoke_user(&self, name: &str) -> Result<UserView, Failure> {
        self.post(&format!("/api/users/{}/revoke", escape(name)), &serde_json::json!({})).await
    }

    pub(crate) async fn notifications(&self) -> Result<Vec<DestinationView>, Failure> {
        self.get("/api/notifications").await
    }

    pub(crate) async fn test_notification(&self, name: &str) -> Result<DeliveryView, Failure> {
        self.post(&format!("/api/notifications/{}/test", escape(name)), &NotifyRequest {}).await
    }

    pub(crate) async fn retry_notifications(&self, name: &str) -> Result<RevivedView, Failure> {
        self.post(&format!("/api/notifications/{}/retry", escape(name)), &NotifyRequest {}).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.send(self.request(Method::GET, path)).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.token)
            .header(header::ACCEPT, "application/json")
            .header(CHANNEL, self.channel)
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = request.send().await.map_err(|error| unreachable(&self.url, &error))?;
        if response.status().is_success() {
            let body = response.bytes().await.map_err(|error| unreachable(&self.url, &error))?;
            return serde_json::from_slice(&body).map_err(|error| strange(&self.url, &error.to_string()));
        }
        Err(refusal(&self.url, response).await)
    }
}

async fn refusal(url: &str, response: Response) -> Failure {
    let status = response.status().as_u16();
    // A body that cannot be read is treated like one that is no problem: the status still tells.
    let body = response.bytes().await.unwrap_or_default();
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => Failure::refused(status, problem),
        Err(_) => strange(url, &format!("status {status} without a reason")),
    }
}

fn of_run(run: &str, rest: &str) -> String {
    format!("/api/runs/{}{rest}", escape(run))
}

fn of_task(task: &str, rest: &str) -> String {
    format!("/api/tasks/{}{rest}", escape(task))
}

/// A run id comes from the command line: it must not be able to name another path.
fn escape(segment: &str) -> String {
    segment
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => char::from(byte).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

fn unreachable(url: &str, error: &reqwest::Error) -> Failure {
    let why = if error.is_timeout() { "it took too long".to_owned() } else { root_cause(error) };
    Failure::unavailable(
        "server_unreachable",
        format!("the server at {url} does not answer: {why}"),
        "try again; `holdpoint doctor` shows its state and where its log is",
    )
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}

fn strange(url: &str, what: &str) -> Failure {
    Failure::unavailable(
        "strange_answer",
        format!("the server at {url} gave an answer that was not understood: {what}"),
        "server and command line may differ in version; stop the server and try again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_name_another_path() {
        assert_eq!(of_run("../holds?x=1", "/why"), "/api/runs/%2E%2E%2Fholds%3Fx%3D1/why");
        assert_eq!(of_run("0193-ab", ""), "/api/runs/0193-ab");
    }
}
