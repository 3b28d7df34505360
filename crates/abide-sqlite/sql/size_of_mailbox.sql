-- What the rows of a mailbox weigh beside its own: a row counts as one, and as one more for each 8 KiB of its
-- payload, because freeing the pages of a large payload takes time. At most ?2 rows of each kind are weighed.
-- octet_length reads no payload.
-- Plan: turn_of_execution.
SELECT (SELECT ifnull(sum(weight), 0) FROM (SELECT 1 + octet_length(events) / 8192 AS weight FROM turn WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT ifnull(sum(weight), 0) FROM (SELECT 1 + ifnull(octet_length(output), 0) / 8192 AS weight FROM execution WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT ifnull(sum(weight), 0) FROM (SELECT 1 + octet_length(item) / 8192 AS weight FROM message WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT ifnull(sum(weight), 0) FROM (SELECT 1 + octet_length(item) / 8192 AS weight FROM work WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT ifnull(sum(weight), 0) FROM (SELECT 1 + octet_length(value) / 8192 AS weight FROM kv_store WHERE mailbox = ?1 LIMIT ?2))
     + (SELECT ifnull(sum(weight), 0) FROM (SELECT 1 + ifnull(octet_length(value), 0) / 8192 AS weight FROM kv_delta WHERE mailbox = ?1 LIMIT ?2))
