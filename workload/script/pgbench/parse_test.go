package pgbench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/workload"
)

// statements are the texts of a script's statements.
func statements(t *testing.T, text string) (all []string) {
	t.Helper()
	s, err := Parse("x.sql", text)
	expect.NoError(t, err)
	for _, c := range s.Commands {
		if c.Kind == SQL {
			all = append(all, c.Statement.Text)
		}
	}
	return all
}

// TestStatementsAreSplitAsPgbench: a semicolon ends a statement only where psql's lexer
// ends one.
func TestStatementsAreSplitAsPgbench(t *testing.T) {
	for text, want := range map[string][]string{
		"SELECT 1":                         {"SELECT 1"},
		"SELECT 1;; ;SELECT 2 ;":           {"SELECT 1", "SELECT 2"},
		"SELECT ';' ; SELECT 'it''s;'":     {"SELECT ';'", "SELECT 'it''s;'"},
		`SELECT "a;""b"; SELECT 2`:         {`SELECT "a;""b"`, "SELECT 2"},
		`SELECT E'\';' ; SELECT 2`:         {`SELECT E'\';'`, "SELECT 2"},
		`SELECT 'a\' ; SELECT 2`:           {`SELECT 'a\'`, "SELECT 2"},
		`SELECT name'\' ; SELECT 2`:        {`SELECT name'\'`, "SELECT 2"},
		"SELECT E'a'\n '\\';' ; SELECT 2":  {"SELECT E'a'\n '\\';'", "SELECT 2"},
		"SELECT $$ ; $a$ $$, $b$;$$;$b$;":  {"SELECT $$ ; $a$ $$, $b$;$$;$b$"},
		"SELECT a$b$c; SELECT $1;":         {"SELECT a$b$c", "SELECT $1"},
		"SELECT (1;2); SELECT 3":           {"SELECT (1;2)", "SELECT 3"},
		"SELECT 1) ; SELECT 2":             {"SELECT 1)", "SELECT 2"},
		"/* a ; /* b */ ; */ SELECT 1;":    {"SELECT 1"},
		"SELECT /* ; /* */ ; */ 1; -- ;\n": {"SELECT /* ; /* */ ; */ 1"},
		"SELECT 1 -- a;b\n + 2;":           {"SELECT 1 \n + 2"},
		"SELECT 1--2\n;":                   {"SELECT 1"},
		`SELECT 1 \; SELECT 2;SELECT 3;`:   {"SELECT 1 ; SELECT 2", "SELECT 3"},
		`SELECT a\:b;`:                     {"SELECT a:b"},
		"SELECT 1 \\set x 2\nSELECT 2":     {"SELECT 1", "SELECT 2"},
		"SELECT ':begin', 1; SELECT 2":     {"SELECT ':begin', 1", "SELECT 2"},
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 END; END; SELECT 2;": {
			"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 1 END; END", "SELECT 2"},
		"CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC DELETE FROM t; END; SELECT 2": {
			"CREATE OR REPLACE PROCEDURE p() BEGIN ATOMIC DELETE FROM t; END", "SELECT 2"},
		"BEGIN; CREATE TABLE t (a int); END;": {"BEGIN", "CREATE TABLE t (a int)", "END"},
	} {
		if got := statements(t, text); !slices.Equal(got, want) {
			t.Errorf("%q is split into %q, want %q", text, got, want)
		}
	}
}

func TestCombinedStatementsHaveParts(t *testing.T) {
	s, err := Parse("x.sql", `SELECT 1 AS a \; SELECT ';', 2 \; \aset p_`)
	expect.NoError(t, err)
	of := s.Commands[0].Statement
	if want := []string{"SELECT 1 AS a", "SELECT ';', 2"}; len(s.Commands) != 1 || !slices.Equal(of.Parts, want) || of.End != Aset || of.Prefix != "p_" {
		t.Errorf("%+v", of)
	}
}

