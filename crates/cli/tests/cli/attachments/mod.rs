//! Runs that are started with files: real documents reach a model, are loaded, written, kept and pruned.

mod attacks;
mod store;

use std::fs;
use std::path::Path;
use std::process::Output;

use branchpoint_expr::Value;
use serde_json::Value as Json;

use super::provider::{Does, Provider};
use super::running::{Place, exits, out};

/// A place with an invoice in PDF and an offer in DOCX, and its model.
fn place(provider: &Provider, settings: &str, steps: &str) -> Place {
    let toml = format!(
        "[models]\ndefault = \"openai/test-model\"\nretries = 0\n{settings}\n[models.providers.openai]\nbase_url = \"{}\"\n",
        provider.url
    );
    let document = format!("name: t\nsteps:\n{steps}\n");
    let place = Place::new(&[("branchpoint.toml", &toml), ("t.yaml", &document)]);
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../runners/tests/documents");
    for name in ["invoice.pdf", "offer.docx"] {
        fs::copy(documents.join(name), place.path().join(name)).expect("the document is there");
    }
    place
}

fn run(place: &Place, arguments: &[&str]) -> Output {
    let mut command = place.command(&[&["run", "t.yaml", "--quiet"], arguments].concat());
    command.env("OPENAI_API_KEY", "sk-test").output().expect("the program starts")
}

/// The output of a run that completes with both documents.
#[track_caller]
fn result(place: &Place, arguments: &[&str]) -> Json {
    let both = ["--attach", "invoice.pdf", "--attach", "offer.docx"];
    let output = run(place, &[&both, arguments].concat());
    exits(&output, 0);
    serde_json::from_str(&out(&output)).unwrap_or_else(|_| out(&output).trim_end().into())
}

/// The parts of the user's message of each request to the model.
fn parts(provider: &Provider) -> Vec<Json> {
    let requests = provider.requests();
    let messages = requests.iter().map(|request| serde_json::to_value(&request.body["messages"]).expect("it is JSON"));
    messages
        .map(|messages| messages.as_array().and_then(|all| all.last()).expect("a message")["content"].clone())
        .collect()
}

fn ok() -> Provider {
    Provider::new(vec![Does::Says("read")])
}

#[test]
fn a_real_pdf_goes_to_the_model_as_a_file_and_a_real_docx_as_text() {
    let provider = ok();
    let steps = r#"
  - id: loop
    step_type: for_each
    iterate_attachments: true
    attachment_rules: [{source: input, kind: pattern, pattern: "*.pdf"}, {source: agent, kind: all}]
    body: [{id: read, step_type: prompt_call, prompt_template: "Read {{step.loop.item.name}}"}]"#;
    let place = place(&provider, "", steps);
    assert_eq!(result(&place, &["-i", "input=both"]), serde_json::json!(["read", "read"]));
    let sent = parts(&provider);
    let (pdf, docx) = (&sent[0][0], &sent[1][0]);
    assert_eq!((&pdf["type"], &pdf["file"]["filename"]), (&"file".into(), &"invoice.pdf".into()), "{pdf}");
    let data = pdf["file"]["file_data"].as_str().expect("a data URL");
    assert!(data.starts_with("data:application/pdf;base64,JVBERi0"), "{}", &data[..40]);
    assert_eq!(docx["type"], "text", "{docx}");
    let text = docx["text"].as_str().expect("a text");
    assert!(text.starts_with("<attachment name=\"offer.docx\"") && text.contains("Service\tPrice"), "{text}");
    assert_eq!((&sent[0][1]["text"], &sent[1][1]["text"]), (&"Read invoice.pdf".into(), &"Read offer.docx".into()));
}

#[test]
fn a_model_that_takes_no_files_gets_the_text_of_a_pdf() {
    for settings in ["takes = {\"test-\" = [\"image\"]}", "takes = {test-model = [], \"t\" = [\"pdf\"]}"] {
        let provider = ok();
        let place = place(&provider, settings, "  - {id: read, step_type: prompt_call, prompt_template: Read}");
        result(&place, &[]);
        let sent = parts(&provider);
        let text = sent[0][0]["text"].as_str().unwrap_or_else(|| panic!("{}", sent[0]));
        assert!(text.contains("Invoice 2026-117") && text.contains("380.50 EUR"), "{settings} {text}");
        assert_eq!(sent[0].as_array().map(Vec::len), Some(3), "two documents and the prompt: {}", sent[0]);
    }
}

#[test]
fn rules_selectors_and_templates_choose_what_a_model_gets() {
    for (field, expected) in [
        ("attachments: \"*.pdf\"", &["invoice.pdf"][..]),
        ("attachments: offer.docx", &["offer.docx"]),
        ("attachments: \"attachments[0]\"", &["invoice.pdf"]),
        ("attachments: all", &["invoice.pdf", "offer.docx"]),
        ("attachments: \"{{attachments[*.docx]}}\"", &["offer.docx"]),
        ("attachments: \"{{input}}\"", &["invoice.pdf", "offer.docx"]),
        ("attachments: []", &[]),
        ("attachment_rules: [{source: agent, kind: index, index: 1}]", &["offer.docx"]),
        ("attachment_rules: [{kind: name, name: offer.docx}, {kind: all}]", &["offer.docx", "invoice.pdf"]),
    ] {
        let provider = ok();
        let step = format!("  - {{id: read, step_type: prompt_call, prompt_template: Read, {field}}}");
        let place = place(&provider, "", &step);
        result(&place, &[]);
        let sent = parts(&provider)[0].to_string();
        let mut names = ["invoice.pdf", "offer.docx"].map(|name| (sent.find(name), name)).to_vec();
        names.retain(|(place, _)| place.is_some());
        names.sort();
        assert_eq!(names.iter().map(|(_, name)| *name).collect::<Vec<_>>(), expected, "{field}: {sent}");
    }
}

