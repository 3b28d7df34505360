SELECT custom_status, custom_status_version FROM abide.instance WHERE id = $1 AND length(status) > 0
