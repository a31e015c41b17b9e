package drivertest

import (
	"os"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestDocumentedTestFile compiles and runs the test file in the package comment.
func TestDocumentedTestFile(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	expect.NoError(t, err)
	file, err := os.ReadFile("../sqlite/conformance_test.go")
	expect.NoError(t, err)
	var shown strings.Builder
	for line := range strings.Lines(strings.TrimSpace(string(file))) {
		shown.WriteString(strings.TrimSuffix("//\t"+strings.TrimSuffix(line, "\n"), "\t") + "\n")
	}
	if !strings.Contains(string(doc), shown.String()) {
		t.Errorf("doc.go does not show driver/sqlite/conformance_test.go:\n%s", shown.String())
	}
}
