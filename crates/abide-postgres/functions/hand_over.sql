-- Leases those of these mailboxes, which the caller has locked and brought up to date, that somebody waits for: p_offer has a nonce for each
-- that is wanted. Nothing is handed over past an instance that has waited for longer: whoever looks takes them in their order. wakes says
-- whether something is left.
CREATE FUNCTION abide.hand_over(
    p_mailboxes bigint[], p_offer abide.instance_offer, p_now bigint,
    OUT leases abide.instance_lease[], OUT messages abide.leased_message[], OUT wakes boolean
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_taken bigint[];
    v_first bigint;
BEGIN
    wakes := true;
    SELECT array_agg(c.no ORDER BY c.ready), min(c.ready) INTO v_taken, v_first
    FROM (
        SELECT b.no, b.ready FROM abide.mailbox AS b
        WHERE b.no = ANY (p_mailboxes) AND b.ready IS NOT NULL
          AND (p_offer.pins IS NULL OR b.pin = '' OR b.pin = ANY (p_offer.pins))
        ORDER BY b.ready LIMIT cardinality(p_offer.nonces)
    ) AS c;
    IF v_taken IS NULL OR EXISTS (
        SELECT FROM unnest(CASE WHEN p_offer.pins IS NULL THEN abide.ready_pins() ELSE ARRAY[''] || p_offer.pins END) AS wanted (pin)
        WHERE (SELECT b.ready FROM abide.mailbox AS b WHERE b.pin = wanted.pin AND b.ready IS NOT NULL
               ORDER BY b.ready LIMIT 1) < v_first)
    THEN
        RETURN;
    END IF;
    SELECT h.leases, h.messages INTO leases, messages
    FROM abide.hand_out(v_taken, p_offer.nonces, abide.later(p_now, p_offer.lease_ms)) AS h;
    wakes := (cardinality(leases) = cardinality(p_mailboxes)) IS NOT TRUE AND EXISTS (
        SELECT FROM abide.mailbox AS b WHERE b.no = ANY (p_mailboxes) AND b.ready IS NOT NULL);
END $$;
