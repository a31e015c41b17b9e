-- Stock that is only taken where there is enough.
\set i :i + 1
\set wanted 300 + :i
UPDATE item SET qty = qty - :wanted WHERE id = 7 AND qty >= :wanted;
UPDATE item SET qty = least(qty + 100, 1000) WHERE id = 7 AND qty < 300;
