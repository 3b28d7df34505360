SELECT abide.renew_work($1, $2, $3, $4, $5)
