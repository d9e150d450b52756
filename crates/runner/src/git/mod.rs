//! The git hands: everything Holdpoint does with repositories, over the git program. The user's
//! checkout, index, configuration and hooks are only read, except for the fast-forward of a
//! clean checkout when its branch moves. Synchronous; every call may be made twice.

mod added;
mod adopt;
mod bring_along;
mod changes;
mod checkout;
mod commit;
mod diff;
mod error;
mod harvest;
mod ignore_rules;
mod join;
mod land;
mod locks;
mod markers;
mod merge;
mod names;
mod newcomers;
mod objects;
mod on_disk;
mod private_repo;
mod process;
mod publish;
mod push;
mod rescue;
mod run;
mod standing;
mod sync;
mod unfinished_move;
mod upkeep;
mod user_repo;
mod walk;
mod workspace;

pub use adopt::{Adopted, adopt};
pub use changes::{
    BinarySide, ChangeList, ChangedFile, Content, FileId, FilePage, MAX_SHOWN_BYTES, PatchPage, Side, TextView,
};
pub use commit::{Author, CommitRequest, CommitText, EFFECT_TRAILER, RUN_TRAILER, STAGE_TRAILER};
pub use diff::{CappedDiff, ChangeStatus, FileChange, left_out};
pub use error::GitError;
pub use harvest::{HarvestRefusal, MAX_FILE_BYTES, MAX_NEW_FILES, harvest};
pub use join::{JoinRequest, Joined, join};
pub use land::{LandRequest, Landed, Strategy, land};
pub use merge::Merge;
pub(crate) use names::shown;
pub use names::{BranchName, CommitId, TreeId, TreeIsh};
pub use private_repo::PrivateRepo;
pub use publish::{Published, publish};
pub use push::{PushOutcome, push_remote};
pub use rescue::{Rescued, rescue};
pub(crate) use run::redacted;
pub(crate) use upkeep::distrust_all;
pub use user_repo::{Remote, UserRepo};
pub use workspace::{materialise, remove_workspace};
