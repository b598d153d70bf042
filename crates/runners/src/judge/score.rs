//! Judges evaluations: scores from 0 to 1.

use branchpoint_core::AttemptError;
use branchpoint_core::effect::Score;
use branchpoint_expr::Value;

use super::{Judged, json, refused};
use crate::runner::Call;

/// Turns a score into `{score, passed, pass_threshold, explanation}`. The threshold of the step decides whether it passes, not the model.
pub(super) fn judge(call: &Call, judged: Judged) -> Result<Judged, AttemptError> {
    let Some(threshold) = call.response().pass_threshold else { return Ok(judged) };
    let rated = match judged.output.as_str() {
        Some(text) => json(text).unwrap_or_default(),
        None => judged.output,
    };
    let score = match &rated {
        Value::Object(fields) => fields.get("score").cloned().unwrap_or_default(),
        number => number.clone(),
    };
    let Some(rating) = number(&score) else {
        return Err(refused("step_failed", "the evaluation returned no score"));
    };
    if !(0.0..=1.0).contains(&rating) {
        return Err(refused(
            "step_failed",
            format!("the evaluation returned the score {score}, which is not between 0 and 1"),
        ));
    }
    let explanation = rated.get("explanation").cloned().unwrap_or_else(|| Value::from(""));
    let output = Score { score, passed: rating >= threshold, pass_threshold: threshold, explanation };
    Ok(Judged { output: Value::from(output), content_type: Some("application/json".into()), ..judged })
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(int) => Some(*int as f64),
        Value::Float(float) => Some(*float),
        _ => None,
    }
}
