-- One read is one moment, however many statements it takes.
BEGIN DEFERRED
