SELECT * FROM abide.revoke_work($1, $2, $3, $4, $5)
