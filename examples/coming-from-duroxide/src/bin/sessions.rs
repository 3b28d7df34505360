//! Activities of one session run on one node, which can therefore keep something in memory between them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use coming_from_duroxide::TemporaryDatabase;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, RuntimeOptions};

async fn converse(ctx: OrchestrationContext, topic: String) -> Result<Vec<String>, String> {
    let session = format!("about {topic}");
    ctx.schedule_activity_on_session("Load", topic, session.as_str()).await?;
    let mut answers = Vec::new();
    for question in ["what", "why"] {
        let answer = ctx.schedule_activity_on_session("Ask", question, session.as_str()).await?;
        answers.push(answer);
    }
    Ok(answers)
}

/// The activities of one node, and what it has in memory.
fn node() -> ActivityRegistry {
    let loaded: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let asked = loaded.clone();
    ActivityRegistry::builder()
        .register("Load", move |ctx: ActivityContext, topic: String| {
            let loaded = loaded.clone();
            async move {
                let session = ctx.session_id().ok_or("no session")?.to_string();
                loaded.lock().unwrap_or_else(PoisonError::into_inner).insert(session, topic);
                Ok(String::new())
            }
        })
        .register("Ask", move |ctx: ActivityContext, question: String| {
            let loaded = asked.clone();
            async move {
                let session = ctx.session_id().ok_or("no session")?;
                let memory = loaded.lock().unwrap_or_else(PoisonError::into_inner);
                let topic = memory.get(session).ok_or("another node has it in memory")?;
                Ok(format!("{question} {topic}"))
            }
        })
        .build()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let database = TemporaryDatabase::new()?;
    let store = Arc::new(SqliteProvider::new(&database.url(), None).await?);

    let orchestrations = OrchestrationRegistry::builder().register_typed("Converse", converse).build();
    let mut nodes = Vec::new();
    for name in ["left", "right"] {
        let options = RuntimeOptions {
            worker_node_id: Some(name.to_string()),
            max_sessions_per_runtime: 5,
            session_idle_timeout: Duration::from_secs(60),
            ..Default::default()
        };
        let orchestrations = orchestrations.clone();
        nodes.push(Runtime::start_with_options(store.clone(), node(), orchestrations, options).await);
    }
    let client = Client::new(store);

    let topics = ["rust", "tea", "time", "trains"];
    for topic in topics {
        client.start_orchestration_typed(topic, "Converse", topic).await?;
    }
    for topic in topics {
        let answers: Vec<String> =
            client.wait_for_orchestration_typed(topic, Duration::from_secs(10)).await??;
        println!("{}", answers.join(", "));
    }

    for node in nodes {
        node.shutdown(None).await;
    }
    Ok(())
}
