SELECT abide.renew_served_sessions($1, $2, $3, $4, $5)
