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
