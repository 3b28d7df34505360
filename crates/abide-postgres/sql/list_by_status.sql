SELECT id FROM abide.instance WHERE status <> '' AND status = $1 ORDER BY created_at DESC, no DESC
