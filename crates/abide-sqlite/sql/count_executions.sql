SELECT count(*) FROM execution
