-- Without waiting for the disk: a row that comes back is that of a node that no longer listens.
DELETE FROM abide.node WHERE id = $1 AND set_config('synchronous_commit', 'off', true) = 'off'
