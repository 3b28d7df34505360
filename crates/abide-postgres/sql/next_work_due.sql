SELECT abide.next_work_due()
