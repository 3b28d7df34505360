SELECT (SELECT count(*) FROM abide.execution), (SELECT coalesce(sum(length), 0)::bigint FROM abide.turn)
