-- Every instance there is.
SELECT id FROM abide.instance WHERE status <> '' ORDER BY created_at DESC, no DESC
