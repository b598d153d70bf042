//! Hexadecimal encoding of bytes.

use std::fmt::Write as _;

/// Writes bytes as hexadecimal digits.
///
/// ```
/// assert_eq!(branchpoint_runners::hexadecimal(&[0, 171, 255]), "00abff");
/// ```
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        // Writing into a text cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}
