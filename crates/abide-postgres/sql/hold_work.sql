SELECT abide.hold_work($1, $2, $3, $4)
