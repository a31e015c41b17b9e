package report

import (
	"bytes"
	"testing"

	"assay/internal/expect"
)

func TestMarkdownGolden(t *testing.T) {
	for name, r := range examples() {
		var b bytes.Buffer
		expect.NoError(t, Markdown(&b, r))
		golden(t, name+".md", b.Bytes())
	}
}
