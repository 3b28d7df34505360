SELECT abide.renew_sessions($1, $2, $3, $4, $5)
