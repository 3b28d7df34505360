//! What people and programs read when something failed.

use abide_model::{AppErrorKind, ConfigErrorKind, ErrorDetails, PoisonMessageType};
use expect_test::{Expect, expect};

fn check(details: &ErrorDetails, expected: &Expect) {
    let side = if details.is_system() { "system" } else { "code" };
    let again = if details.is_retryable() { "retryable" } else { "final" };
    expected.assert_eq(&format!("{} | {side} | {again} | {details}", details.category()));
    assert_eq!(details.display_message(), details.to_string());
}

fn application(kind: AppErrorKind) -> ErrorDetails {
    ErrorDetails::Application { kind, message: "card declined".into(), retryable: true }
}

fn configuration(message: Option<&str>) -> ErrorDetails {
    ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: "Order".into(),
        message: message.map(Into::into),
    }
}

fn poison(message_type: PoisonMessageType) -> ErrorDetails {
    ErrorDetails::Poison { attempt_count: 11, max_attempts: 10, message_type, message: "{}".into() }
}

#[test]
fn infrastructure_errors_name_the_operation() {
    let error = |retryable| ErrorDetails::Infrastructure {
        operation: "ack".into(),
        message: "disk full".into(),
        retryable,
    };
    check(&error(true), &expect!["infrastructure | system | retryable | infrastructure:ack: disk full"]);
    check(&error(false), &expect!["infrastructure | system | final | infrastructure:ack: disk full"]);
}

#[test]
fn configuration_errors_say_what_was_found_or_where() {
    check(
        &configuration(Some("history schedule but no emitted action")),
        &expect!["configuration | system | final | nondeterministic: history schedule but no emitted action"],
    );
    check(&configuration(None), &expect!["configuration | system | final | nondeterministic in Order"]);
}

#[test]
fn application_errors_speak_for_themselves() {
    check(
        &application(AppErrorKind::ActivityFailed),
        &expect!["application | code | retryable | card declined"],
    );
    check(
        &application(AppErrorKind::OrchestrationFailed),
        &expect!["application | code | retryable | card declined"],
    );
    check(
        &application(AppErrorKind::Panicked),
        &expect!["application | code | retryable | orchestration panicked: card declined"],
    );
    check(
        &application(AppErrorKind::Cancelled { reason: "user asked".into() }),
        &expect!["application | code | retryable | canceled: user asked"],
    );
}

#[test]
fn poison_errors_name_what_was_given_up() {
    check(
        &poison(PoisonMessageType::Orchestration { instance: "order-1".into(), execution_id: 2 }),
        &expect!["poison | system | final | poison: orchestration order-1 exceeded 11 attempts (max 10)"],
    );
    check(
        &poison(PoisonMessageType::Activity {
            instance: "order-1".into(),
            execution_id: 2,
            activity_name: "Charge".into(),
            activity_id: 4,
        }),
        &expect!["poison | system | final | poison: activity Charge#4 exceeded 11 attempts (max 10)"],
    );
    check(
        &poison(PoisonMessageType::FailedDeserialization {
            instance: "order-1".into(),
            execution_id: 2,
            error: "unknown variant".into(),
        }),
        &expect![
            "poison | system | final | poison: orchestration order-1 history deserialization failed after 11 attempts (max 10): unknown variant"
        ],
    );
}

#[test]
fn details_are_an_error() {
    let boxed: Box<dyn std::error::Error> = Box::new(application(AppErrorKind::Panicked));
    assert_eq!(boxed.to_string(), "orchestration panicked: card declined");
}
