//! Stores, and what it takes to write one.
//!
//! [`sqlite`] is the embedded store, for one machine; [`memory`] forgets everything with the process, and is for tests.
//! A store of one's own implements [`Provider`]: nineteen methods, and more if it wants to be fast. Whether it keeps the
//! contract is shown by the validations behind the feature `provider-test`.

#[doc(inline)]
pub use abide_provider::*;

/// What became of a call that failed.
pub mod error {
    pub use abide_provider::{AdminRefusal, ErrorKind, Operation, ProviderError, Rejection, StoreError};
}

/// A provider that measures another.
pub mod instrumented {
    pub use abide_runtime::observability::InstrumentedProvider;
}

/// A store in memory, for tests.
pub mod memory {
    pub use abide_memory::InMemoryProvider;
}

/// A store on an embedded SQLite file.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use abide_sqlite::{Durability, OpenError, SqliteBuilder, SqliteOptions, SqliteProvider};
}
