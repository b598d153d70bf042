//! Programs that several tests run.

use branchpoint_core::effect::Kind;
use branchpoint_core::ir::builder::{Builder, ROOT};
use branchpoint_core::ir::{Effect, Failure, Program, Status};
use branchpoint_expr::Value;

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("this is JSON")
}

/// A program of one effect that belongs to the step `ask` and whose answer or error is the result.
pub(crate) fn one_call(spec: Effect) -> Program {
    let mut b = Builder::new();
    let answer = b.slot(ROOT, "answer", None);
    let result = b.read(answer);
    let step = b.step("ask", "ask", None, (0, 0));
    let end = b.close(Status::Completed, result);
    let bad = b.close(Status::Failed, result);
    let input = if spec.kind == Kind::Http { r#"{"url": "https://a"}"# } else { r#"{"prompt": "hello"}"# };
    let effect = b.effect(Effect { step: Some(step), ..spec });
    let input = b.value(json(input));
    let ask = b.do_(effect, input, Some(answer), end, Some(Failure { to: bad, error: Some(answer) }));
    b.begin(ROOT, &[ask]);
    b.finish().expect("the program is valid")
}
