package serverlog

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
)

// linesOfJSON are lines that PostgreSQL wrote and some that it would not.
func linesOfJSON(tb testing.TB) (all [][]byte) {
	tb.Helper()
	for _, name := range []string{"postgres-dur.json", "postgres-all.json"} {
		all = append(all, bytes.Split(bytes.TrimSpace(testdata(tb, name)), []byte("\n"))...)
	}
	for _, line := range []string{`{"pid":1,"user":"a\"b\\","message":"\u00fc\n","line_num":7}`, `{"user":null}`, `{"line_num":"x"}`, `{"user":"a",}`, `{"a":{"user":"b"}}`,
		`{"user":"a" , "dbname":"b"}`, `{"us\u0065r":"a"}`, `{"user":"\q"}`, `{`, `{}`, `{"user":"a"} `, `{"pid":01}`, `{"user":1}`} {
		all = append(all, []byte(line))
	}
	return all
}

// A line that is taken apart without the parser is as the parser reads it.
func FuzzJSONLine(f *testing.F) {
	for _, line := range linesOfJSON(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var quick, parsed jsonLine
		if quick.read(line) {
			if err := json.Unmarshal(line, &parsed); err == nil && quick != parsed {
				t.Errorf("%q\n%+v\n%+v", line, quick, parsed)
			}
		}
	})
}

func TestLinesOfJSONAreReadWithoutTheParser(t *testing.T) {
	for _, line := range linesOfJSON(t)[:50] {
		if !(&jsonLine{}).read(line) {
			t.Errorf("the parser is needed for %s", line)
		}
	}
}

func BenchmarkForms(b *testing.B) {
	for _, name := range []string{"postgres-dur.json", "postgres-dur.csv", "postgres-dur.log"} {
		b.Run(name, func(b *testing.B) {
			text := bytes.Repeat(testdata(b, name), 50)
			statements := 0
			for b.Loop() {
				log, err := Open(bytes.NewReader(text), Options{})
				if err == nil {
					err = log.Events(func(e *Event) error {
						if e.Kind == Did {
							statements++
						}
						return nil
					})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(statements)/b.Elapsed().Seconds(), "statements/s")
		})
	}
}
