use super::*;

/// `want` is the instant in canonical text, or empty when the text must be refused.
#[track_caller]
fn check(text: &str, want: &str) {
    let got = parse_strict(text).map(|instant| instant.to_string()).unwrap_or_default();
    assert_eq!(got, want, "strict {text:?}");
    if !want.is_empty() {
        assert_eq!(parse_iso(text), parse_strict(text), "steps take what flow takes: {text:?}");
    }
}

#[test]
fn strict_text_takes_both_spellings_of_each_part() {
    check("2024-05-01", "2024-05-01T00:00:00Z");
    check("20240501", "2024-05-01T00:00:00Z");
    check("2024-05-01T10:15", "2024-05-01T10:15:00Z");
    check("2024-05-01 10:15:59", "2024-05-01T10:15:59Z");
    check("20240501T101500+0200", "2024-05-01T08:15:00Z");
    check("20240501T1015", "2024-05-01T10:15:00Z");
    check("20240501 1015Z", "2024-05-01T10:15:00Z");
    check("2024-05-01T1015", "2024-05-01T10:15:00Z");
    check("20240501T10:15:00", "2024-05-01T10:15:00Z");
    check("2024-05-01T12:00:00+02:00", "2024-05-01T10:00:00Z");
    check("2024-05-01T12:00:00+02", "2024-05-01T10:00:00Z");
    check("2024-05-01T23:30:00-0200", "2024-05-02T01:30:00Z");
    check("2024-05-01T12:00-00:00", "2024-05-01T12:00:00Z");
    check("2024-05-01T12:00+23:59", "2024-04-30T12:01:00Z");
    check("2024-02-29", "2024-02-29T00:00:00Z");
    check("\u{a0}\t 2024-05-01 \u{2003}\n", "2024-05-01T00:00:00Z");
}

#[test]
fn fractions_are_kept_to_the_nanosecond() {
    check("2024-05-01T00:00:00.5", "2024-05-01T00:00:00.5Z");
    check("2024-05-01T00:00:00,250", "2024-05-01T00:00:00.25Z");
    check("2024-05-01T00:00:00.123456789Z", "2024-05-01T00:00:00.123456789Z");
    check("2024-05-01T00:00:00.1234567899999Z", "2024-05-01T00:00:00.123456789Z");
    check("2024-05-01T000000.000000001+00", "2024-05-01T00:00:00.000000001Z");
    check("2024-05-01T00:00:00.0000000009", "2024-05-01T00:00:00Z");
    check("1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999Z");
}

#[test]
fn strict_text_refuses_everything_else() {
    for text in [
        "",
        " ",
        "soon",
        "2024",
        "2024-05",
        "202405",
        "2024-5-1",
        "24-05-01",
        "2024-0501",
        "202405-01",
        "2024/05/01",
        "2024-13-01",
        "2024-00-01",
        "2024-02-30",
        "2023-02-29",
        "2024-04-31",
        "2024-05-00",
        "2024-W01-1",
        "2024W011",
        "2024-123",
        "2024123",
        "2024-05-01T",
        "2024-05-01T10",
        "2024-05-01T10:1",
        "2024-05-01T10:15:",
        "2024-05-01T24:00",
        "2024-05-01T23:60",
        "2024-05-01T23:59:60",
        "2024-05-01T10:1500",
        "2024-05-01T1015:00",
        "2024-05-01T101",
        "2024-05-01T10:15.5",
        "2024-05-01T10:15:00.",
        "2024-05-01T10:15:00.Z",
        "2024-05-01  10:15",
        "2024-05-01t10:15",
        "2024-05-01T10:15z",
        "2024-05-01Z",
        "2024-05-01+02:00",
        "2024-05-01T10:15 Z",
        "2024-05-01T10:15+2",
        "2024-05-01T10:15+02:",
        "2024-05-01T10:15+24:00",
        "2024-05-01T10:15+02:60",
        "2024-05-01T10:15+020",
        "2024-05-01T10:15ZZ",
        "2024-05-01T10:15+02:00:00",
        "2024-05-01T10:15:00Z[UTC]",
        "٢٠٢٤-٠٥-٠١",
        "2024-05-0é",
        "+2024-05-01",
        "-2024-05-01",
        "12024-05-01",
        "0000-01-01",
        "2024-05-01T+1:15",
        "0001-01-01T00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2024-05-01T\u{2212}1:15",
        "2024-05-01\0",
    ] {
        check(text, "");
    }
}

#[test]
fn the_calendar_ends_with_the_years_1_and_9999() {
    check("0001-01-01", "0001-01-01T00:00:00Z");
    check("0001-01-01T01:00+01:00", "0001-01-01T00:00:00Z");
    check("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z");
    check("9999-12-31T22:59:59-01", "9999-12-31T23:59:59Z");
}

#[test]
fn steps_also_take_lower_case_letters() {
    assert_eq!(parse_iso("2024-05-01t10:15z"), parse_iso("2024-05-01T10:15Z"));
    assert!(parse_iso("2024-05-01t10:15z").is_some());
    assert!(parse_iso("2024-05-01x10:15").is_none());
}

#[test]
fn case_matches_must_have_the_format_exactly() {
    for (text, date, datetime) in [
        ("2026-02-17", true, true),
        ("20260217", false, true),
        ("2026-02-30", false, false),
        (" 2026-02-17", false, false),
        ("2026-02-17T14:30:00Z", false, true),
        ("2026-02-17T14:30", false, true),
        ("2026-02-17 14:30", false, true),
        ("17/02/2026", false, false),
        ("", false, false),
        ("2026-2-017", false, false),
        ("2026-02-17T14:30 ", false, false),
    ] {
        assert_eq!((is_date_format(text), is_datetime_format(text)), (date, datetime), "{text:?}");
    }
}

