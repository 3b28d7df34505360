//! Whether two files hold the same.
//!
//! An import that was interrupted may only be continued with the same source. Its name, size or place say too
//! little: the file may have been moved, or duroxide may have run on it meanwhile. So its identity is a hash
//! of all rows. It does not change when the log is copied into the file, and does when anything runs.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

/// What is hashed: every table, in an order that does not depend on where rows are stored.
const TABLES: &[(&str, &str)] = &[
    ("instances", "instance_id"),
    ("executions", "instance_id, execution_id"),
    ("history", "instance_id, execution_id, event_id"),
    ("orchestrator_queue", "id"),
    ("worker_queue", "id"),
    ("timer_queue", "id"),
    ("instance_locks", "instance_id"),
    ("sessions", "session_id"),
    ("kv_store", "instance_id, key"),
    ("kv_delta", "instance_id, key"),
];

/// Returns the identity of a source.
pub(super) fn fingerprint(connection: &Connection) -> rusqlite::Result<String> {
    let mut hash = Fnv::new();
    for (table, order) in TABLES {
        hash.add(table.as_bytes());
        let mut statement = connection.prepare(&format!("SELECT * FROM {table} ORDER BY {order}"))?;
        let columns = statement.column_count();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            add_row(&mut hash, row, columns)?;
        }
    }
    Ok(format!("{:032x}", hash.0))
}

fn add_row(hash: &mut Fnv, row: &Row<'_>, columns: usize) -> rusqlite::Result<()> {
    for column in 0..columns {
        match row.get_ref(column)? {
            ValueRef::Null => hash.add(b"n"),
            ValueRef::Integer(number) => {
                hash.add(b"i");
                hash.add(&number.to_le_bytes());
            }
            ValueRef::Real(number) => {
                hash.add(b"r");
                hash.add(&number.to_bits().to_le_bytes());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                hash.add(b"t");
                hash.add(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
                hash.add(bytes);
            }
        }
    }
    Ok(())
}

/// FNV-1a of 128 bits: it is the same in every release, which the standard library's hasher does not promise.
struct Fnv(u128);

impl Fnv {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_the_published_one() {
        let mut hash = Fnv::new();
        hash.add(b"a");
        assert_eq!(hash.0, 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
