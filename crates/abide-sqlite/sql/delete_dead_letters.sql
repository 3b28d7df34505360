-- Plan: dead_letter_of.
DELETE FROM dead_letter WHERE instance = ?1
