package script

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// TestLanguageIsToldByTheContent: the ending of a script's name decides nothing but where
// the script has nothing.
func TestLanguageIsToldByTheContent(t *testing.T) {
	for text, want := range map[string]ScriptLanguage{
		"SELECT 1": PgbenchLanguage, "-- a\n\nselect 1;": PgbenchLanguage, "\\set a 1\n": PgbenchLanguage, "/* a */ (SELECT 1)": PgbenchLanguage,
		"\ufeff  WITH a AS (SELECT 1) TABLE a": PgbenchLanguage, "BEGIN;": PgbenchLanguage, "VALUES (1)": PgbenchLanguage, "; END": PgbenchLanguage,
		"# of MySQL\nREPLACE INTO t VALUES (1)": PgbenchLanguage, "IMPORT FOREIGN SCHEMA a": PgbenchLanguage, "load 'lib'": PgbenchLanguage, ":name (1)": PgbenchLanguage,
		"DO $$ x = 1 $$": PgbenchLanguage, "select(1)": PgbenchLanguage,
		"def f(tx, r):\n    pass\n": StarlarkLanguage, "# a\nx = 1": StarlarkLanguage, "\"\"\"what it does\"\"\"\n": StarlarkLanguage, "param(\"a\", 1)": StarlarkLanguage,
		"load(\"a\", \"b\")": StarlarkLanguage, "select = 1": StarlarkLanguage, "a, b = 1, 2": StarlarkLanguage, "for x in range(3):\n    pass": StarlarkLanguage,
		"transaction (\"a\", run = f)": StarlarkLanguage, "def f(tx, r)\n  pass\n": StarlarkLanguage, "names()": StarlarkLanguage,
		"": StarlarkLanguage, "# nothing\n": StarlarkLanguage,
	} {
		for _, ending := range []string{".star", ".txt", "", ".sql"} {
			expected := want
			if ending == ".sql" && (text == "" || text == "# nothing\n") {
				expected = PgbenchLanguage
			}
			if got, err := languageOfText("x"+ending, text); got != expected || err != nil {
				t.Errorf("%q in x%s is in %q, %v, want %q", text, ending, got, err, expected)
			}
		}
	}
}

// TestAMarkOfTheByteOrderIsNoStatement: a server takes it for a part of the first word.
func TestAMarkOfTheByteOrderIsNoStatement(t *testing.T) {
	for _, text := range []string{"SELECT 1;\r\n", "\\set a 1\nSELECT :a", "x = 1\n", ""} {
		path := filepath.Join(t.TempDir(), "script")
		expect.NoError(t, os.WriteFile(path, []byte("\xef\xbb\xbf"+text), 0o600))
		got, err := readSource(path)
		if err != nil || string(got) != text {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
}

func TestWhatIsInNeitherLanguage(t *testing.T) {
	for text, want := range map[string]string{
		"#!/bin/sh\nset -e\n":              "x.sql:1:1: it is a program for another interpreter: #!/bin/sh",
		"SELECT \x00":                      "x.sql:1:1: it is no text in UTF-8",
		"\xff\xfeS":                        "x.sql:1:1: it is no text in UTF-8",
		"{\"a\": 1}":                       "x.sql:1:1: no statement of SQL, no command of pgbench and no statement of Starlark begins with \"{\\\"a\\\": 1}\"",
		"\n\nimport psycopg2\n":            "x.sql:3:1: no statement",
		"from a import b":                  "begins with \"from a import b\"",
		"workload: a\nrecordcount: 1000\n": "begins with \"workload: a\"",
		"<html>":                           "begins with \"<html>\"",
		"select: 1":                        "begins with \"select: 1\"",
		"const x = 1;":                     "begins with \"const x = 1;\"",
		"Once upon a time there was a database that kept its word": "begins with \"Once upon a time there was a database th...\"; write the script in pgbench's language",
	} {
		language, err := languageOfText("x.sql", text)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is in %q, %v, want %q", text, language, err, want)
		}
	}
}

// TestLanguageOfFiles: the examples and the corpus are told, whatever they are called.
func TestLanguageOfFiles(t *testing.T) {
	for pattern, want := range map[string]ScriptLanguage{
		"../../examples/*.sql": PgbenchLanguage, "testdata/pgbench/*.sql": PgbenchLanguage, "../../examples/*.star": StarlarkLanguage,
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			expect.NoError(t, err)
			if got, err := languageOfText("x", string(text)); got != want || err != nil {
				t.Errorf("%s is in %q, %v, want %q", file, got, err, want)
			}
		}
	}
}

// TestLanguageOfAConfiguration: the content decides, and --language before it.
func TestLanguageOfAConfiguration(t *testing.T) {
	for _, try := range []struct {
		file, text string
		language   ScriptLanguage
		want       string
	}{
		{"x.txt", "SELECT 1", "", ""},
		{"x.sql", declared(""), "", ""},
		{"x.sql", "{}", "", "x.sql:1:1: no statement of SQL, no command of pgbench and no statement of Starlark begins with \"{}\""},
		{"x.txt", "{}", PgbenchLanguage, ""}, // and so a server's to refuse
		{"x.sql", "SELECT 1", StarlarkLanguage, "x.sql:1:"},
		{"x.sql", "SELECT 1", "sql", "--language"},
	} {
		c := configOf(try.file, try.text)
		c.Language = try.language
		if err := c.Validate(); try.want == "" && err != nil || try.want != "" && (err == nil || !strings.Contains(err.Error(), try.want)) {
			t.Errorf("%s %q as %q: %v, want %q", try.file, try.text, try.language, err, try.want)
		}
	}
}

// TestVariablesInQuotes: they are replaced by the simple protocol, and refused by those with
// parameters, which a server does not see there.
func TestVariablesInQuotes(t *testing.T) {
	for text, hidden := range map[string]bool{
		"SELECT 'user-:u'": true, "SELECT 1 /* :u */": true, "DO $$ SELECT :u $$": true, "SELECT 'user-' || :u": false, "SELECT '12:30'::time": false,
	} {
		for _, protocol := range []store.Protocol{store.Simple, store.Extended, store.Prepared} {
			c := configOf("x.sql", "\\set u 1\n"+text)
			c.Protocol = protocol
			err := c.Validate()
			if refused := hidden && protocol != store.Simple; refused != (err != nil) || refused && !strings.Contains(err.Error(), "x.sql:2:1: the variable u stands in quotes or a comment") {
				t.Errorf("%s, %s: %v", text, protocol, err)
			}
		}
	}
}

// TestSetupIsSplitAsPgbench: a setup may have dollar quotes and functions' bodies.
func TestSetupIsSplitAsPgbench(t *testing.T) {
	c := configOf("x.sql", "SELECT 1")
	c.Setup, c.AllowForeign = "s.sql", true
	c.SetupText = "CREATE TABLE t (a int DEFAULT :n);\nINSERT INTO t VALUES ($$;$$);\nCREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END"
	c.Define = "n=1"
	expect.NoError(t, c.Validate())
	for text, want := range map[string]string{
		"SELECT 1;\nCOMMIT": "s.sql:2:1: COMMIT cannot be used", "\\set a 1": "s.sql:1:1: the setup is plain SQL", "SELECT 'a": "s.sql:1:8: a quote that does not end",
		"CREATE FUNCTION f() RETURNS int RETURN 1": "s.sql:1:1: setup cannot create FUNCTION",
	} {
		c.AllowForeign, c.SetupText = false, source(text)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
