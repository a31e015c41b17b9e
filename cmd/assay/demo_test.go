package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/expect"
)

// demoFolder has a recorded session and two runs, for those who want to look first.
var demoFolder = filepath.Join("..", "..", "docs", "demo")

// private is what nothing there may tell: a folder of the machine on which it was made,
// and a password in an address.
var private = regexp.MustCompile(`(^|[\s"'=:(;>])/(tmp|home|root|usr|var|opt|srv|mnt|dev|work|Users)/|://[^/\s:]*:[^/\s@]+@`)

func tellsNothing(t *testing.T, name, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if found := private.FindString(line); found != "" {
			t.Errorf("%s has %q", name, found)
		}
	}
}

// terminalText reads a recorded session as asciinema's form 2 has it (docs.asciinema.org, "asciicast
// v2"): a head, and lines of a time, "o" for output, and the text. It returns what the
// terminal was given.
func terminalText(t *testing.T, file string) string {
	t.Helper()
	text := readFile(t, file)
	first, rest, _ := strings.Cut(text, "\n")
	var head struct {
		Version, Width, Height int
		Timestamp              int64
		Idle                   float64 `json:"idle_time_limit"`
		Env                    map[string]string
		Title                  string
	}
	decoder := json.NewDecoder(strings.NewReader(first))
	decoder.DisallowUnknownFields()
	expect.NoError(t, decoder.Decode(&head))
	if head.Version != 2 || head.Width != 80 || head.Height != 32 || head.Idle <= 0 || len(head.Env) != 1 || head.Env["TERM"] != "xterm-256color" {
		t.Errorf("%s begins with %s", file, first)
	}
	var all strings.Builder
	last := 0.0
	for line := range strings.Lines(rest) {
		var at float64
		var kind, output string
		event := []any{&at, &kind, &output}
		if err := json.Unmarshal([]byte(line), &event); err != nil || len(event) != 3 || at < last || kind != "o" {
			t.Fatalf("%s after %g s: %v, %s", file, last, err, line)
		}
		last = at
		all.WriteString(output)
	}
	tellsNothing(t, file, all.String())
	return all.String()
}

// drawn wants a picture that a page may show: well-formed, small, with no script and
// nothing from elsewhere.
func drawn(t *testing.T, file string) {
	t.Helper()
	text := readFile(t, file)
	if len(text) > 200_000 {
		t.Errorf("%s has %d bytes", file, len(text))
	}
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		expect.NoError(t, err)
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if element.Name.Local == "script" {
			t.Errorf("%s has a script", file)
		}
		for _, a := range element.Attr {
			if a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") {
				t.Errorf("%s refers to %s", file, a.Value)
			}
		}
	}
	tellsNothing(t, file, text)
}

// TestRecordedSession: it shows commands of the README, a database that lied, and what was
// asked last ends with its verdict.
func TestRecordedSession(t *testing.T) {
	t.Parallel()
	file := filepath.Join(demoFolder, "session.cast")
	text := terminalText(t, file)
	drawn(t, filepath.Join(demoFolder, "session.svg"))
	typed := regexp.MustCompile(`\x1b\[32m\$\x1b\[0m (assay .*)\r\n`).FindAllStringSubmatch(text, -1)
	var readme []string
	for _, c := range commandsOf(t, filepath.Join("..", "..", "README.md")) {
		readme = append(readme, strings.Replace(c.line, "go run ./cmd/assay ", "assay ", 1))
	}
	of := 0
	for _, command := range typed {
		if slices.Contains(readme, command[1]) {
			of++
		}
	}
	if of < 2 || !strings.Contains(text, "VIOLATED") || strings.Contains(text, "INVALID") {
		t.Errorf("%s has %d commands of the README: %q", file, of, typed)
	}
	if !regexp.MustCompile(`\nverdict       VALID[^\n]*\n(measurement[^\n]*\n)?report        runs/\S+/report\.html\r\n\r\n$`).MatchString(text) {
		t.Errorf("%s ends with %q", file, text[max(0, len(text)-500):])
	}
}

// TestSessionIsRecorded by the script, of another command.
func TestSessionIsRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const command = "assay run bank --db mem:// --accounts 100 --ops 300"
	runScript(t, nil, "record-session.sh", dir, command)
	text := terminalText(t, filepath.Join(dir, "session.cast"))
	drawn(t, filepath.Join(dir, "session.svg"))
	expect.Text(t, "the session", text, command+"\r\n", "verdict       VALID", "/report.html")
}

// runScript runs a script of the repository to its end.
func runScript(t *testing.T, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("..", "..", "scripts", name), args...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+temporary(t), "ASSAY_PROGRAM="+binary), env...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, output)
	}
}

// formOf is what a page is made of, without its figures: sections, headings and the heads
// of tables.
func formOf(page string) []string {
	return regexp.MustCompile(`<h[1-4][^>]*>[^<]*|<th scope="?col[^>]*>[^<]*|<(section|table|figure|svg)[^>]*>`).FindAllString(page, -1)
}

// TestDemoPages: the results are as the schema says and as the README tells, and the pages
// are those that the program makes of them today.
func TestDemoPages(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "demo")
	expect.NoError(t, os.CopyFS(folder, os.DirFS(demoFolder)))
	runScript(t, []string{"ASSAY_DEMO=" + folder}, "make-demo.sh", "pages")
	var schema jsonschema.Schema
	expect.NoError(t, json.Unmarshal([]byte(readFile(t, "..", "..", "report", "schema.json")), &schema))
	resolved, err := schema.Resolve(nil)
	expect.NoError(t, err)
	for _, name := range []string{"killed-primary", "read-skew"} {
		text, page := readFile(t, demoFolder, name, "result.json"), readFile(t, demoFolder, name, "report.html")
		var result any
		expect.NoError(t, json.Unmarshal([]byte(text), &result), resolved.Validate(result))
		if len(page) > 1_500_000 {
			t.Errorf("%s: the page has %d bytes", name, len(page))
		}
		if was, is := formOf(page), formOf(readFile(t, folder, name, "report.html")); len(is) < 20 || !slices.Equal(was, is) {
			t.Errorf("%s: the page is not what the program makes today; run scripts/make-demo.sh pages\nit has    %q\ntoday has %q", name, was, is)
		}
		entries, err := os.ReadDir(filepath.Join(demoFolder, name))
		expect.NoError(t, err)
		for _, e := range entries {
			tellsNothing(t, filepath.Join(name, e.Name()), readFile(t, demoFolder, name, e.Name()))
		}
	}
	killed, skewed := resultOf(t, filepath.Join(demoFolder, "killed-primary")), resultOf(t, filepath.Join(demoFolder, "read-skew"))
	if len(killed.Faults) != 1 || killed.Verdict.String() != "valid" || skewed.Verdict.String() != "violated" {
		t.Errorf("%s with %d faults, and %s", killed.Verdict, len(killed.Faults), skewed.Verdict)
	}
	if killed.Measurement.Verdict == "invalid" || skewed.Measurement.Verdict == "invalid" {
		t.Errorf("figures are invalid: %q, %q", killed.Measurement.Reasons, skewed.Measurement.Reasons)
	}
	aPicture(t, filepath.Join(folder, "..", "report.png"))
	aPicture(t, filepath.Join(demoFolder, "..", "report.png"))
}

// aPicture wants a picture as wide as a page is shown.
func aPicture(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(name)
	expect.NoError(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	expect.NoError(t, err)
	if b := picture.Bounds(); b.Dx() != 1280 || b.Dy() < 300 {
		t.Errorf("%s has %v", name, b)
	}
}
