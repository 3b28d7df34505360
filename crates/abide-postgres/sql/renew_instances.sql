SELECT abide.renew_instances($1, $2, $3, $4, $5)