// TestVariablesInStatements holds what enters a statement against pgbench's rules: in quotes
// too, and nothing for a name that is no variable.
func TestVariablesInStatements(t *testing.T) {
	v := &Variables{}
	v.Set("a", Int(-7))
	v.Set("b", Double(0.1))
	v.Set("c", Bool(true))
	v.Set("n", Value{})
	v.SetText("t", "it's")
	for _, try := range []struct{ text, simple, extended string }{
		{"SELECT :a, :b, :c, :n, :t", "SELECT -7, 0.1, true, NULL, it's", "SELECT $1, $2, $3, $4, $5"},
		{"SELECT ':a', $$:a$$, \":a\"", "SELECT '-7', $$-7$$, \"-7\"", "SELECT '$1', $$$2$$, \"$3\""},
		{"SELECT :a::int, x::a, ':a:b'", "SELECT -7::int, x::a, '-70.1'", "SELECT $1::int, x::a, '$2$3'"},
		{"SELECT y[1:2], y[:a:], '12:30:45', z := :a", "SELECT y[1:2], y[-7:], '12:30:45', z := -7", "SELECT y[1:2], y[$1:], '12:30:45', z := $2"},
		{"SELECT :unknown, :a_b, :a-1", "SELECT :unknown, :a_b, -7-1", "SELECT $1, $2, $3-1"},
		{"SELECT :", "SELECT :", "SELECT :"},
	} {
		s, err := Parse("x.sql", try.text)
		expect.NoError(t, err)
		of := s.Commands[0].Statement
		if of.Simple(v) != try.simple || of.Extended() != try.extended {
			t.Errorf("%q becomes %q and %q, want %q and %q", try.text, of.Simple(v), of.Extended(), try.simple, try.extended)
		}
	}
	s, err := Parse("x.sql", "SELECT :n, :unknown, ':a' /* :b */, :t")
	expect.NoError(t, err)
	of := s.Commands[0].Statement
	var shown, hidden []string
	for i, p := range of.Parameters(v) {
		if p == nil {
			shown = append(shown, "-")
			continue
		}
		shown = append(shown, *p)
		hidden = append(hidden, fmt.Sprint(of.References[i].Hidden))
	}
	if want := []string{"NULL", "-", "-7", "0.1", "it's"}; !slices.Equal(shown, want) || !slices.Equal(hidden, []string{"false", "true", "true", "false"}) {
		t.Errorf("the parameters are %q, hidden %q", shown, hidden)
	}
}

func TestDoublesAsC(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "1": 1, "0.1": 0.1, "1e+15": 1e15, "100000000000000": 1e14, "1.23456789012346e+20": 123456789012345678901, "0.0001": 1e-4, "1e-05": 1e-5,
		"0.333333333333333": 1. / 3, "-2.5": -2.5, "1e+100": 1e100, "123456.789": 123456.789,
	} {
		if got := Double(v).String(); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}

// path are the numbers of the commands that are done, of which each \set is shown by its
// variable.
func path(t *testing.T, s *Script, v *Variables) (done []string) {
	t.Helper()
	scope := &Scope{Variables: v}
	for next := 0; next < len(s.Commands); {
		c := s.Commands[next]
		next++
		switch c.Kind {
		case Set:
			value, err := c.Expression.Evaluate(scope)
			expect.NoError(t, err)
			v.Set(c.Variable, value)
			done = append(done, c.Variable)
		case SQL:
			done = append(done, c.Statement.Text)
		case Branch:
			value, err := c.Expression.Evaluate(scope)
			expect.NoError(t, err)
			if !value.Truth() {
				next = c.Target
			}
		case Jump:
			next = c.Target
		}
	}
	return done
}

func TestConditions(t *testing.T) {
	const text = "\\if :x = 1\nSELECT 1;\n\\if :y\nSELECT 11;\n\\endif\n\\elif :x = 2\nSELECT 2\n\\elif :x = 3\n\\else\nSELECT 9;\n\\endif\nSELECT 0;\n\\if :y\n\\else\n\\set end 1\n\\endif"
	s, err := Parse("x.sql", text)
	expect.NoError(t, err)
	for _, try := range []struct {
		x    int64
		y    Value
		want string
	}{
		{1, Bool(true), "SELECT 1,SELECT 11,SELECT 0"},
		{1, Value{}, "SELECT 1,SELECT 0,end"},
		{2, Int(0), "SELECT 2,SELECT 0,end"},
		{3, Double(0.5), "SELECT 0"},
		{4, Double(0), "SELECT 9,SELECT 0,end"},
	} {
		v := &Variables{}
		v.Set("x", Int(try.x))
		v.Set("y", try.y)
		if got := strings.Join(path(t, s, v), ","); got != try.want {
			t.Errorf("x %d, y %v: %s, want %s", try.x, try.y, got, try.want)
		}
	}
}

