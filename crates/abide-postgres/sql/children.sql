SELECT id FROM abide.instance WHERE parent = $1 AND parent IS NOT NULL AND status <> '' ORDER BY created_at, no
