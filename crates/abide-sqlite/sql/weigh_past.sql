-- What executions weigh, with their turns: see size_of_mailbox. ?2 is a JSON array of their numbers.
-- Plan: turn_of_execution.
SELECT 1 + ifnull(octet_length(e.output), 0) / 8192
     + (SELECT ifnull(sum(1 + octet_length(t.events) / 8192), 0) FROM turn AS t WHERE t.mailbox = e.mailbox AND t.execution = e.no)
FROM execution AS e
WHERE e.mailbox = ?1 AND e.no IN (SELECT value FROM json_each(?2))
ORDER BY e.no
