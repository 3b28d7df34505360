-- Routes that this process does not know yet.
SELECT no, orchestration, version, pin, refused, is_suspect, has_cancel FROM route WHERE no > ?1 ORDER BY no
