package script

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
	"unicode/utf8"
)

// examples are the files of the examples with this ending.
func examples(f *testing.F, ending string) (texts []string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "*"+ending))
	if err != nil || len(files) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts
}

// located wants an error to have its place within the text.
func hasPlace(t *testing.T, text string, err error) {
	t.Helper()
	var wrong *Error
	if err == nil {
		return
	}
	if !errors.As(err, &wrong) {
		t.Fatalf("%T: %v", err, err)
	}
	if wrong.Line < 0 || wrong.Column < 0 || wrong.Line > len(text)+2 || wrong.Reason == "" {
		t.Fatalf("%+v", wrong)
	}
}

func FuzzSQLFile(f *testing.F) {
	for _, text := range examples(f, ".sql") {
		f.Add(text)
	}
	f.Add("\\set a random(1, \\\n 5) % 3\nBEGIN; SELECT :a, 'x'':a' /* :b */; END;")
	f.Fuzz(func(t *testing.T, text string) {
		c := configOf("x.sql", text)
		c.Define = "scale=1"
		p, err := c.compile(0)
		if hasPlace(t, text, err); err != nil {
			return
		}
		for _, text := range runFake(t, p) {
			if !utf8.ValidString(text.Text) {
				t.Fatalf("%q is sent", text.Text)
			}
		}
		c.Setup, c.SetupText = "s.sql", source(text)
		p, err = c.compile(0)
		if hasPlace(t, text, err); err == nil {
			_, err = p.rehearsed()
			hasPlace(t, text, err)
		}
	})
}

// fakeRun runs the first transaction of a program.
type fakeRun struct{ program *program }

func (r *fakeRun) sent(t *testing.T) []sent {
	tx := &fakeTransaction{}
	over, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // of a script that sleeps
	defer cancel()
	c := &call{ctx: over, tx: tx, program: r.program}
	for i := range r.program.transactions {
		err := r.program.transactions[i].run(c)
		var refused *refusal
		if !errors.As(err, &refused) && !errors.As(err, &repeated{}) && over.Err() == nil {
			hasPlace(t, string(make([]byte, 1<<20)), err)
		}
	}
	return tx.sent
}

func FuzzScript(f *testing.F) {
	for _, text := range examples(f, ".star") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 {
			return
		}
		c := configOf("x.star", text)
		c.Language = StarlarkLanguage // its content may tell the other
		p, err := c.compile(0)
		if hasPlace(t, text, err); err != nil {
			return
		}
		_, err = p.rehearsed()
		hasPlace(t, text, err)
		(&fakeRun{p}).sent(t)
	})
}

// FuzzStatement: a statement that is taken is one, whatever is in it.
func FuzzStatement(f *testing.F) {
	for _, text := range []string{"SELECT a.b FROM t AS a WHERE c = $1", "INSERT INTO t VALUES ('it''s', \"x\", `y`) -- z\n;", "SELECT /* a */ 1e-3 :: int", `'0''0'0"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := &statements{}
		for n := range 3 {
			of, err := s.inTransaction(text, n)
			if err != nil {
				if errors.As(err, new(*sqlError)) { // which has no place in the script
					t.Fatalf("%T: %v", err, err)
				}
				continue
			}
			again, err := tokens(of.text)
			if err != nil || len(again) == 0 {
				t.Fatalf("%q: %v", of.text, err)
			}
			for _, token := range again {
				if token.Sign(";") {
					t.Fatalf("%q has a semicolon", of.text)
				}
			}
		}
	})
}
