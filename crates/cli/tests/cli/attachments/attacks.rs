//! Files that are not what they seem.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;

use super::super::running::{Place, err, exits, out};
use super::{ok, parts, place, run};

const READ: &str = "  - {id: read, step_type: prompt_call, prompt_template: Read, attachments: \"*\"}";

#[track_caller]
fn is_rejected(place: &Place, arguments: &[&str], reason: &str) {
    let output = run(place, arguments);
    exits(&output, 1);
    assert!(err(&output).contains(reason), "{reason}: {}", err(&output));
}

#[test]
fn only_regular_files_within_the_limits_are_attached() {
    let provider = ok();
    let place = place(&provider, "", READ);
    let path = |name: &str| place.path().join(name);
    assert!(Command::new("mkfifo").arg(path("pipe.pdf")).status().expect("there is a mkfifo").success());
    symlink("/dev/zero", path("zero.pdf")).expect("a link");
    symlink("pipe.pdf", path("link.pdf")).expect("a link");
    symlink("nowhere", path("dangling.pdf")).expect("a link");
    fs::create_dir(path("folder.pdf")).expect("a folder");
    for name in ["pipe.pdf", "/dev/zero", "zero.pdf", "link.pdf", "folder.pdf", "."] {
        let reason = if name == "." { "its name is not text" } else { "it is not a regular file" };
        is_rejected(&place, &["--attach", name], reason);
    }
    is_rejected(&place, &["--attach", "dangling.pdf"], "cannot attach dangling.pdf");
    is_rejected(&place, &["--attach", "missing.pdf"], "cannot attach missing.pdf");
    is_rejected(&place, &["--attach", ".."], "cannot attach ..");
    let large = fs::File::create(path("large.bin")).expect("a file");
    large.set_len(20 * 1024 * 1024 + 1).expect("a sparse file");
    is_rejected(&place, &["--attach", "large.bin"], "cannot attach large.bin: it has more than the 20971520 bytes");
    large.set_len(20 * 1024 * 1024).expect("a sparse file");
    let four = ["--attach", "large.bin", "--attach", "large.bin", "--attach", "large.bin", "--attach", "large.bin"];
    is_rejected(&place, &four, "at most 67108864 are allowed");
    let many: Vec<&str> = std::iter::repeat_n(["--attach", "invoice.pdf"], 21).flatten().collect();
    is_rejected(&place, &many, "21 files are attached, but at most 20 are allowed");
    fs::write(path("a\nb.pdf"), "x").expect("a file");
    is_rejected(&place, &["--attach", "a\nb.pdf"], "control characters");
    assert!(!place.store().exists(), "nothing was stored");
    // A link to a file is that file, under the name of the link.
    symlink("invoice.pdf", path("mine.pdf")).expect("a link");
    exits(&run(&place, &["--attach", "mine.pdf"]), 0);
    assert!(parts(&provider)[0].to_string().contains("mine.pdf"));
}

#[test]
fn only_workflows_of_steps_have_attachments() {
    let provider = ok();
    let place = place(&provider, "", READ);
    let machine = "name: m\nstates:\n  initial: done\n  done: {type: terminal}\n";
    fs::write(place.path().join("t.yaml"), machine).expect("files can be written");
    is_rejected(&place, &["--attach", "invoice.pdf"], "only workflows of steps have attachments");
}

#[test]
fn damaged_and_hostile_documents_fail_the_step_and_nothing_else() {
    let provider = ok();
    let place = place(&provider, "takes = {test-model = [\"image\"]}", READ);
    let pdf = fs::read(place.path().join("invoice.pdf")).expect("it reads");
    fs::write(place.path().join("cut.pdf"), &pdf[..pdf.len() / 2]).expect("a file");
    fs::write(place.path().join("fake.pdf"), "no PDF at all").expect("a file");
    fs::write(place.path().join("fake.docx"), "no archive").expect("a file");
    fs::write(place.path().join("latin.txt"), b"M\xfcller").expect("a file");
    fs::write(place.path().join("odd.bin"), b"\x00\xff\x01").expect("a file");
    bomb(&place.path().join("bomb.docx"));
    for (name, reason) in [
        ("cut.pdf", "cannot be read"),
        ("fake.pdf", "cannot be read"),
        ("fake.docx", "cannot be read"),
        ("bomb.docx", "unpacks to more than"),
        ("latin.txt", "is not text in UTF-8"),
        ("odd.bin", "does not accept the attachment"),
    ] {
        let output = run(&place, &["--attach", name]);
        exits(&output, 3);
        let printed = err(&output) + &out(&output);
        assert!(printed.contains(reason) && printed.contains(name), "{name}: {printed}");
    }
    assert!(provider.requests().is_empty(), "nothing was sent");
}

/// A small DOCX file that unpacks to far more than is read.
fn bomb(path: &std::path::Path) {
    let mut archive = zip::ZipWriter::new(fs::File::create(path).expect("a file"));
    archive.start_file("word/document.xml", zip::write::SimpleFileOptions::default()).expect("it begins");
    let zeros = vec![b' '; 1024 * 1024];
    for _ in 0..65 {
        archive.write_all(&zeros).expect("it is written");
    }
    archive.finish().expect("it ends");
    assert!(fs::metadata(path).expect("it is there").len() < 1024 * 1024);
}

#[test]
fn forged_keys_read_no_files_of_other_runs() {
    let provider = ok();
    let place = place(&provider, "", "  - {id: l, step_type: load_content, content_version_id: \"{{input}}\"}");
    exits(&run(&place, &["--id", "owner", "--attach", "invoice.pdf"]), 3);
    let sum = Command::new("sha256sum").arg(place.path().join("invoice.pdf")).output().expect("there is a sha256sum");
    let key = format!("input=sha256:{}", &out(&sum)[..64]);
    let output = run(&place, &["-i", &key]);
    exits(&output, 3);
    assert!(err(&output).contains("the run has no attachment `sha256:"), "{}", err(&output));
    for key in ["input=../../etc/passwd", "input=/etc/passwd", "input=sha256:../x", "input="] {
        let output = run(&place, &["-i", key]);
        exits(&output, 3);
        assert!(err(&output).contains("the run has no attachment"), "{key}: {}", err(&output));
    }
}
