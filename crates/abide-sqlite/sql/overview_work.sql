-- The oldest activities of an execution. A lease is of a process; if that has one node, the node is known.
-- Plan: node_owner.
SELECT w.activity, w.attempts, w.visible_at, w.held_since IS NOT NULL, iif(w.lease IS NULL, NULL, w.leased_until),
       (SELECT iif(count(*) = 1, min(n.id), NULL) FROM node AS n WHERE n.owner = w.owner),
       (SELECT r.activity FROM work_route AS r WHERE r.no = w.route), w.tag
FROM work AS w WHERE w.mailbox = ?1 AND w.execution = ?2 ORDER BY w.activity, w.no LIMIT ?3
