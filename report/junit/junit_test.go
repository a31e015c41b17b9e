package junit

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/joshdk/go-junit"

	"assay/internal/expect"
)

// TestReadBack: a reader of the format that is not ours finds each case as it was written.
func TestReadBack(t *testing.T) {
	suites := []Suite{{
		Name: "bank on SQLite", Started: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Seconds: 14.25,
		Properties: []Property{{"seed", "42"}},
		Cases: []Case{
			{Class: "assay.bank", Name: "run", Seconds: 14.25, Answer: Passed, Text: "4,397 committed/s ± 3 %"},
			{Class: "assay.bank", Name: "total", Answer: Failed, Kind: "violated", Message: "300 are missing", Text: "lost: transfer 29"},
			{Class: "assay.bank", Name: "order"}, // nobody said how it ended
			{Class: "assay.bank", Name: "snapshots", Answer: Skipped, Message: "not applicable"},
		},
	}, {Name: "none"}}
	var b bytes.Buffer
	expect.NoError(t, Write(&b, "assay", suites))
	read, err := junit.Ingest(b.Bytes())
	expect.NoError(t, err)
	if len(read) != 2 || read[0].Name != "bank on SQLite" || read[0].Properties["seed"] != "42" || read[1].Totals.Tests != 0 {
		t.Fatalf("it reads %+v", read)
	}
	if total := read[0].Totals; total.Passed != 1 || total.Failed != 1 || total.Error != 1 || total.Skipped != 1 || total.Duration != 14250*time.Millisecond {
		t.Errorf("it counts %+v", total)
	}
	wanted := []junit.Status{junit.StatusPassed, junit.StatusFailed, junit.StatusError, junit.StatusSkipped}
	for i, c := range read[0].Tests {
		if c.Status != wanted[i] || c.Classname != "assay.bank" || c.Name != suites[0].Cases[i].Name {
			t.Errorf("case %d is %+v", i, c)
		}
	}
	failed := read[0].Tests[1]
	if failed.Message != "300 are missing" || !strings.Contains(failed.Error.Error(), "lost: transfer 29") || read[0].Tests[0].SystemOut == "" {
		t.Errorf("it reads %+v", failed)
	}
	expect.Text(t, "the report", b.String(), `<testsuites name="assay" tests="4" failures="1" errors="1" time="14.250">`,
		`tests="4" failures="1" errors="1" skipped="1" time="14.250" timestamp="2026-03-01T12:00:00"`, `type="violated"`)
}

// FuzzText: whatever a text holds, the report is XML, and a text that XML can hold comes back
// as it was.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "]]>", "\x00\x1b[31m\x08", "\xff\xfe", "<a b='c'>&amp;", "\ufffe\uffff", "a\r\nb\tc", "𝛼 ± 3 %"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, a := range []Answer{InError, Passed, Failed, Skipped} {
			var b bytes.Buffer
			expect.NoError(t, Write(&b, text, []Suite{{Name: text, Properties: []Property{{text, text}},
				Cases: []Case{{Class: text, Name: text, Answer: a, Kind: text, Message: text, Text: text}}}}))
			d, names := xml.NewDecoder(bytes.NewReader(b.Bytes())), 0
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				expect.NoError(t, err)
				start, is := token.(xml.StartElement)
				if !is || len(start.Attr) == 0 || start.Name.Local == "property" {
					continue
				}
				if name := start.Attr[0].Value; start.Attr[0].Name.Local == "name" && name == held(text) {
					names++
				}
			}
			if names != 3 {
				t.Fatalf("the name %q was found %d times in\n%s", text, names, b.String())
			}
		}
	})
}

// held is a text with U+FFFD for what XML 1.0 cannot hold.
func held(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
			return r
		}
		return '\ufffd'
	}, text)
}
