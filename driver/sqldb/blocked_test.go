package sqldb

import "testing"

func TestWithoutLiterals(t *testing.T) {
	for text, want := range map[string]string{
		"select  1":                            `"select ?"`,
		"ALTER USER u PASSWORD 'it''s hidden'": `"ALTER USER u PASSWORD ?"`,
		"SELECT 'cut in the mid":               `"SELECT ?"`,
		"SELECT $$hidden$$, 5":                 `"SELECT ?"`,
		"UPDATE t1 SET n = 42.5 WHERE id = 7":  `"UPDATE t1 SET n = ? WHERE id = ?"`,
		"INSERT INTO t VALUES (\"a b\", 3)":    `"INSERT INTO t VALUES (?, ?)"`,
	} {
		if got := WithoutLiterals(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	if got := WithoutLiterals("SELECT a_rather_long_name FROM another_rather_long_name WHERE a_rather_long_name IS NULL"); len(got) > shownQuery+5 {
		t.Errorf("%s is long", got)
	}
}
