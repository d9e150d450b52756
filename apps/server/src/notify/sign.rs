//! The signature of a notice: HMAC-SHA256 over its time and its body, so that an old one cannot be sent again later.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// `v1=` and the hex of HMAC-SHA256(secret, `TIMESTAMP.BODY`).
pub(super) fn signature(secret: &str, timestamp: i64, body: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC takes keys of any length");
    let signed = mac.chain_update(format!("{timestamp}.")).chain_update(body).finalize().into_bytes();
    let hex: String = signed.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted with Python's `hmac` module.
    #[test]
    fn a_known_notice_has_a_known_signature() {
        let signed = signature("whsec-0123456789", 1_700_000_000, "{\"id\":\"a.1\"}");
        assert_eq!(signed, "v1=3feafa8ff081d41f4f01f0b965ba6797cae6d97be6e3192a9c76fe5832b41821");
        assert_ne!(signature("whsec-0123456789", 1_700_000_001, "{\"id\":\"a.1\"}"), signed);
    }
}
