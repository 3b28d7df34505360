-- One instance, with counts that stop at ?3, and ?4 bytes of its output: as bytes, because a text ends for substr at a
-- NUL. A lease is of a process; if that has one node, the node is known. Column order: `read_instance`.
-- Plan: mailbox_id, node_owner, mailbox_parent.
SELECT m.no, m.execution, m.name, m.version, m.pin, m.status, coalesce(substr(CAST(e.output AS BLOB), 1, ?4), iif(e.output = '', '', NULL)),
       m.created_at, m.updated_at, m.completed_at, m.waiting, m.parent, m.parent_execution, m.parent_event,
       iif(m.lease IS NULL, NULL, m.leased_until),
       (SELECT iif(count(*) = 1, min(n.id), NULL) FROM node AS n WHERE n.owner = m.owner),
       (SELECT count(*) FROM (SELECT 1 FROM execution AS x WHERE x.mailbox = m.no LIMIT ?3)),
       (SELECT count(*) FROM (SELECT 1 FROM message AS s WHERE s.mailbox = m.no AND s.visible_at <= ?2 LIMIT ?3)),
       (SELECT count(*) FROM (SELECT 1 FROM mailbox AS c WHERE c.parent = m.id AND c.execution > 0 LIMIT ?3))
FROM mailbox AS m LEFT JOIN execution AS e ON e.mailbox = m.no AND e.no = m.execution
WHERE m.id = ?1