func TestPauses(t *testing.T) {
	v := &Variables{}
	v.Set("n", Int(30))
	v.Set("d", Double(1.9))
	v.SetText("t", "soon")
	for text, want := range map[string]time.Duration{
		"\\sleep 10 ms": 10 * time.Millisecond, "\\sleep 2": 2 * time.Second, "\\sleep 5us": 5 * time.Microsecond, "\\SLEEP :n MS": 30 * time.Millisecond,
		"\\sleep :d s": time.Second, "\\sleep -3 s": 0, "\\sleep :t": -1, "\\sleep :unknown ms": -1, "\\sleep \\\n 7 \\\n ms": 7 * time.Millisecond,
	} {
		s, err := Parse("x.sql", text)
		expect.NoError(t, err)
		got, err := s.Commands[0].Pause.Duration(v)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q pauses for %v, want %v", text, got, want)
		}
	}
}

func TestCommandsOfPipelines(t *testing.T) {
	s, err := Parse("x.sql", "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2 \\gset\n\\EndPipeline\n")
	expect.NoError(t, err)
	var kinds []Kind
	for _, c := range s.Commands {
		kinds = append(kinds, c.Kind)
	}
	if want := []Kind{StartPipeline, SQL, SyncPipeline, SQL, EndPipeline}; !slices.Equal(kinds, want) || s.Commands[3].Statement.End != Gset {
		t.Errorf("%v, want %v", kinds, want)
	}
}

func TestCommentsAreKept(t *testing.T) {
	s, err := Parse("x.sql", "-- assay: one\n\\set a 1 -\\\n 2\n  --two\r\nSELECT '--no' -- three\n, 1; -- four")
	expect.NoError(t, err)
	want := []Comment{{Position{1, 1}, " assay: one"}, {Position{4, 3}, "two"}, {Position{5, 15}, " three"}, {Position{6, 6}, " four"}}
	if !reflect.DeepEqual(s.Comments, want) {
		t.Errorf("%+v", s.Comments)
	}
}

