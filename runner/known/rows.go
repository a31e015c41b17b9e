// Package known is the record of bugs of real databases: what each is, on which version or setting it is
// found and on which it is not, by which command, and what was found when it was tried.
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
	// Page is the page that assay repro --report made of it, beside the record; empty where none is kept.
	Page string `yaml:"page" json:"page,omitempty"`
	// Promised is what the manual says of it, with the page and the version.
	Promised string `yaml:"promised" json:"promised"`
	// Differs says what Broken and Mended are values of, such as version; one of them is
	// put in the place of each {} of the command. Mended is empty where nothing mends it.
	Differs string `yaml:"differs" json:"differs"`
	Broken  string `yaml:"broken" json:"broken"`
	Mended  string `yaml:"mended" json:"mended,omitempty"`
	// Run are the words behind assay run, and Files the texts of files that are named there.
	Run   []string          `yaml:"run" json:"run"`
	Files map[string]string `yaml:"files" json:"-"`
	Finds Finds             `yaml:"finds" json:"finds"`
	// Bound is after how many runs without a finding nobody goes on.
	Bound int `yaml:"bound" json:"bound"`
}

// Finds is what a run must find to convict.
type Finds struct {
	Check string `yaml:"check" json:"check"`
	// Verdict is violated for a broken promise, allowed for what the manual allows.
	Verdict string `yaml:"verdict" json:"verdict"`
	// Word is part of what the check says; empty for anything.
	Word string `yaml:"word" json:"word,omitempty"`
}

// Rows are the bugs that assay knows, by name.
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
	r.Promised, r.Bug = words(r.Promised), words(r.Bug)
	return r, nil
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// problem is what is wrong with which key; empty if nothing is.
func (r Row) problem() (key, problem string) {
	optional := []string{"mended", "files", "page"}
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

// isFile reports whether a word of the command is the file, perhaps with a weight.
func isFile(word, name string) bool { return word == name || strings.HasPrefix(word, name+"@") }

// mostRuns bounds what one command may take.
const mostRuns = 1000

// Faults reports whether the bug is found under faults, and by a power cut or a failing disk.
func (r Row) Faults() (any, disk bool) {
	line := strings.Join(r.Run, " ")
	return slices.Contains(r.Run, "--fault"), strings.Contains(line, "power-cut") || strings.Contains(line, "disk=faulty")
}

// Command are the words behind assay that try a value of what differs; folder has the files.
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

// Of is what a finished run says of the bug: whether it was found, and how that shows.
func (r Row) Of(checks []check.Result) (found bool, by check.Result) {
	for _, c := range checks {
		if c.Name != r.Finds.Check || c.Verdict.String() != r.Finds.Verdict && c.Verdict != check.Violated { // which is graver
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
