//! Starts, signals, waits for, looks at and manages orchestrations, from any process that reaches the store.
//!
//! Start with [`Client`]. What lists and filters instances, such as
//! [`InstanceQuery`](crate::providers::InstanceQuery), is with the [stores](crate::providers) that answer.

pub use abide_client::{
    ActivityDescription, Client, ClientBuilder, ClientError, Description, InstanceState, Instances,
    OperationDescription, StartError, StartRequest, Started,
};
pub use abide_model::{OpenOperation, Tries, WaitKind};
