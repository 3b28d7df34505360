-- Repairs what a damaged row has left: no work has this number any more. Looks at every lane.
DELETE FROM lane WHERE head = ?1
