//! The product from outside, and the rules of the house.

mod crash;
mod runs;
mod tidy;