#[test]
fn templates_read_the_manifest_and_its_attachments() {
    let provider = ok();
    let step = "  - {id: show, step_type: text, template: \"{{input.text}}|{{attachments[0].name}}|\
                {{attachments[offer.docx].mime}}|{{attachments[*.csv]}}|{{input.attachments.1.name}}\"}";
    let shown = result(&place(&provider, "", step), &["-i", "input=hello"]);
    let mime = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    assert_eq!(shown, format!("hello|invoice.pdf|{mime}|[]|offer.docx"));
}

#[test]
fn contents_are_written_and_loaded_without_settings() {
    let provider = ok();
    let steps = r#"
  - {id: pdf, step_type: load_content_attachment, attachment_key: "{{attachments[0].storage_key}}"}
  - {id: write, step_type: write_content_attachment, attachment_key: out/summary.md, content: "Sum: {{input}}", content_type: text/markdown}
  - {id: made, step_type: text, template: "{{attachments[0].name}} {{attachments[0].mime}}"}
  - {id: load, step_type: load_content_attachment, attachment_key: out/summary.md}
  - {id: docx, step_type: load_content, content_version_id: offer.docx}
  - {id: all, step_type: text, template: "{{step.made.output}}|{{step.load.output}}|{{step.docx.output}}"}
"#;
    let place = place(&provider, "", steps);
    let shown = result(&place, &[]);
    let shown = shown.as_str().expect("a text");
    assert!(shown.starts_with("summary.md text/markdown|Sum: ") && shown.contains("Invoice 2026-117"), "{shown}");
    assert!(shown.contains("Dear Ms Okafor"), "{shown}");
}

#[test]
fn a_step_that_writes_or_emits_a_manifest_is_a_source_of_attachments() {
    let provider = Provider::new(vec![Does::Says("a"), Does::Says("b")]);
    let steps = r#"
  - {id: gen, step_type: write_content_attachment, attachment_key: gen.csv, content: "a,b", content_type: text/csv}
  - {id: between, step_type: text, template: "something else"}
  - id: loop
    step_type: for_each
    iterate_attachments: true
    attachment_rules: [{source: step, step_id: gen, kind: pattern, pattern: "*.csv"}, {source: agent, kind: name, name: invoice.pdf}]
    body: [{id: b, step_type: text, template: "{{step.loop.item.name}} {{attachments[0].name}}"}]
"#;
    let shown = result(&place(&provider, "", steps), &[]);
    assert_eq!(shown, serde_json::json!(["gen.csv gen.csv", "invoice.pdf invoice.pdf"]));
}

#[test]
fn a_called_workflow_and_an_agent_can_read_the_files_of_the_run_that_called_them() {
    let provider = ok();
    let steps = "  - {id: call, step_type: call_workflow, workflow: inner, input: \"{{input}}\"}";
    let place = place(&provider, "", steps);
    let inner = "name: inner\nsteps:\n  - {id: read, step_type: agent, prompt: Read, tools: [web_fetch]}\n";
    fs::write(place.path().join("inner.yaml"), inner).expect("files can be written");
    result(&place, &[]);
    let sent = parts(&provider)[0].to_string();
    assert!(sent.contains("invoice.pdf") && sent.contains("Service\\tPrice"), "{sent}");
}

#[test]
fn secrets_are_redacted_in_extracted_text() {
    let provider = ok();
    let steps = "  - {id: read, step_type: prompt_call, prompt_template: Read, attachments: \"{{input}}\"}";
    let place = place(&provider, "", steps);
    fs::write(place.path().join("notes.txt"), "the key is hunter2-hunter2").expect("files can be written");
    let arguments = ["--attach", "notes.txt", "-i", "metadata.API_KEY=hunter2-hunter2"];
    exits(&run(&place, &arguments), 0);
    let sent = parts(&provider)[0].to_string();
    assert!(sent.contains("the key is ***") && !sent.contains("hunter2"), "{sent}");
}

#[test]
fn a_dry_run_has_attachments_too() {
    let provider = ok();
    let step = "  - {id: show, step_type: text, template: \"{{attachments[*.pdf]}}\"}";
    let place = place(&provider, "", step);
    let shown = result(&place, &["--dry-run"]);
    assert_eq!(shown[0]["name"], "invoice.pdf", "{shown}");
    assert!(Value::from(shown[0]["storage_key"].as_str().expect("a key")).to_string().starts_with("sha256:"));
    assert!(!place.store().exists(), "nothing is kept");
}
