SELECT abide.forget_sessions()
