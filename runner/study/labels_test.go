package study

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"assay/internal/expect"
)

// quantities are named in labels of the repository's studies, each with its setting.
var quantities = map[string]string{"accounts": "accounts", "transfers": "ops", "vCPU": "cpu", "GiB": "memory", "clients": "clients"}

var named = regexp.MustCompile(`([0-9][0-9,.]*)( million)? (accounts|transfers|vCPU|GiB|clients)`)

// TestLabelsSayWhatRuns: a label's quantity is set, in every size. Texts for all sizes name no
// quantity that a size changes.
func TestLabelsSayWhatRuns(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "studies", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	labels := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		expect.NoError(t, err)
		var study map[string]any
		expect.NoError(t, yaml.Unmarshal(text, &study))
		labels += checkLabels(t, file, study)
	}
	if labels == 0 {
		t.Error("no label names a quantity")
	}
}

// checkLabels checks a part of a study and counts labels with quantities.
func checkLabels(t *testing.T, where string, part map[string]any) (labels int) {
	t.Helper()
	for key, value := range part {
		here := where + ": " + key
		if text, is := value.(string); is && (key == "title" || key == "description") && named.MatchString(text) {
			t.Errorf("%s: %q is not so in every size", here, text)
		}
		below, is := value.(map[string]any)
		if !is {
			continue
		}
		for _, found := range named.FindAllStringSubmatch(key, -1) {
			labels++
			if got := setting(below[quantities[found[3]]]); got != amount(t, found) {
				t.Errorf("%s: it sets %v", here, below)
			}
		}
		labels += checkLabels(t, here, below)
	}
	return labels
}

// amount is a found quantity as a setting has it.
func amount(t *testing.T, found []string) string {
	t.Helper()
	n, err := strconv.ParseFloat(strings.ReplaceAll(found[1], ",", ""), 64)
	expect.NoError(t, err)
	if found[2] != "" {
		n *= 1e6
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func setting(value any) string { return strings.TrimSuffix(fmt.Sprint(value), "GiB") }
