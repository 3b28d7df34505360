-- Sessions that nobody owns any more and that have no work.
INSERT INTO session (name, owner, locked_until, last_active_at, held)
SELECT 'idle-' || i, 'other', 1, 1, 0 FROM temp.numbers;
