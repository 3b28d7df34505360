-- Plan: block_since.
SELECT kind, count(*) FROM block INDEXED BY block_since WHERE kind IS NOT NULL GROUP BY kind
