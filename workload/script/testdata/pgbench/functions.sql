-- Functions of pgbench.
\set i :i + 1
\set a greatest(abs(-:i), 3, mod(:i, 5)) + least(:i, 4.5, 9)
\set b hash(:i, 42) % 1000
\set c hash_fnv1a(:i, 42) % 1000
\set d hash_murmur2(:i, 42) % 1000
\set e permute(:i, 1000000, 42)
\set f int(pow(2, mod(:i, 20))) + int(sqrt(:i * :i)) + int(double(:i) / 2) + int(10 * ln(exp(2))) + int(pi() * 100)
INSERT INTO note VALUES (:i, ':a', :b), (:c, ':d', :e), (:f, NULL, NULL);
