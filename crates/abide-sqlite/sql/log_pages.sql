-- How many pages the log has, in the second column; copies nothing (SQLite 3.51 and newer).
PRAGMA wal_checkpoint(NOOP)
