//! W16: which SQLite is linked.

use abide_sqlite::SqliteProvider;

/// The first release in which two connections that commit and checkpoint at once cannot corrupt the log.
const SOUND: (u32, u32, u32) = (3, 51, 3);

#[tokio::test]
async fn w16_the_linked_sqlite_has_no_known_way_to_corrupt_its_log() {
    let store = SqliteProvider::new_in_memory().await.unwrap();
    let version = store
        .inspect(|rows| rows.query_row("SELECT sqlite_version()", [], |row| row.get::<_, String>(0)))
        .await
        .unwrap()
        .unwrap();
    let parts: Vec<u32> = version.split('.').map(|part| part.parse().unwrap()).collect();
    assert!((parts[0], parts[1], parts[2]) >= SOUND, "{version}");
}
