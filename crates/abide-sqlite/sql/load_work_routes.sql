-- Routes that this process does not know yet.
SELECT no, activity, tag, is_suspect FROM work_route WHERE no > ?1 ORDER BY no
