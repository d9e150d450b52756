// Talks to the server: JSON in, JSON out; a refusal becomes a `Refused` with the server's own words.
import type { components } from "./api";

type Schemas = components["schemas"];
export type Run = Schemas["RunView"];
export type Hold = Schemas["HoldView"];
export type Artifact = Schemas["ArtifactView"];
export type ArtifactContent = Schemas["ArtifactContent"];
export type Changes = Schemas["ChangesView"];
export type ChangedFile = Schemas["ChangedFileView"];
export type FileDiff = Schemas["FileDiffView"];
export type Binary = Schemas["BinaryView"];
/** Which change of a run: its branch as it stands, or code it made, by its place in the list. */
export type ChangeOf = "branch" | number;
export type RunEvent = Schemas["EventView"];
export type Why = Schemas["WhyView"];
export type SpendCall = Schemas["SpendCall"];
export type Session = Schemas["SessionView"];
export type SessionHistory = Schemas["SessionHistory"];
export type Turn = Schemas["TurnView"];
export type TurnItem = Schemas["TurnItemView"];
export type Playbook = Schemas["PlaybookView"];
export type Models = Schemas["ModelsView"];
export type NewRun = Schemas["NewRun"];
export type Estimate = Schemas["EstimateView"];
export type DecideRequest = Schemas["DecideRequest"];
export type Problem = Schemas["Problem"];
export type LiveMessage = Schemas["LiveMessage"];
export type Metrics = Schemas["MetricsView"];
export type Figures = Schemas["FiguresView"];
export type NamedFigures = Schemas["NamedFigures"];
export type Project = Schemas["ProjectView"];
export type Doctor = Schemas["DoctorView"];
export type CompareView = Schemas["CompareView"];
export type Compared = Schemas["ComparedRun"];
export type Channel = Schemas["ChannelView"];
export type Question = Schemas["QuestionView"];
export type ChannelMessage = Schemas["ChannelMessage"];
export type User = Schemas["UserView"];
export type NewUserView = Schemas["NewUserView"];
export type LoginCode = Schemas["LoginCodeView"];
export type ModelTest = Schemas["ModelTestView"];
export type TaskRun = Schemas["TaskRunView"];
export type PlanTask = Schemas["TaskView"];
export type Batch = Schemas["BatchView"];
export type ForkPoint = Schemas["ForkPointView"];
export type ForkWish = Schemas["ForkRequest"];
export type Forked = Schemas["ForkView"];
export type Destination = Schemas["DestinationView"];
export type Delivery = Schemas["DeliveryView"];
export type Revived = Schemas["RevivedView"];
export type Me = { name: string; role: "viewer" | "reviewer" | "admin" };

/** The server said no, or could not be reached (status 0). */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

const unreachable: Problem = {
  code: "unreachable",
  message: "The server does not answer.",
  hint: "It may be restarting; this page tries again by itself. If it stays away, run `holdpoint serve`.",
};

