-- A known text, encrypted with the key of the sealed secrets: it shows whether a key is the key of this store.
CREATE TABLE key_check (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    bytes BLOB NOT NULL
);
