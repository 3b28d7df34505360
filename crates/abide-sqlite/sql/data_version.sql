-- Moves when another connection, in this process or another, has committed.
PRAGMA data_version
