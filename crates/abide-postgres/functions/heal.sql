-- A turn of this execution was committed, which stands at p_status now: what blocked it is over. Refusals stay while the execution runs,
-- those that p_refused says if it is not null, and the clock of builds that may try again starts with the next mail, or now if some is left.
CREATE FUNCTION abide.heal(p_mailbox bigint, p_execution bigint, p_status text, p_refused text, p_now bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE abide.block AS k
    SET kind = NULL, is_open = false, refused = coalesce(p_refused, k.refused),
        retry_at = CASE WHEN abide.has_mail(p_mailbox, p_now) THEN abide.later(p_now, k.retry_after) END
    WHERE k.mailbox = p_mailbox AND k.execution = p_execution AND p_status = 'Running' AND coalesce(p_refused, k.refused) <> '';
    IF NOT FOUND THEN
        DELETE FROM abide.block AS k WHERE k.mailbox = p_mailbox;
    END IF;
END $$;
