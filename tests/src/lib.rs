//! The product from outside: a real binary, a real repository, real processes.

pub mod bench;
pub mod compare;
pub mod faults;
pub mod powercut;
pub mod product;
pub mod scenario;
pub mod stories;
pub mod world;
