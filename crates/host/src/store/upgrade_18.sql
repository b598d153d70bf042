-- Changes the tables of version 18. `lists.sql` and `fill_18.sql` follow.
DROP INDEX IF EXISTS runs_by_status;
