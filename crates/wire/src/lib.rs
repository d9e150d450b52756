//! The contract with strangers: requests, views, live messages, problems, exit codes.
//! Only shapes, and which characters no face passes on as they are: no rules, no I/O.
#![warn(missing_docs)]

mod batch;
mod change;
mod channel;
mod doctor;
mod estimate;
mod exit;
mod figures;
mod fork;
mod goal;
mod hidden;
mod live;
mod model;
mod notify;
mod people;
mod problem;
mod request;
mod session;
mod task;
mod view;

pub use batch::{BatchItem, BatchRequest, BatchView, CompareView, ComparedRun, SharedFiles, VariantsRequest};
pub use change::{BinaryView, ChangeTotals, ChangedFileView, ChangesView, FileDiffView, PatchView, SideView};
pub use channel::{AskRequest, ChannelMessage, ChannelView, NewChannel, QuestionView};
pub use doctor::{DoctorView, FindingState, FindingView, SettingView};
pub use estimate::{EstimateView, SharedLimitView};
pub use exit::ExitCode;
pub use figures::{FiguresView, MetricsView, NamedFigures, ProjectView, WaitView};
pub use fork::{ForkDecision, ForkPointView, ForkRequest, ForkView, ForkedFromView};
pub use goal::{GoalTaskView, GoalView};
pub use hidden::{escape_hidden, is_hidden, reveal};
pub use live::{LiveMessage, LiveName};
pub use model::{
    DirectAgentView, LongPriceView, ModelTestRequest, ModelTestView, ModelView, ModelsView, PriceView, PricesView,
    ProviderView, RoleModelsView, TestSpendView,
};
pub use notify::{DeliveryView, DestinationView, Notice, NoticeHold, NoticeRun, NotifyRequest, RevivedView};
pub use people::{
    HealthView, LoginCodeView, LoginRequest, LogoutRequest, LogoutView, MeView, NewLoginCode, NewUser, NewUserView,
    Role, UserView,
};
pub use problem::{Fault, Problem};
pub use request::{
    AnswerRequest, ApproveRequest, AttachRequest, CancelRequest, CheckSpec, DecideRequest, MessageRequest, NewRun,
    NewTask, OverturnRequest, PauseRequest, RequestChanges, ResumeRequest, StrangersText, TaskMerge, TaskUpdate,
    WayOutRequest,
};
pub use session::{SessionHistory, SessionView, TurnItemView, TurnView};
pub use task::{
    AskedView, AssumptionView, CheckpointView, GroupView, OverlapView, ReflectionView, RiskView, SaidView,
    TaskEventView, TaskRunView, TaskView,
};
pub use view::{
    ArtifactContent, ArtifactView, AttachView, AttachedView, DiffView, DirectRoleView, EventView, FileChangeView,
    HoldView, PlaybookProblem, PlaybookView, ProgramView, QueueView, RunView, SecretFindingView, ServerInfo, SpendCall,
    SpendView, StageView, StepView, StrangersView, WhyView,
};
