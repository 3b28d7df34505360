//! Steps that are taken back, in reverse order, if a later one fails.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, AppErrorKind, Client, ErrorDetails, OrchestrationContext, OrchestrationRegistry,
    OrchestrationStatus,
};

const STEPS: [(&str, &str); 3] =
    [("BookFlight", "CancelFlight"), ("BookHotel", "CancelHotel"), ("BookCar", "CancelCar")];

async fn book_trip(ctx: OrchestrationContext, traveller: String) -> Result<String, String> {
    let mut undo = Vec::new();
    for (book, cancel) in STEPS {
        match ctx.schedule_activity(book, traveller.as_str()).await {
            Ok(booking) => undo.push((cancel, booking)),
            Err(error) => {
                ctx.trace_warn(format!("{book} failed, taking back {} steps", undo.len()));
                for (cancel, booking) in undo.into_iter().rev() {
                    ctx.schedule_activity(cancel, booking).await?;
                }
                return Err(format!("{book}: {error}"));
            }
        }
    }
    Ok(format!("{} bookings for {traveller}", undo.len()))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    // What the booking systems have on their books.
    let books = Arc::new(Mutex::new(Vec::<String>::new()));
    let mut activities = ActivityRegistry::builder();
    for (book, cancel) in STEPS {
        let (added, removed) = (books.clone(), books.clone());
        activities = activities
            .register(book, move |_ctx: ActivityContext, traveller: String| {
                let books = added.clone();
                async move {
                    if book == "BookCar" && traveller == "Bob" {
                        return Err("no licence".to_string());
                    }
                    let booking = format!("{book}/{traveller}");
                    books.lock().unwrap_or_else(PoisonError::into_inner).push(booking.clone());
                    Ok(booking)
                }
            })
            .register(cancel, move |_ctx: ActivityContext, booking: String| {
                let books = removed.clone();
                async move {
                    books.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| *one != booking);
                    Ok(String::new())
                }
            });
    }
    let orchestrations = OrchestrationRegistry::builder().register("BookTrip", book_trip).build();
    let runtime = Runtime::start_with_store(store.clone(), activities.build(), orchestrations).await;
    let client = Client::new(store);

    for traveller in ["Ada", "Bob"] {
        let instance = format!("trip-{traveller}");
        client.start_orchestration(&instance, "BookTrip", traveller).await?;
        match client.wait_for_orchestration(&instance, Duration::from_secs(10)).await? {
            OrchestrationStatus::Completed { output, .. } => println!("{output}"),
            OrchestrationStatus::Failed {
                details: ErrorDetails::Application { kind: AppErrorKind::OrchestrationFailed, message, .. },
                ..
            } => println!("{traveller} stays at home: {message}"),
            OrchestrationStatus::Failed { details, .. } => return Err(details.display_message().into()),
            OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound => println!("not yet"),
        }
    }
    println!("booked: {}", books.lock().unwrap_or_else(PoisonError::into_inner).join(", "));

    runtime.shutdown(None).await;
    Ok(())
}
