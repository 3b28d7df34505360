DELETE FROM abide.node WHERE id = $1
