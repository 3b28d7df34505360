SELECT abide.now()
