SELECT count(*) FROM abide.instance WHERE status <> '' AND status IN ('Running', 'ContinuedAsNew')
