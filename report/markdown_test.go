package report

import (
	"bytes"
	"testing"
)

func TestMarkdownGolden(t *testing.T) {
	for name, r := range examples() {
		var b bytes.Buffer
		noError(t, Markdown(&b, r))
		golden(t, name+".md", b.Bytes())
	}
}
