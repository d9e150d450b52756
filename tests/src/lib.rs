//! The tests room.
