//! Limits the memory for parsed JSON.

/// The most values of one JSON text. A parsed value needs many times its bytes on the wire.
pub(super) const MAX_JSON_VALUES: usize = 1_000_000;

/// Whether a JSON text exceeds the limit of values. Every value except the first follows a comma or an opening bracket.
pub(super) fn has_too_many_values(json: &[u8]) -> bool {
    let (mut count, mut in_string, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count > MAX_JSON_VALUES
}
