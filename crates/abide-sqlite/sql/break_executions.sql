-- Of an instance: the execution before ?2 is missing.
UPDATE mailbox SET unbroken = max(unbroken, ?2) WHERE no = ?1
