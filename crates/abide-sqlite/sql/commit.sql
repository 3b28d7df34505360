-- With synchronous=FULL this is where the fsync happens.
COMMIT
