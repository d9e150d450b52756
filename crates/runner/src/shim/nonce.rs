//! The nonce by which an agent's host hands in: made by the shim, passed down over standard inputs, known to nobody else
//! in the sandbox. Never an argument, a variable or a file.

use std::io::{self, Read};

const BYTES: usize = 32;
/// Of the text and the end of its line.
const LENGTH: usize = BYTES * 2 + 1;

/// Known to the shim, the init step of the sandbox and the agent's host.
pub(crate) struct Nonce([u8; LENGTH]);

impl Nonce {
    pub(super) fn new() -> io::Result<Self> {
        let mut random = [0; BYTES];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut random)?;
        let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut line = [b'\n'; LENGTH];
        line[..BYTES * 2].copy_from_slice(text.as_bytes());
        Ok(Self(line))
    }

    /// Reads exactly the nonce, and nothing of what follows.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut line = [0; LENGTH];
        from.read_exact(&mut line)?;
        Ok(Self(line))
    }

    pub(crate) fn line(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0[..BYTES * 2]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_read_as_it_was_written_and_no_two_are_the_same() {
        let nonce = Nonce::new().unwrap();
        assert_eq!(nonce.text().len(), 64);
        let said = [nonce.line(), b"t"].concat();
        let mut from = said.as_slice();
        assert_eq!(Nonce::read(&mut from).unwrap().text(), nonce.text());
        assert_eq!(from, b"t", "what follows is left for its reader");
        assert_ne!(Nonce::new().unwrap().text(), nonce.text());
    }
}
