SELECT id FROM abide.tree(ARRAY[$1::text])
