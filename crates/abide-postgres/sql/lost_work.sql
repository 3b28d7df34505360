-- Which of these leases on work are not there any more.
SELECT h.no, h.nonce FROM unnest($1::bigint[], $2::bigint[]) AS h (no, nonce)
WHERE NOT EXISTS (SELECT FROM abide.work AS w WHERE w.no = ANY (ARRAY[h.no]) AND w.lease = h.nonce)
