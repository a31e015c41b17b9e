package compare

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"assay/report"
)

// Group is runs of the same configuration, one side of a comparison.
type Group struct {
	// Name is the configuration's, or else that of Folder.
	Name string
	// Folder is the name of the series' folder; empty for other runs.
	Folder string
	// Values are of what the group's series varies on purpose, such as 8 of "clients". A
	// difference there refuses nothing.
	Values []report.Setting
	Runs   []Run
	// Failed runs could not be made, the last because of Problem. Waiting ones are not made yet.
	Failed, Waiting int
	Problem         string
	// Again is how often runs were repeated for invalid measurements.
	Again int
}

// Run is one run, as far as a comparison needs it.
type Run struct {
	Folder  string         `json:"folder"`
	Machine Machine        `json:"machine"`
	Result  *report.Result `json:"result"`
}

// Machine is assay's machine from environment.json; empty without that file.
type Machine struct {
	OS           string `json:"os"`
	Architecture string `json:"architecture"`
	CPU          string `json:"cpu_model"`
	CPUs         int    `json:"cpus"`
	MemoryBytes  uint64 `json:"memory_bytes"`
}

// Read returns an argument's groups: the configurations of a series' folder, the run of a folder
// or result.json, all runs of a folder of such folders, or a baseline. Errors are
// *report.FileError.
func Read(path string) ([]Group, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, &report.FileError{Path: path, Problem: "there is no such file or folder; name the folder of a run or a series, or a baseline", Err: err}
	case err != nil:
		return nil, &report.FileError{Path: path, Problem: "cannot be read: " + errors.Unwrap(err).Error(), Err: err}
	case !info.IsDir() && filepath.Base(path) == report.FileResult:
		return readRun(filepath.Dir(path))
	case !info.IsDir():
		return readBaseline(path)
	case isFile(filepath.Join(path, report.FileSeries)):
		return readSeries(path)
	case isFile(filepath.Join(path, report.FileResult)):
		return readRun(path)
	}
	return readFolders(path)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

func nameOf(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return filepath.Base(whole)
	}
	return filepath.Base(path)
}

func readRun(folder string) ([]Group, error) {
	run, err := runOf(folder)
	if err != nil {
		return nil, err
	}
	return []Group{{Name: nameOf(folder), Runs: []Run{run}}}, nil
}

func runOf(folder string) (Run, error) {
	result, err := report.ReadJSON(filepath.Join(folder, report.FileResult))
	if err != nil {
		return Run{}, err
	}
	run := Run{Folder: folder, Result: result}
	text, err := os.ReadFile(filepath.Join(folder, report.FileEnvironment))
	if err == nil { // what is not known is not compared
		_ = json.Unmarshal(text, &run.Machine)
	}
	return run, nil
}

func readSeries(folder string) ([]Group, error) {
	series, err := report.ReadSeries(folder)
	if err != nil {
		return nil, err
	}
	var groups []Group
	for _, c := range series.Configurations {
		g := Group{Name: cmp.Or(c.Name, nameOf(folder)), Folder: nameOf(folder), Values: c.Values}
		for _, r := range series.Runs {
			switch {
			case r.Configuration != c.Name:
			case r.State == report.StateFailed:
				g.Failed, g.Problem = g.Failed+1, r.Problem
			case r.State != report.StateDone:
				g.Waiting++
			default:
				run, err := runOf(filepath.Join(folder, r.Folder))
				if err != nil {
					return nil, err
				}
				g.Runs, g.Again = append(g.Runs, run), g.Again+r.Again
			}
		}
		groups = append(groups, g)
	}
	if !slices.ContainsFunc(groups, func(g Group) bool { return len(g.Runs) > 0 }) {
		return nil, &report.FileError{Path: folder, Problem: "no run of this series has a result yet; assay run goes on with it, given the same flags and --out"}
	}
	return groups, nil
}

func readFolders(folder string) ([]Group, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, &report.FileError{Path: folder, Problem: "cannot be read: " + errors.Unwrap(err).Error(), Err: err}
	}
	g := Group{Name: nameOf(folder)}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !isFile(filepath.Join(path, report.FileResult)) {
			continue
		}
		run, err := runOf(path)
		if err != nil {
			return nil, err
		}
		g.Runs = append(g.Runs, run)
	}
	if len(g.Runs) == 0 {
		return nil, &report.FileError{Path: folder, Problem: "is neither a run, a series nor a folder of runs: it has no result.json or series.json"}
	}
	return []Group{g}, nil
}

// pairsOf gives namesakes of several series the names of their folders. No two groups have the same name.
func pairsOf(arguments [][]Group) ([][2]Group, error) {
	if len(arguments) > 1 && len(arguments[0]) > 1 && sameNames(arguments) {
		var pairs [][2]Group
		for i, first := range arguments[0] {
			same := []Group{first}
			for _, other := range arguments[1:] {
				same = append(same, other[i])
			}
			for at := range same {
				same[at].Name += " (" + same[at].Folder + ")"
			}
			pairs = append(pairs, withFirst(same)...)
		}
		return withRuns(pairs)
	}
	all := slices.Concat(arguments...)
	if len(all) < 2 {
		return nil, &report.FileError{Path: all[0].Name, Problem: "is one group of runs alone; name a second one to compare it with"}
	}
	return withRuns(withFirst(all))
}

// withFirst pairs the first group with each other one. It numbers those with the name of one before.
func withFirst(all []Group) (pairs [][2]Group) {
	for i, other := range all[1:] {
		if slices.ContainsFunc(all[:i+1], func(g Group) bool { return g.Name == other.Name }) {
			other.Name = fmt.Sprintf("%s (%d)", other.Name, i+2)
		}
		pairs = append(pairs, [2]Group{all[0], other})
	}
	return pairs
}

func sameNames(arguments [][]Group) bool {
	for _, other := range arguments[1:] {
		if !slices.EqualFunc(arguments[0], other, func(a, b Group) bool { return a.Name == b.Name }) {
			return false
		}
	}
	return true
}

// withRuns leaves out pairs with an empty side, unless there are no others.
func withRuns(pairs [][2]Group) ([][2]Group, error) {
	had := slices.DeleteFunc(slices.Clone(pairs), func(p [2]Group) bool { return len(p[0].Runs) == 0 || len(p[1].Runs) == 0 })
	if len(had) == 0 {
		return nil, &report.FileError{Path: pairs[0][0].Name, Problem: "nothing to compare: one side has no run with a result"}
	}
	return had, nil
}
