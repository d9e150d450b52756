//! The domain room.
