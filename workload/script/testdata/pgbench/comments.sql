-- Comments in all places; -- in a text is none.
\set i :i + \
  1
  /* a comment; /* with one in it; */ */
INSERT INTO note -- this one; too
VALUES (:i, '-- none', /* :i */ '/* none */'); -- and at the end