#[track_caller]
fn check_float(seconds: f64, want: &str) {
    assert_eq!(
        Instant::from_unix_seconds_float(seconds).map(|instant| instant.to_string()).unwrap_or_default(),
        want,
        "{seconds}"
    );
}

#[test]
fn numbers_are_unix_seconds() {
    check_float(1.5, "1970-01-01T00:00:01.5Z");
    check_float(-1.5, "1969-12-31T23:59:58.5Z");
    check_float(0.0, "1970-01-01T00:00:00Z");
    check_float(-0.0, "1970-01-01T00:00:00Z");
    check_float(1_714_521_600.5, "2024-05-01T00:00:00.5Z");
    check_float(1_714_521_600.1, "2024-05-01T00:00:00.1Z");
    check_float(1e-9, "1970-01-01T00:00:00.000000001Z");
    check_float(1e-300, "1970-01-01T00:00:00Z");
    check_float(253_402_300_799.5, "9999-12-31T23:59:59.5Z");
    for beyond in [253_402_300_800.0, -62_135_596_800.5, 1e12, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        check_float(beyond, "");
    }
    let whole = |seconds| Instant::from_unix_seconds_int(seconds).map(|instant| instant.to_string());
    assert_eq!(whole(1_714_521_600).as_deref(), Some("2024-05-01T00:00:00Z"));
    assert_eq!(whole(-62_135_596_800).as_deref(), Some("0001-01-01T00:00:00Z"));
    assert_eq!(whole(253_402_300_799).as_deref(), Some("9999-12-31T23:59:59Z"));
    for beyond in [-62_135_596_801, 253_402_300_800, i64::MIN, i64::MAX] {
        assert_eq!(whole(beyond), None);
    }
}

#[test]
fn instants_compare_by_time_and_dates_by_utc_day() {
    let at = |text| parse_strict(text).expect(text);
    assert_eq!(at("2024-05-01T02:00:00+02:00"), at("2024-05-01"));
    assert!(at("2024-05-01T00:00:00.000000001") > at("2024-05-01"));
    assert_eq!(at("2024-05-01T23:00:00-02:00").date(), at("2024-05-02").date());
    assert!(at("1969-12-31T23:59:59.9").date() < at("1970-01-01").date());
    assert_eq!(at("1970-01-01T00:00:01").0, NANOS_PER_SECOND);
}

#[track_caller]
fn check_relative(phrase: &str, want: &str) {
    // A Wednesday.
    let now = parse_strict("2026-02-18T12:00:00.5Z").expect("the clock of these cases");
    let got = RelativeTime::parse(phrase).and_then(|phrase| phrase.resolve(now));
    assert_eq!(got.map(|instant| instant.to_string()).unwrap_or_default(), want, "{phrase:?}");
}

#[test]
fn relative_phrases_resolve_against_the_moment() {
    check_relative("now", "2026-02-18T12:00:00.5Z");
    check_relative("today", "2026-02-18T00:00:00Z");
    check_relative("Yesterday", "2026-02-17T00:00:00Z");
    check_relative("this week", "2026-02-16T00:00:00Z");
    check_relative("LAST\t week", "2026-02-09T00:00:00Z");
    check_relative("7 days ago", "2026-02-11T12:00:00.5Z");
    check_relative("  3  Days AGO ", "2026-02-15T12:00:00.5Z");
    check_relative("1 week ago", "2026-02-11T12:00:00.5Z");
    check_relative("2 weeks from now", "2026-03-04T12:00:00.5Z");
    check_relative("1 minute from now", "2026-02-18T12:01:00.5Z");
    check_relative("30 minutes ago", "2026-02-18T11:30:00.5Z");
    check_relative("1 hours ago", "2026-02-18T11:00:00.5Z");
    check_relative("0 days ago", "2026-02-18T12:00:00.5Z");
    check_relative("007 days ago", "2026-02-11T12:00:00.5Z");
}

#[test]
fn relative_phrases_outside_the_list_are_refused() {
    for phrase in [
        "",
        " ",
        "soon",
        "next tuesday",
        "tomorrow",
        "next week",
        "ago",
        "days ago",
        "a day ago",
        "-1 days ago",
        "+1 days ago",
        "1.5 days ago",
        "1 days",
        "1days ago",
        "1 month ago",
        "1 second ago",
        "1 day from",
        "now now",
        "in 2 days",
        "٣ days ago",
        "thisweek",
        "99999999999999999999 days ago",
    ] {
        check_relative(phrase, "");
        assert_eq!(RelativeTime::parse(phrase), None, "{phrase:?}");
    }
}

#[test]
fn relative_phrases_that_leave_the_calendar_resolve_to_nothing() {
    for phrase in ["18446744073709551615 weeks ago", "18446744073709551615 weeks from now", "4000000 days ago"] {
        assert!(RelativeTime::parse(phrase).is_some(), "{phrase:?}");
        check_relative(phrase, "");
    }
    let first = parse_strict("0001-01-01").expect("the first day, a Monday");
    assert_eq!(RelativeTime::parse("this week").and_then(|phrase| phrase.resolve(first)), Some(first));
    for phrase in ["yesterday", "last week"] {
        assert_eq!(RelativeTime::parse(phrase).and_then(|phrase| phrase.resolve(first)), None);
    }
}
