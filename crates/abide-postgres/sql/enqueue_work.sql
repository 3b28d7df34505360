SELECT routes FROM abide.enqueue_work($1)
