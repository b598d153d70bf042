//! Random tokens.

use branchpoint_runners::hexadecimal;

use crate::problem::{Problem, ProblemKind};

/// A random text of so many bytes in hexadecimal.
pub(crate) fn token(bytes: usize) -> Result<String, Problem> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|_| Problem::new(ProblemKind::Unavailable, "The operating system gives no random numbers."))?;
    Ok(hexadecimal(&random))
}
