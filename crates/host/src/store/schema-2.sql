-- The scripts that answer the calls of runs. The bytes are in `blobs`. Child runs have the script of their root run.
-- Events up to `from_position` are counted in `used`, which lists the used answers as JSON; null: none are used.
-- `live_ms` is the time at which somebody continued the run without the script.
CREATE TABLE run_scripts (
    run           INTEGER PRIMARY KEY,
    hash          BLOB NOT NULL,
    packed        INTEGER NOT NULL,
    from_position INTEGER NOT NULL,
    used          TEXT,
    live_ms       INTEGER
);

-- How a question that has ended was settled, as JSON; null if it was withdrawn, and for other notices.
ALTER TABLE notices ADD COLUMN outcome TEXT;
