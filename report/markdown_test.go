package report

import (
	"bytes"
	"testing"
)

func TestMarkdownGolden(t *testing.T) {
	for name, r := range examples() {
		var b bytes.Buffer
		if err := Markdown(&b, r); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".md", b.Bytes())
	}
}

func TestMarkdownTablesGolden(t *testing.T) {
	var b bytes.Buffer
	results := []*Result{validRun(), violatedRun(), cutRun(), openLoopRun(), sqliteRun(), hugeRun(), {}}
	if err := MarkdownTables(&b, results); err != nil {
		t.Fatal(err)
	}
	golden(t, "tables.md", b.Bytes())
}
