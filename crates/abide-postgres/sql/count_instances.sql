SELECT status, count(*) FROM abide.instance WHERE status <> '' GROUP BY status
