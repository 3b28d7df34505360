SELECT (SELECT count(*) FROM abide.mailbox), (SELECT count(*) FROM abide.message), (SELECT count(*) FROM abide.work),
       (SELECT count(*) FROM abide.session), (SELECT count(*) FROM abide.turn), (SELECT count(*) FROM abide.execution),
       (SELECT count(*) FROM abide.dead_letter)
