-- Nodes of a process that is gone.
-- Plan: node_owner.
DELETE FROM node WHERE owner = ?1
