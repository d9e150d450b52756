//! The product from outside: a real binary, a real repository, real processes.

pub mod bench;
pub mod compare;
pub mod product;
pub mod scenario;
pub mod world;
