//! Gives every capability up. Bubblewrap does that for its tier; without it a superuser's agent
//! would keep `CAP_PERFMON`, which reads other processes past Landlock, and many more.

use rustix::{
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, capability_is_in_bounding_set, clear_ambient_capability_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};

/// Drops them for this process and for all it starts, also for programs that would bring some.
pub(super) fn drop_all() -> rustix::io::Result<()> {
    for capability in CapabilitySet::all().iter() {
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // One that this kernel does not know.
            Err(Errno::INVAL) => {}
            // An ordinary user may not touch the set and gains nothing from it: programs that
            // would bring capabilities are stopped by `no_new_privs`.
            Err(Errno::PERM) if !rustix::process::geteuid().is_root() => {}
            Err(Errno::PERM) if !capability_is_in_bounding_set(capability)? => {}
            Err(error) => return Err(error),
        }
    }
    clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none)
}
