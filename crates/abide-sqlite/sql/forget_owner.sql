DELETE FROM owner WHERE no = ?1
