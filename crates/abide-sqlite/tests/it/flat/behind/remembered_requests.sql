-- Requests of the last hour, by any clock.
INSERT INTO request (key, seen_at) SELECT CAST('request ' || i AS BLOB), 9000000000000000 FROM temp.numbers;
