//! What an application calls: start, signal, wait for, look at and manage orchestrations.
//!
//! A [`Client`] is a store and a little patience. It runs nothing: it sends messages that a runtime takes up, and reads what
//! turns have written. It works in any process that reaches the store, beside a runtime or far away from one.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use abide_client::{Client, ClientError};
//! use abide_memory::InMemoryProvider;
//! use abide_model::OrchestrationStatus;
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let client = Client::new(Arc::new(InMemoryProvider::new()));
//! client.start_orchestration("order-1", "Ship", "two boxes").await?;
//!
//! // No runtime has taken it up yet, but it is there.
//! let status = client.get_orchestration_status("order-1").await?;
//! assert!(matches!(status, OrchestrationStatus::Running { .. }));
//! let ended = client.wait_for_orchestration("order-1", Duration::from_millis(5)).await;
//! assert!(matches!(ended, Err(ClientError::Timeout)));
//! # Ok::<(), ClientError>(())
//! # }).unwrap();
//! ```
//!
//! Start with `client.rs`. Then `call.rs`, one call of the store; `retry.rs`, a message that is sent until the store has it, and
//! never twice; `wait.rs`, the one loop behind every `wait_*`.
//!
//! Deliberately absent: an async runtime, logging, and a cache. Every answer is the store's.

mod client;

mod call;
mod retry;
mod validate;

mod signal;
mod start;
mod start_request;

mod blocked;
mod describe;
mod query;
mod wait;

mod manage;

mod error;

pub use client::{Client, ClientBuilder};
pub use describe::{ActivityDescription, Description, InstanceState, OperationDescription};
pub use error::{ClientError, StartError};
pub use manage::Instances;
pub use start_request::{StartRequest, Started};
