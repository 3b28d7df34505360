SELECT no, file, is_alone FROM owner WHERE no <> ?1
