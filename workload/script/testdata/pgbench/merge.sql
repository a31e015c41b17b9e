-- MERGE, where PostgreSQL has it.
\set i :i + 1
MERGE INTO counter AS c USING (VALUES ('one', :i), ('more', 1)) AS s (name, value) ON c.name = s.name
  WHEN MATCHED AND s.value % 2 = 0 THEN UPDATE SET value = c.value + s.value
  WHEN MATCHED THEN DO NOTHING
  WHEN NOT MATCHED THEN INSERT VALUES (s.name, s.value);
