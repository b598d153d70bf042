//! Recordings are written as YAML that reads back to the same values.

use branchpoint_dialects::read;
use branchpoint_expr::{Object, Value};
use branchpoint_host::{Script, recording_yaml};

#[test]
fn every_text_survives_a_recording() {
    let texts = [
        "plain",
        "",
        "null",
        "true",
        "12:30",
        "# no comment",
        "a: b, {c} [d] & *e !f",
        "two\nlines\tand\r\nmore",
        "quotes \" and \\ and '",
        "\u{85}\u{7f}\u{2028}\u{feff}\u{1}ü漢😀",
        " spaces ",
    ];
    let entry = |text: &str| Value::from([("$output".into(), Value::from(text))].into_iter().collect::<Object>());
    let entries = Value::from(texts.map(entry).to_vec());
    let places: Object = [("0,1".into(), entries.clone()), ("1,0".into(), entries.clone())].into_iter().collect();
    let by_path = Value::from([("$by_path".into(), Value::from(places))].into_iter().collect::<Object>());
    let steps = ["data", "no: way", "#odd \"id\"", "null"];
    let steps = steps.map(|step| (step.into(), entries.clone())).into_iter().chain([("loop".into(), by_path)]);
    let recorded = Value::from([("facts".into(), entry("ü: \"x\""))].into_iter().collect::<Object>());
    let script = Value::from([("$recorded".into(), recorded)].into_iter().chain(steps).collect::<Object>());
    let text = recording_yaml(&script);
    let read = read(&text).unwrap_or_else(|findings| panic!("{findings:?} in\n{text}"));
    assert_eq!(read.to_value(), script, "{text}");
    assert!(Script::read(&script).expect("the script is valid").recording().is_some());
}
