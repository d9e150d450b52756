//! The product from outside: a real binary, a real repository, real processes.

pub mod bench;
pub mod compare;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod disk_faults;
pub mod faults;
pub mod powercut;
pub mod product;
pub mod scenario;
pub mod stories;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub mod syscalls;
pub mod world;
