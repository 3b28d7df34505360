-- Every write transaction takes the write lock at once: a deferred one that upgrades fails without waiting.
BEGIN IMMEDIATE
