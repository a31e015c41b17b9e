-- A row that is there already stays.
\set i :i + 1
INSERT INTO counter VALUES ('name :i' , :i), ('one', 9) ON CONFLICT DO NOTHING;
INSERT INTO counter AS c VALUES ('two', :i) ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE c.value < 7;