// TestErrorsHaveTheirPlace: what is wrong with a script says where, and what to do.
func TestErrorsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "x.sql:1:1: it has no statement and no command",
		"-- a\n":                               "x.sql:1:1: it has no statement and no command",
		"SELECT 'a;":                           "x.sql:1:8: a quote that does not end",
		"SELECT 1;\n  SELECT $a$ $b$;":         "x.sql:2:10: a text in dollar quotes that does not end; write $a$ behind it",
		"SELECT 1 /* /* */":                    "x.sql:1:10: a comment that does not end",
		"SELECT (1;":                           "x.sql:1:1: a parenthesis of the statement does not end",
		"CREATE FUNCTION f() BEGIN ATOMIC":     "x.sql:1:1: BEGIN in the body of a function has no END",
		"SELECT \x00":                          "x.sql:1:8: it is not text",
		"SELECT '\xff'":                        "x.sql:1:9: it is not text",
		"SELECT" + strings.Repeat(" :a", 256):  "x.sql:1:1: the statement has 256 variables",
		"\\foo":                                "x.sql:1:1: \\foo is no command of pgbench; the commands are \\set",
		"SELECT 1;\n\\setshell a date":         "x.sql:2:1: \\setshell runs a program of this machine, which is not done; compute the value",
		"\\shell date":                         "x.sql:1:1: \\shell runs a program",
		"\\set":                                "x.sql:1:1: \\set has no variable",
		"\\set 1a 2":                           "x.sql:1:6: \"1a\" is no name of a variable",
		"\\set a":                              "x.sql:1:7: the expression is not complete",
		"\\set a 1 +\nSELECT :a;":              "x.sql:1:11: the expression is not complete",
		"\\set a (1\nSELECT :a;":               "x.sql:1:10: \")\" is missing",
		"\\set a 1 2":                          "x.sql:1:10: \"2\" is not understood here",
		"\\set a foo(1)":                       "x.sql:1:8: \"foo\" is no function of pgbench",
		"\\set a b":                            "x.sql:1:8: \"b\" is no function of pgbench; a variable is written as :b",
		"\\set a random(1)":                    "x.sql:1:8: random has 1 arguments, and takes 2",
		"\\set a hash()":                       "x.sql:1:8: hash has 0 arguments, and takes 1 to 2",
		"\\set a 1 < 2 < 3":                    "x.sql:1:14: \"<\" is not understood here",
		"\\set a 'x'":                          "x.sql:1:8: '\\'' is not of an expression",
		"\\set a 9223372036854775808":          "x.sql:1:8: the integer 9223372036854775808 does not fit",
		"\\set a 1e400":                        "x.sql:1:8: the number 1e400 is out of range",
		"\\set a CASE 1 END":                   "x.sql:1:13: \"1\" is not understood here, where \"when\" is missing",
		"\\set a 1 IS 2":                       "x.sql:1:13: \"2\" is not understood here",
		"\\sleep":                              "x.sql:1:1: \\sleep has no time",
		"\\sleep 1 min":                        "x.sql:1:10: \"min\" is no unit; write us, ms or s",
		"\\sleep 0.5 s":                        "x.sql:1:8: \"0.5\" is no time to sleep",
		"\\sleep 3000 s":                       "x.sql:1:8: a pause is at most",
		"\\sleep 1 s now":                      "x.sql:1:12: \\sleep takes a number and a unit",
		"\\gset":                               "x.sql:1:1: \\gset does not come behind a statement",
		"SELECT 1 \\gset\n\\aset":              "x.sql:2:1: \\aset does not come behind a statement",
		"SELECT 1 \\gset a b":                  "x.sql:1:18: \\gset takes a prefix at most",
		"SELECT 1 \\gset 1":                    "x.sql:1:16: \"1\" begins no name",
		"SELECT 1;\n\\if 1\n\\if 0\n\\endif":   "x.sql:2:1: \\if has no \\endif",
		"\\if":                                 "x.sql:1:4: the expression is not complete",
		"\\else":                               "x.sql:1:1: \\else has no \\if",
		"\\endif":                              "x.sql:1:1: \\endif has no \\if",
		"\\if 1\n\\else\n\\elif 2\n\\endif":    "x.sql:3:1: \\elif comes behind \\else",
		"\\if 1\n\\else\n\\else\n\\endif":      "x.sql:3:1: \\else comes behind \\else",
		"\\if 1\n\\else 1\n\\endif":            "x.sql:2:7: \\else takes nothing behind it",
		"\\startpipeline 1":                    "x.sql:1:16: \\startpipeline takes nothing behind it",
		"\\set a " + strings.Repeat("(", 2000): "the expression is nested too deep",
		"\\set a 1" + strings.Repeat("+1", 10001): "the expression is too long",
	} {
		_, err := Parse("x.sql", text)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q gives %v, want %q", text, err, want)
		}
	}
}

// TestErrorsOfExpressions: what cannot be computed says why.
func TestErrorsOfExpressions(t *testing.T) {
	v := &Variables{}
	v.SetText("text", "abc")
	v.SetText("empty", "")
	v.SetText("long", "92233720368547758080")
	r := workload.NewRandom(1, 2)
	for text, want := range map[string]string{
		"1 / 0": "division by zero", "5 % 0": "division by zero", ":unknown": "the variable unknown is not set: write \\set unknown before",
		"9223372036854775807 + 1": "out of range", "-9223372036854775808 * -1": "out of range", "-9223372036854775808 / -1": "out of range",
		"int(1e19)": "does not fit into an integer", "int(0.0 / 0)": "does not fit into an integer", "1 AND true": "take booleans, and a value is an integer",
		"NOT 1.5": "a value is a double", "true + 1": "an integer is wanted, and a value is a boolean", "sqrt(true)": "a number is wanted",
		":text + 1": "the variable text is \"abc\", which no expression can use: it is no number", ":empty": "it is empty", ":long": "does not fit",
		"random(2, 1)": "the range from 2 to 1 is empty", "random(-9223372036854775808, 9223372036854775807)": "is too large",
		"random_gaussian(1, 2, 1.9)": "is 2 or more, not 1.9", "random_exponential(1, 2, 0)": "is above 0", "random_zipfian(1, 2, 1)": "is 1.001 to 1000",
		"permute(1, 0)": "default_seed is not set", "permute(1, 0, 3)": "a size above 0", "hash(1)": "default_seed",
	} {
		s, err := Parse("x.sql", "\\set a "+text)
		expect.NoError(t, err)
		got, err := s.Commands[0].Expression.Evaluate(&Scope{Variables: v, Random: &r})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", text, got, err, want)
		}
	}
}

