-- A query whose function writes.
\set i :i + 1
SELECT grow('one', :i) AS grown \gset
SELECT grow('two', :grown), twice(:i);
