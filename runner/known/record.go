package known

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/check"
	"assay/internal/quantity"
	"assay/report"
)

//go:embed record.jsonl
var recorded []byte

// Hunt is one search for a bug. It ends when a run finds the bug, or after a number of runs.
type Hunt struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Found bool   `json:"found"`
	Runs  int    `json:"runs"`
	// Undecided counts the runs in which the check that shows it had no answer.
	Undecided int `json:"undecided,omitempty"`
	// Seconds is the time of all runs, with starting and ending the servers.
	Seconds float64 `json:"seconds"`
	// Server is its product and version, History the length of the smallest convicting history.
	Server  string    `json:"server"`
	History string    `json:"history,omitempty"`
	Date    time.Time `json:"date"`
}

// Recorded are the hunts that come with the program.
func Recorded() ([]Hunt, error) { return readHunts(bytes.NewReader(recorded)) }

func readHunts(in io.Reader) (all []Hunt, err error) {
	decoder := json.NewDecoder(in)
	for {
		var h Hunt
		switch err := decoder.Decode(&h); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("the record of hunts: %w", err)
		}
		all = append(all, h)
	}
}

// Append adds a hunt to a file, which it makes if necessary.
func Append(path string, h Hunt) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}

// Summary sums up the hunts of one value of a row.
type Summary struct {
	Hunts, Found    int
	Runs, Undecided int
	// Median, Least and Most are over the hunts that found the bug: runs, and seconds.
	MedianRuns, MedianSeconds float64
	LeastRuns, MostRuns       int
	LeastSeconds, MostSeconds float64
	History                   string
	Server                    string
}

// Summarize sums up the hunts of this name and value.
func Summarize(hunts []Hunt, name, value string) Summary {
	var s Summary
	var counts, seconds []float64
	for _, h := range hunts {
		if h.Name != name || h.Value != value {
			continue
		}
		s.Hunts, s.Runs, s.Undecided, s.Server = s.Hunts+1, s.Runs+h.Runs, s.Undecided+h.Undecided, h.Server
		if !h.Found {
			continue
		}
		s.Found++
		counts, seconds = append(counts, float64(h.Runs)), append(seconds, h.Seconds)
		if s.History == "" || h.History != "" && len(h.History) < len(s.History) {
			s.History = h.History
		}
	}
	if s.Found > 0 {
		s.LeastRuns, s.MedianRuns, s.MostRuns = int(slices.Min(counts)), quantity.Median(counts), int(slices.Max(counts))
		s.LeastSeconds, s.MedianSeconds, s.MostSeconds = slices.Min(seconds), quantity.Median(seconds), slices.Max(seconds)
	}
	return s
}

// Until says in a few words how long it takes to find the bug.
func (s Summary) Until() string {
	switch {
	case s.Hunts == 0:
		return "not tried"
	case s.Found == 0 && s.Undecided > 0:
		return fmt.Sprintf("not found in %s, %d without an answer", runs(float64(s.Runs)), s.Undecided)
	case s.Found == 0:
		return "not found in " + runs(float64(s.Runs))
	}
	text := runs(s.MedianRuns)
	if s.LeastRuns != s.MostRuns {
		text += fmt.Sprintf(" (%d to %d)", s.LeastRuns, s.MostRuns)
	}
	return text + fmt.Sprintf(", %.0f s (%.0f to %.0f), in %d of %d searches", s.MedianSeconds, s.LeastSeconds, s.MostSeconds, s.Found, s.Hunts)
}

// runs counts runs; the median of an even number of searches may have a half.
func runs(n float64) string {
	if n == 1 {
		return "1 run"
	}
	return strconv.FormatFloat(n, 'f', -1, 64) + " runs"
}

// Found counts the bugs that a search has found.
type Found struct {
	Bugs, Products int
	// Faults were found under faults, Disks of these by power cuts or failing disks.
	Faults, Disks int
}

// CountFound counts the rows that the searches found in the broken version or setting.
func CountFound(rows []Row, hunts []Hunt) (f Found) {
	products := map[string]bool{}
	for _, r := range rows {
		if Summarize(hunts, r.Name, r.Broken).Found == 0 {
			continue
		}
		products[r.Product] = true
		any, disk := r.Faults()
		f.Bugs, f.Faults, f.Disks = f.Bugs+1, f.Faults+count(any), f.Disks+count(any && disk)
	}
	f.Products = len(products)
	return f
}

// Page is the record as a page of Markdown.
func Page(rows []Row, hunts []Hunt, without []WithoutRow) string {
	var b strings.Builder
	tables := map[string][]string{}
	for _, r := range rows {
		tables[r.Finds.Verdict] = append(tables[r.Finds.Verdict], line(r, hunts))
	}
	found := CountFound(rows, hunts)
	fmt.Fprintf(&b, "# The record of bugs\n\nWritten by `assay known --page`. `assay known NAME` finds one again: it runs\nthe broken version or setting until assay convicts it, and the mended one as often.\n"+
		"Figures are the median and the range of the searches that found it, on two busy processors.\n"+
		"%d products have one that was found; %d were found under faults, %d of these by power cuts or failing disks.\n", found.Products, found.Faults, found.Disks)
	for _, part := range []struct {
		verdict check.Verdict
		head    string
	}{{check.Violated, "Promises that were broken"}, {check.Allowed, "Weaknesses that the manual allows"}} {
		if len(tables[part.verdict.String()]) > 0 {
			fmt.Fprintf(&b, "\n## %s\n\n| Name | What goes wrong; who found it | What was promised | Until found | Mended |\n|---|---|---|---|---|\n%s", part.head, strings.Join(tables[part.verdict.String()], ""))
		}
	}
	b.WriteString("\n## Commands, and the smallest histories that break a promise\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "\n### %s\n\n`assay %s`\n", r.Name, report.CommandLine(r.Command(r.Broken, "")))
		history, _, _ := strings.Cut(Summarize(hunts, r.Name, r.Broken).History, "\n\n  ") // prose follows
		switch {
		case r.Page != "":
			fmt.Fprintf(&b, "\n[The page for its vendor](%s)\n", r.Page)
		case history != "" && r.Finds.Verdict == check.Violated.String():
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.TrimSpace(history))
		}
	}
	b.WriteString("\n## Bugs that could not be had or were not tried\n\n| Product | Bug | Why |\n|---|---|---|\n")
	for _, a := range without {
		bug := a.Bug
		if a.Told != "" {
			bug = fmt.Sprintf("[%s](%s)", a.Bug, a.Told)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", a.Product, bug, a.Reason)
	}
	return b.String()
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

func line(r Row, hunts []Hunt) string {
	mended := cmp.Or(r.Mend, "nothing known")
	if r.Mended != "" {
		s := Summarize(hunts, r.Name, r.Mended)
		mended = fmt.Sprintf("%s %s: %s", r.Differs, r.Mended, s.Until())
		if s.Found > 0 {
			mended = fmt.Sprintf("%s %s: **found too**, by %d of %s", r.Differs, r.Mended, s.Found, runs(float64(s.Runs)))
		}
	}
	return fmt.Sprintf("| [%s](#%s) | %s (%s %s). %s | %s | %s | %s |\n", r.Name, r.Name, r.Product, r.Differs, r.Broken,
		fmt.Sprintf("%s. [%s](%s)", r.Bug, r.By, r.Told), r.Promised, Summarize(hunts, r.Name, r.Broken).Until(), mended)
}
