SELECT no, lock_file FROM owner WHERE no <> ?1
