//! Full-text queries from data. No text of a query is ever read as query syntax.

use branchpoint_runners::storage::MAX_QUERY_WORDS;

use crate::store::StoreError;

/// The words of a text as a query, joined by an operator (` OR ` finds any word, a space all); none if it has no words. Every word is a
/// quoted string of the query language, and quotes are not part of words.
pub(crate) fn full_text_query(text: &str, operator: &str) -> Result<Option<String>, StoreError> {
    let is_mark = |c: char| ('\u{300}'..='\u{36f}').contains(&c);
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric() && !is_mark(c))
        .filter(|word| word.contains(char::is_alphanumeric))
        .map(|word| format!("\"{}\"", word.to_lowercase()))
        .collect();
    words.sort_unstable();
    words.dedup();
    if words.len() > MAX_QUERY_WORDS {
        let count = words.len();
        let message =
            format!("the query has {count} different words, but at most {MAX_QUERY_WORDS} are allowed; shorten it");
        return Err(StoreError::StorageLimit(message));
    }
    Ok((!words.is_empty()).then(|| words.join(operator)))
}
