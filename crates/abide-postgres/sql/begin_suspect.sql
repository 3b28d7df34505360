SELECT CASE WHEN $1 THEN abide.begin_work($2, $3) ELSE abide.begin_instance($2, $3) END