// TestDrawsFollowTheirLaws holds the means and the ends of each distribution against what
// the manual says of it.
func TestDrawsFollowTheirLaws(t *testing.T) {
	const n = 20_000
	for text, mean := range map[string][2]float64{
		"random(1, 100)":                  {49.5, 51.5},
		"random_gaussian(1, 100, 2.5)":    {49, 52},
		"random_exponential(1, 100, 5.0)": {19, 21},   // 100 (1/5 - 1/(e^5 - 1))
		"random_zipfian(1, 100, 1.5)":     {6.5, 8.5}, // 18.59 / 2.412
		"random_zipfian(7, 7, 1000)":      {7, 7},
		"random(1, 10 * 0.76)":            {4.3, 4.7}, // 1 to 8
	} {
		s, err := Parse("x.sql", "\\set a "+text)
		expect.NoError(t, err)
		r := workload.NewRandom(1, 2)
		sum := 0.0
		for range n {
			v, err := s.Commands[0].Expression.Evaluate(&Scope{Random: &r})
			if err != nil || v.whole < 1 || v.whole > 100 {
				t.Fatalf("%s: %v, %v", text, v, err)
			}
			sum += float64(v.whole)
		}
		if sum/n < mean[0] || sum/n > mean[1] {
			t.Errorf("%s: the mean is %v, want %v", text, sum/n, mean)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "examples", "*.sql"))
	own, err2 := filepath.Glob(filepath.Join("..", "testdata", "pgbench", "*.sql"))
	expect.NoError(f, err, err2)
	for _, file := range append(files, own...) {
		text, err := os.ReadFile(file)
		expect.NoError(f, err)
		f.Add(string(text))
	}
	f.Add("\\;")
	f.Add("\\set a random(1, \\\n 5) % 3\nBEGIN; SELECT :a, E'x\\'' ':a' /* :b */ \\; SELECT 1 \\gset p\n\\if :a\n\\sleep 5 ms\n\\elif 1\n\\else\n\\endif")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("x.sql", text)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Line < 1 || wrong.Column < 1 || wrong.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for i, c := range s.Commands {
			if c.Target < 0 || c.Target > len(s.Commands) || (c.Kind == Branch || c.Kind == Jump) && c.Target <= i {
				t.Fatalf("command %d goes on at %d", i, c.Target)
			}
			if c.Kind == SQL {
				tryStatement(t, c.Statement)
			}
			if c.Expression != nil {
				r := workload.NewRandom(1, 2)
				_, _ = c.Expression.Evaluate(&Scope{Variables: &Variables{}, Random: &r})
			}
		}
	})
}

// tryStatement holds the renderings of a statement against one another.
func tryStatement(t *testing.T, of *Statement) {
	v := &Variables{}
	if of.Simple(v) != of.Text || len(of.Parts) == 0 {
		t.Fatalf("%+v", of)
	}
	for i, r := range of.References {
		if of.Text[r.Start:r.End] != ":"+r.Name || i > 0 && of.References[i-1].End > r.Start {
			t.Fatalf("%+v", of)
		}
		v.SetText(r.Name, fmt.Sprintf(":%s", r.Name))
	}
	if of.Simple(v) != of.Text || len(of.Parameters(v)) != len(of.References) {
		t.Fatalf("%+v becomes %q", of, of.Simple(v))
	}
}

// TestCorpusIsRead: the scripts that are run beside pgbench are read, and there are many.
func TestCorpusIsRead(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "pgbench", "*.sql"))
	expect.NoError(t, err)
	kinds := map[Kind]int{}
	ends := map[End]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		s, err := Parse(file, string(text))
		expect.NoError(t, err)
		for _, c := range s.Commands {
			if kinds[c.Kind]++; c.Kind == SQL {
				ends[c.Statement.End]++
			}
		}
	}
	if len(files) < 61 || len(kinds) != 8 || len(ends) != 3 {
		t.Errorf("%d files, kinds %v, ends %v: want 60 scripts and their setup, with all of the language", len(files), kinds, ends)
	}
}
