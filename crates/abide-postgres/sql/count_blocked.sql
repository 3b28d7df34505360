SELECT k.kind, count(*) FROM abide.block AS k WHERE k.kind IS NOT NULL GROUP BY k.kind
UNION ALL
SELECT 'quarantine', count(*) FROM abide.work AS w WHERE w.held_since > 0
