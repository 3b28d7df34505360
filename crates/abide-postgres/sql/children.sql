SELECT id FROM abide.instance WHERE parent = $1 AND parent IS NOT NULL AND length(status) > 0 ORDER BY created_at, no
