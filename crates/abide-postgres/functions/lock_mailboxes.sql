-- Locks mailboxes in order, and says which are there. Names that the caller must find have been registered before; one that is gone
-- again was deleted while we waited. Going back for it would break the order, so the call is to be repeated. Mail that has waited for a start
-- for too long is gone afterwards.
CREATE FUNCTION abide.lock_mailboxes(p_numbers bigint[], p_required text[], p_optional text[])
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_names text[] := p_required || p_optional;
    v_wanted bigint[] := p_numbers;
    v_locked bigint[];
    v_waits boolean;
BEGIN
    IF cardinality(v_names) > 0 THEN
        v_wanted := v_wanted || ARRAY(SELECT i.no FROM abide.instance AS i WHERE i.id = ANY (v_names));
    END IF;
    SELECT coalesce(array_agg(l.no), '{}'), bool_or(l.flags & 4 = 4) INTO v_locked, v_waits
    FROM (SELECT b.no, b.flags FROM abide.mailbox AS b WHERE b.no = ANY (v_wanted) ORDER BY b.no FOR UPDATE) AS l;
    IF v_waits THEN
        v_locked := abide.forget_expired(v_locked, p_required, abide.now());
    END IF;
    IF cardinality(p_required) > 0 AND EXISTS (
               SELECT unnest(p_required) EXCEPT
               SELECT i.id FROM unnest(v_locked) AS l JOIN abide.instance AS i ON i.no = ANY (ARRAY[l])) THEN
        RAISE EXCEPTION 'an instance was deleted while a message for it waited' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN v_locked;
END $$;
