// Package known records bugs of real databases: which version or setting has each, which does
// not, the command that finds it, and what past searches found.
//
// The bugs are data (rows/*.yaml). It must not know any product, workload or fault.
package known

import (
	"embed"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"assay/check"
	"assay/internal/yamlfile"
)

//go:embed rows/*.yaml
var files embed.FS

// Row is one bug.
type Row struct {
	Name    string `yaml:"name" json:"name"`
	Product string `yaml:"product" json:"product"`
	// Bug says in a sentence what goes wrong, By who found it, and Told where.
	Bug  string `yaml:"bug" json:"bug"`
	By   string `yaml:"found-by" json:"found_by"`
	Told string `yaml:"told" json:"told"`
	// Page is the kept page of assay repro --report; empty if there is none.
	Page string `yaml:"page" json:"page,omitempty"`
	// Promised is the manual's promise, with the page and the version.
	Promised string `yaml:"promised" json:"promised"`
	// Differs names the setting, such as version, of the values Broken and Mended. Each {} of
	// the command is replaced by one of them. Mended is empty if nothing mends the bug.
	Differs string `yaml:"differs" json:"differs"`
	Broken  string `yaml:"broken" json:"broken"`
	Mended  string `yaml:"mended" json:"mended,omitempty"`
	// Mend says what is known of a mend where no value of Differs is one.
	Mend string `yaml:"mend" json:"mend,omitempty"`
	// Run are the arguments of assay run, Files the texts of files named there.
	Run   []string          `yaml:"run" json:"run"`
	Files map[string]string `yaml:"files" json:"-"`
	Finds Finds             `yaml:"finds" json:"finds"`
	// Bound is the number of runs after which a search gives up.
	Bound int `yaml:"bound" json:"bound"`
}

// Finds is what a run must find to convict.
type Finds struct {
	Check string `yaml:"check" json:"check"`
	// Verdict is violated for a broken promise, allowed for what the manual allows.
	Verdict string `yaml:"verdict" json:"verdict"`
	// Word must be in the check's text; empty for any text.
	Word string `yaml:"word" json:"word,omitempty"`
}

// Rows are all known bugs, by name.
func Rows() ([]Row, error) {
	entries, err := files.ReadDir("rows")
	if err != nil {
		return nil, err
	}
	var all []Row
	for _, e := range entries {
		text, err := files.ReadFile("rows/" + e.Name())
		if err != nil {
			return nil, err
		}
		r, err := Parse(e.Name(), text)
		if err != nil {
			return nil, err
		}
		if r.Name+".yaml" != e.Name() {
			return nil, yamlfile.Refuse(e.Name(), text, "name", 0, "the file has another name than the bug: "+r.Name)
		}
		all = append(all, r)
	}
	return all, nil
}

// Parse reads the file of one bug. The error is a *yamlfile.Error.
func Parse(path string, text []byte) (Row, error) {
	var r Row
	if err := yamlfile.Decode(path, text, &r); err != nil {
		return Row{}, err
	}
	if key, problem := r.problem(); problem != "" {
		return Row{}, yamlfile.Refuse(path, text, key, 0, problem)
	}
	r.Promised, r.Bug, r.Mend = words(r.Promised), words(r.Bug), words(r.Mend)
	return r, nil
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// problem names the first wrong key and what is wrong; empty if nothing is.
func (r Row) problem() (key, problem string) {
	optional := []string{"mended", "mend", "files", "page"}
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("yaml")
		if v.Field(i).IsZero() && !slices.Contains(optional, name) {
			return name, "it is missing"
		}
	}
	line := strings.Join(r.Run, " ")
	found := []string{check.Violated.String(), check.Allowed.String()}
	switch {
	case r.Finds.Check == "":
		return "finds.check", "it is missing"
	case !slices.Contains(found, r.Finds.Verdict):
		return "finds.verdict", "it is " + strings.Join(found, " or ")
	case r.Bound < 1 || r.Bound > mostRuns:
		return "bound", fmt.Sprintf("it is from 1 to %d", mostRuns)
	case r.Mended != "" && r.Mend != "":
		return "mend", "it stands where mended does not"
	case r.Mended != "" && !strings.Contains(line, "{}"):
		return "run", "{} stands in it for what differs between the broken and the mended one"
	}
	for name := range r.Files {
		if !slices.ContainsFunc(r.Run, func(word string) bool { return isFile(word, name) }) {
			return "run", "the file " + name + " does not stand in it"
		}
	}
	return "", ""
}

func isFile(word, name string) bool { return word == name || strings.HasPrefix(word, name+"@") }

const mostRuns = 1000

// Faults reports whether finding the bug takes faults, and a power cut or a failing disk.
func (r Row) Faults() (any, disk bool) {
	line := strings.Join(r.Run, " ")
	return slices.Contains(r.Run, "--fault"), strings.Contains(line, "power-cut") || strings.Contains(line, "disk=faulty")
}

// Command returns assay's arguments that try a value of Differs; folder has the files.
func (r Row) Command(value, folder string) []string {
	words := []string{"run"}
	for _, word := range r.Run {
		for name := range r.Files {
			if isFile(word, name) {
				word = filepath.Join(folder, word)
				break
			}
		}
		words = append(words, strings.ReplaceAll(word, "{}", value))
	}
	return words
}

// Of reports whether a finished run found the bug, and which check shows it.
func (r Row) Of(checks []check.Result) (found bool, by check.Result) {
	for _, c := range checks {
		if c.Name != r.Finds.Check || c.Verdict.String() != r.Finds.Verdict && c.Verdict != check.Violated { // the graver finding counts
			continue
		}
		told := c.Detail
		for _, f := range c.Findings {
			told += " " + f.Kind
		}
		if strings.Contains(told, r.Finds.Word) {
			return true, c
		}
	}
	return false, check.Result{}
}

// Answered reports whether a finished run's check that shows the bug came to an answer.
func (r Row) Answered(checks []check.Result) bool {
	return slices.ContainsFunc(checks, func(c check.Result) bool { return c.Name == r.Finds.Check && c.Verdict != check.Unknown })
}