async function call<T>(method: "GET" | "POST", path: string, body?: unknown, key?: string): Promise<T> {
  const headers: Record<string, string> = { "holdpoint-channel": "web" };
  if (method === "POST") headers["content-type"] = "application/json";
  if (key) headers["idempotency-key"] = key;
  let answer: Response;
  try {
    const sent = method === "POST" ? JSON.stringify(body ?? {}) : null;
    answer = await fetch(path, { method, headers, body: sent, credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new Refused(0, unreachable);
  }
  const text = await answer.text();
  if (answer.ok) return (text ? JSON.parse(text) : undefined) as T;
  throw new Refused(answer.status, readProblem(answer.status, text));
}

function readProblem(status: number, text: string): Problem {
  try {
    const said = JSON.parse(text) as Partial<Problem>;
    if (typeof said.message === "string") return { code: "unknown", hint: "", ...said, message: said.message };
  } catch {
    // Not JSON: a proxy in between, or a server that is going down.
  }
  if (status === 502 || status === 503 || status === 504 || status === 500) return unreachable;
  return { code: "unknown", message: `The server answered ${status}.`, hint: "Look at the server's log." };
}

/** A name for one wish, so that sending it twice does it once. */
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What is not empty. */
const said = (words: Record<string, string>) => Object.fromEntries(Object.entries(words).filter(([, word]) => word !== ""));
const at = (id: string, rest = "") => `/api/runs/${encodeURIComponent(id)}${rest}`;

const changeAt = (id: string, of: ChangeOf, what: string) => at(id, of === "branch" ? `/diff/${what}` : `/artifacts/${of}/${what}`);

export const api = {
  login: (code: string) => call<unknown>("POST", "/api/login", { code }),
  me: () => call<Me>("GET", "/api/me"),
  holds: () => call<Hold[]>("GET", "/api/holds"),
  runs: (which: { limit: number; before: string; status: string; q?: string }) =>
    call<Run[]>("GET", `/api/runs?${new URLSearchParams({ roots: "true", ...said({ ...which, limit: String(which.limit) }) })}`),
  newest: () => call<Run[]>("GET", "/api/runs?limit=1"),
  runsWith: (statuses: string) => call<Run[]>("GET", `/api/runs?limit=1000&status=${statuses}`),
  run: (id: string) => call<Run>("GET", at(id)),
  events: (id: string) => call<RunEvent[]>("GET", at(id, "/events")),
  artifact: (id: string, number: number) => call<ArtifactContent>("GET", at(id, `/artifacts/${number}`)),
  changeFiles: (id: string, of: ChangeOf, offset: number, head?: string) =>
    call<Changes>("GET", `${changeAt(id, of, "files")}?${new URLSearchParams(said({ offset: String(offset), head: head ?? "" }))}`),
  changeFile: (id: string, of: ChangeOf, part: { file: string; offset: number; head: string; text: boolean }) =>
    call<FileDiff>("GET", `${changeAt(id, of, "file")}?${new URLSearchParams({ ...part, offset: String(part.offset), text: String(part.text) })}`),
  why: (id: string) => call<Why>("GET", at(id, "/why")),
  spend: (id: string) => call<SpendCall[]>("GET", at(id, "/spend")),
  sessions: (id: string) => call<Session[]>("GET", at(id, "/sessions")),
  session: (id: string, after = 0) =>
    call<SessionHistory>("GET", `/api/sessions/${encodeURIComponent(id)}?after=${after}`),
  children: (id: string) => call<Run[]>("GET", `/api/runs?limit=200&parent=${encodeURIComponent(id)}`),
  playbooks: (project?: string) =>
    call<Playbook[]>("GET", `/api/playbooks${project ? `?project=${encodeURIComponent(project)}` : ""}`),
  models: () => call<Models>("GET", "/api/models"),
  estimate: (run: NewRun) => call<Estimate>("POST", "/api/runs/estimate", run),
  start: (run: NewRun, key: string) => call<Run>("POST", "/api/runs", run, key),
  decide: (run: string, request: DecideRequest, key: string) => call<Run>("POST", at(run, "/decide"), request, key),
  cancel: (id: string, reason?: string) => call<Run>("POST", at(id, "/cancel"), reason ? { reason } : {}),
  pause: (id: string) => call<Run>("POST", at(id, "/pause"), {}),
  resume: (id: string) => call<Run>("POST", at(id, "/resume"), {}),
  metrics: (weeks: string, project: string) =>
    call<Metrics>("GET", `/api/metrics?weeks=${weeks}${project ? `&project=${encodeURIComponent(project)}` : ""}`),
  projects: () => call<Project[]>("GET", "/api/projects"),
  doctor: () => call<Doctor>("GET", "/api/doctor"),
  compare: (runs: string) => call<CompareView>("GET", `/api/compare?runs=${encodeURIComponent(runs)}`),
  approve: (id: string, digest: string) => call<Run>("POST", at(id, "/approve"), { digest }),
  overturn: (id: string, assumption: number, answer: string[]) => call<Run>("POST", at(id, "/overturn"), { assumption, answer }),
  variants: (run: NewRun, count: number, approaches: string[], key: string) =>
    call<Batch>("POST", "/api/runs/variants", { run, count, approaches }, key),
  channels: () => call<Channel[]>("GET", "/api/channels"),
  channel: (id: string) => call<Channel>("GET", `/api/channels/${encodeURIComponent(id)}`),
  openChannel: (wish: { project: string; title: string }) => call<Channel>("POST", "/api/channels", wish),
  askChannel: (id: string, question: { text: string; model?: string }) =>
    call<Question>("POST", `/api/channels/${encodeURIComponent(id)}/session`, question),
  users: () => call<User[]>("GET", "/api/users"),
  addUser: (name: string, role: string) => call<NewUserView>("POST", "/api/users", { name, role }),
  revokeUser: (name: string) => call<User>("POST", `/api/users/${encodeURIComponent(name)}/revoke`, {}),
  loginCode: (user: string) => call<LoginCode>("POST", "/api/login-codes", { user }),
  logout: (everywhere: boolean) => call<unknown>("POST", "/api/logout", { everywhere }),
  testModels: (models: string[]) => call<ModelTest[]>("POST", "/api/models/test", { models }),
  tasks: (all: boolean) => call<TaskRun[]>("GET", `/api/tasks?all=${all}`),
  mergeTask: (id: string, wish: { force: boolean; reason?: string; commit?: string }) =>
    call<TaskRun>("POST", `/api/tasks/${encodeURIComponent(id)}/merge`, wish),
  forkPoints: (id: string) => call<ForkPoint[]>("GET", at(id, "/checkpoints")),
  fork: (id: string, wish: ForkWish, key: string) => call<Forked>("POST", at(id, "/fork"), wish, key),
  notifications: () => call<Destination[]>("GET", "/api/notifications"),
  testNotification: (name: string) => call<Delivery>("POST", `/api/notifications/${encodeURIComponent(name)}/test`, {}),
  retryNotification: (name: string) => call<Revived>("POST", `/api/notifications/${encodeURIComponent(name)}/retry`, {}),
  tell: (id: string, text: string) => call<unknown>("POST", at(id, "/message"), { text }),
};
