-- The next tag that has anything ready: a loose scan, one seek per tag.
-- Plan: work_ready.
SELECT tag FROM work WHERE visible_at = 0 AND lease IS NULL AND session IS NULL AND tag > ?1 ORDER BY tag LIMIT 1
