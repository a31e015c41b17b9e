package article

import (
	"bytes"
	"fmt"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/yuin/goldmark"
)

// prose turns Markdown into HTML. Raw HTML and links that run scripts are left out, which is
// goldmark's default.
func prose(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := goldmark.New().Convert([]byte(text), &b); err != nil {
		return "", fmt.Errorf("read the prose as Markdown: %w", err)
	}
	return template.HTML(b.String()), nil
}

// below makes the headings of prose in Markdown deeper, so that they stand below the
// section's.
func below(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	fenced := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(line, "#") {
			lines[i] = "##" + line
		}
	}
	return strings.Join(lines, "\n")
}
