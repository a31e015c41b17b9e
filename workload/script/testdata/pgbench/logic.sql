-- Booleans and NULL, with three values of logic.
\set i :i + 1
\set odd :i % 2 = 1
\set nothing NULL
\set both :odd AND :nothing IS NULL
\set unknown :nothing OR :odd
\set said CASE WHEN :odd IS NOT TRUE THEN 10 WHEN NOT :odd THEN 20 ELSE 30 END
\set none CASE WHEN :nothing THEN 1 END
INSERT INTO note VALUES (:i, ':odd :both :unknown', :said), (:i, ':none', :nothing), (:none, NULL, NULL);
