package article

import (
	"bytes"
	"fmt"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"
	"github.com/yuin/goldmark"
)

// prose turns Markdown into HTML. goldmark drops raw HTML and links that run scripts.
func prose(text string) (template.HTML, error) {
	var b bytes.Buffer
	if err := goldmark.New().Convert([]byte(text), &b); err != nil {
		return "", fmt.Errorf("read the prose as Markdown: %w", err)
	}
	return template.HTML(b.String()), nil
}

// below makes headings in prose deeper than the section's.
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
