package view

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/check"
	"assay/report"
)

const (
	kindRun    = "run"
	kindSeries = "series"
	kindStudy  = "study"
	kindOther  = "other"
)

const (
	stateRunning    = "running"
	stateStopped    = "not ended"
	stateUnreadable = "not readable"
	stateNone       = "no run"
)

type entry struct {
	// Path is relative to the shown folder ("."), with slashes.
	Path string
	Kind string
	// Verdict is a run's verdict, or one of the states.
	Verdict                     string
	Problem                     string
	Workload, Database, Version string
	Started                     time.Time
	Clients, Faults             int
	// PerSecond, P50 and P99 are 0 if there are none.
	PerSecond, P50, P99 float64
	Invalid             bool
	// Configuration is what a run varies in its series, or its cluster.
	Configuration string
	// Series is the path of the run's series.
	Series      string
	Done, Total int
	Report      bool
}

// Name is what the list calls it.
func (e entry) Name() string {
	if e.Path == "." {
		return "this folder"
	}
	return e.Path
}

// Page is the link to the page in its folder.
func (e entry) Page() string {
	if e.Kind == kindStudy {
		return address("files", e.Path, report.FileArticle)
	}
	return address("files", e.Path, report.FileReport)
}

// Link is where the entry leads; empty if there is nothing to show.
func (e entry) Link() string {
	switch {
	case e.Kind == kindSeries && e.Verdict != stateUnreadable:
		return address("series", e.Path, "")
	case e.Kind == kindStudy && e.Report:
		return e.Page()
	case e.Kind != kindRun:
		return ""
	case e.Report && e.Verdict != stateRunning:
		return e.Page()
	}
	return address("follow", e.Path, "")
}

// Compared reports whether it can be compared.
func (e entry) Compared() bool {
	return e.Kind == kindSeries && e.Done > 0 || e.Kind == kindRun && slices.Contains([]string{"valid", "allowed", "violated", "unknown"}, e.Verdict)
}

// Class is the verdict for the style sheet, Mark a sign for it.
func (e entry) Class() string { return strings.ReplaceAll(e.Verdict, " ", "-") }

func (e entry) Mark() string {
	if e.Verdict == stateRunning {
		return "▶"
	}
	var v check.Verdict
	_ = v.UnmarshalText([]byte(e.Verdict)) // a state is no verdict, and as unknown
	return report.Mark(v)
}

// knownHead caches a file's content until the file changes.
type knownHead struct {
	changed time.Time
	size    int64
	entry   entry
}

// The bounds of a scan: how deep below the folder, and how many entries.
const (
	maxDepth   = 4
	maxEntries = 20_000
	maxFolders = 100_000
)

// staleAfter is how old live.json, written once a second, may be before its run counts as killed.
const staleAfter = 10 * time.Second

type scan struct {
	server  *Server
	now     time.Time
	heads   map[string]knownHead
	entries []entry
	folders int
	cut     bool
	// configurations are what the runs of series vary, by the runs' paths.
	configurations map[string]string
}

// entries lists the folder. It rereads only changed files. cut is true if there are too many.
func (s *Server) entries() (all []entry, cut bool, err error) {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	c := &scan{server: s, now: time.Now(), heads: map[string]knownHead{}, configurations: map[string]string{}}
	if _, err := os.Stat(s.folder); err != nil {
		return nil, false, &FolderError{s.folder, err}
	}
	c.visit(".", "", 0)
	s.heads = c.heads
	return c.entries, c.cut, nil
}

// visit adds a folder and those below, and reports whether any is an entry. It skips symlinks.
func (c *scan) visit(at, series string, depth int) (found bool) {
	if c.folders++; len(c.entries) >= maxEntries || c.folders > maxFolders {
		c.cut = true
		return true
	}
	has := map[string]fs.FileInfo{}
	for _, name := range []string{report.FileResult, report.FileSeries, report.FileLive, report.FileScenario, report.FileReport, report.FileStudy, report.FileArticle} {
		if info, err := os.Lstat(c.file(at, name)); err == nil && info.Mode().IsRegular() {
			has[name] = info
		}
	}
	number := 0 // of the series or study itself, and of what follows it
	switch {
	case has[report.FileResult] != nil || has[report.FileLive] != nil || has[report.FileScenario] != nil:
		c.entries = append(c.entries, c.run(at, series, has))
		return true
	case has[report.FileSeries] != nil:
		c.entries = append(c.entries, c.series(at, has))
		series, found, number = at, true, len(c.entries)
	case has[report.FileStudy] != nil:
		c.entries = append(c.entries, entry{Path: at, Kind: kindStudy, Started: has[report.FileStudy].ModTime().UTC(), Report: has[report.FileArticle] != nil})
		found, number = true, len(c.entries)
	}
	list, err := os.ReadDir(c.file(at, ""))
	folders := 0
	for _, below := range list {
		if below.IsDir() && below.Name()[0] != '.' && depth < maxDepth {
			folders++
			found = c.visit(path.Join(at, below.Name()), series, depth+1) || found
		}
	}
	if number > 0 && c.entries[number-1].Verdict == "" {
		c.entries[number-1].judge(c.entries[number:])
	}
	switch {
	case err != nil:
		c.entries = append(c.entries, entry{Path: at, Kind: kindOther, Verdict: stateUnreadable, Problem: reason(err)})
	case !found && at != "." && depth <= 1:
		problem := "it holds no result.json, and no folder that does"
		if len(list) == 0 {
			problem = "it is empty"
		}
		c.entries = append(c.entries, entry{Path: at, Kind: kindOther, Verdict: stateNone, Problem: problem})
	}
	return found
}

