-- Up to which number a node takes work that it did not make. Above p_leaves_above, if that is given, it is young, and left to whoever made it;
-- but nothing that is older by 1,024 numbers or more than the last of p_made that are about to be made.
CREATE FUNCTION abide.taken_up_to(p_leaves_above bigint, p_made integer) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF p_leaves_above IS NULL THEN
        RETURN 9223372036854775807;
    END IF;
    RETURN greatest(p_leaves_above, (SELECT n.last_value FROM abide.number AS n) + p_made - 1024);
END $$;
