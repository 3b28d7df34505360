-- A lock whose end was noticed stays ended, whatever the clock says.
SELECT owner, locked_until FROM session WHERE name = ?1 AND held = 1
