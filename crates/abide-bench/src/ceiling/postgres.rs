//! The writer of a PostgreSQL database: one connection, and one statement for each group.

use tokio_postgres::NoTls;

use super::{Inbox, ROW_BYTES, next_group, tell_all};
use crate::store::Fallible;
use crate::workloads::place::spawn;

const TABLE: &str = "
    DROP TABLE IF EXISTS log;
    CREATE TABLE log (instance bigint NOT NULL, step bigint NOT NULL, data text NOT NULL);
    CREATE INDEX log_by_instance ON log (instance, step);";

const INSERT: &str = "
    INSERT INTO log SELECT instance, step, $3 FROM unnest($1::bigint[], $2::bigint[]) AS it (instance, step)";

/// Ends when all callers have.
pub(crate) async fn write(url: String, mut inbox: Inbox) -> Fallible<()> {
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    let connection = spawn(connection);
    client.batch_execute(TABLE).await?;
    let insert = client.prepare(INSERT).await?;
    let data = "x".repeat(ROW_BYTES);
    loop {
        let group = next_group(&mut inbox).await;
        if group.is_empty() {
            break;
        }
        let instances: Vec<i64> = group.iter().map(|row| row.instance).collect();
        let steps: Vec<i64> = group.iter().map(|row| row.step).collect();
        client.execute(&insert, &[&instances, &steps, &data]).await?;
        tell_all(group);
    }
    drop(client);
    connection.await??;
    Ok(())
}