func (c *scan) file(at, name string) string {
	return filepath.Join(c.server.folder, filepath.FromSlash(at), name)
}

// reason is an error without the path.
func reason(err error) string {
	var format *report.FileError
	var file *fs.PathError
	switch {
	case errors.As(err, &format):
		return format.Problem
	case errors.As(err, &file):
		return file.Err.Error()
	}
	return err.Error()
}

// run reads the head of a run. A fresh live.json means that the run goes on.
func (c *scan) run(at, series string, has map[string]fs.FileInfo) entry {
	if live := has[report.FileLive]; live != nil && c.now.Sub(live.ModTime()) < staleAfter {
		if l, err := report.ReadLive(c.file(at, "")); err == nil {
			return entry{Path: at, Kind: kindRun, Series: series, Verdict: stateRunning, Problem: l.Stage, Workload: l.Workload, Database: l.Database,
				Version: l.Version, Started: l.Started, Clients: l.Clients, PerSecond: l.PerSecond, P50: l.Latency.P50, P99: l.Latency.P99}
		}
	}
	info := has[report.FileResult]
	if info == nil {
		return entry{Path: at, Kind: kindRun, Series: series, Verdict: stateStopped, Started: newest(has), Problem: "it has no result.json: the run ended before its work began, or the file was removed"}
	}
	known, had := c.server.heads[at]
	if !had || !known.changed.Equal(info.ModTime()) || known.size != info.Size() {
		known = knownHead{info.ModTime(), info.Size(), headOf(c.file(at, ""), info)}
	}
	c.heads[at] = known
	e := known.entry
	e.Configuration = cmp.Or(c.configurations[at], e.Configuration)
	e.Path, e.Series, e.Report = at, series, has[report.FileReport] != nil
	return e
}

func newest(has map[string]fs.FileInfo) (at time.Time) {
	for _, info := range has {
		if info.ModTime().After(at) {
			at = info.ModTime().UTC()
		}
	}
	return at
}

func headOf(folder string, info fs.FileInfo) entry {
	h, err := report.ReadJSON(filepath.Join(folder, report.FileResult))
	if err != nil {
		return entry{Kind: kindRun, Verdict: stateUnreadable, Problem: reason(err), Started: info.ModTime().UTC()}
	}
	e := entry{Kind: kindRun, Verdict: h.Verdict.String(), Workload: h.Workload, Version: h.Version, Started: h.Started,
		Clients: h.Load.Clients, Faults: len(h.Faults), Invalid: h.Measurement.Invalid()}
	if h.Cluster != nil {
		e.Configuration = h.Cluster.Spec
	}
	if h.Database.Product != "" {
		e.Database = h.Database.Product + " " + h.Database.Version
	}
	if !h.Ended.After(h.Started) && h.Verdict == check.Unknown {
		e.Verdict, e.Problem = stateStopped, "the run was killed, or is being made by an assay that keeps no live.json; assay check judges what a killed one left"
	}
	if len(h.Rounds) == 0 {
		e.PerSecond = h.Throughput.PerSecond
		if h.Latency.Count > 0 {
			e.P50, e.P99 = h.Latency.P50, h.Latency.P99
		}
	}
	return e
}

// series reads a series, whose runs are entries of their own.
func (c *scan) series(at string, has map[string]fs.FileInfo) entry {
	s, err := report.ReadSeries(c.file(at, ""))
	if err != nil {
		return entry{Path: at, Kind: kindSeries, Verdict: stateUnreadable, Problem: reason(err), Started: newest(has)}
	}
	for _, r := range s.Runs {
		c.configurations[path.Join(at, r.Folder)] = r.Configuration
	}
	e := entry{Path: at, Kind: kindSeries, Workload: s.Workload, Version: s.Version, Started: s.Started, Done: s.Count(report.StateDone), Total: len(s.Runs), Report: has[report.FileReport] != nil}
	if failed := s.Count(report.StateFailed); failed > 0 {
		e.Problem = check.Counted(failed, "run", "runs") + " could not be made"
	}
	return e
}

// judge gives a series or study its runs' gravest verdict, in which a missing run counts, and their database if it is one.
func (e *entry) judge(runs []entry) {
	gravity := []string{"valid", "allowed", stateUnreadable, stateStopped, "unknown", stateRunning, "violated"}
	graver := func(verdict string) bool { return slices.Index(gravity, verdict) > slices.Index(gravity, e.Verdict) }
	for i, r := range runs {
		e.Faults += r.Faults
		e.Invalid = e.Invalid || r.Invalid
		if e.Verdict == "" || graver(r.Verdict) {
			e.Verdict = r.Verdict
		}
		if e.Kind == kindStudy && r.Kind == kindSeries {
			e.Done, e.Total, e.Problem = e.Done+r.Done, e.Total+r.Total, cmp.Or(e.Problem, r.Problem)
		}
		switch {
		case i == 0:
			e.Database, e.Clients, e.Workload = r.Database, r.Clients, cmp.Or(e.Workload, r.Workload)
		case r.Database != e.Database:
			e.Database = "several"
		}
		if r.Clients != e.Clients {
			e.Clients = 0
		}
	}
	missing := stateStopped // runs that are not made yet
	if e.Problem != "" {
		missing = "unknown" // runs that could not be made
	}
	if (e.Verdict == "" || e.Done < e.Total) && graver(missing) {
		e.Verdict = missing
	}
}
