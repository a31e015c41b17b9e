package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"assay/report"
	"assay/report/junit"
)

// stepSummary names the file to which a step of GitHub Actions appends its summary.
const stepSummary = "GITHUB_STEP_SUMMARY"

// onOutput is a file name for standard output.
const onOutput = "-"

type pipelineFlags struct {
	junit, summary string
	// appends adds the summary to its file. asked is false if only the environment asks for it.
	appends, asked bool
}

func (f *pipelineFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.junit, "junit", "", "write checks and thresholds as test cases to this file, in JUnit's XML form")
	flags.StringVar(&f.summary, "summary", "", "write a short summary in Markdown to this file, - for standard output instead of what is printed; without the flag it is appended to the file that "+stepSummary+" names, if that is set")
}

// printed reports whether the summary replaces the printed result.
func (f *pipelineFlags) printed() bool { return f.summary == onOutput }

// open checks, before any work, that the files can be written. asJSON: standard output has JSON.
func (f *pipelineFlags) open(flags *pflag.FlagSet, asJSON bool, stderr io.Writer) error {
	if f.printed() && asJSON {
		return usageError{errors.New("--summary - and --json exclude each other: both are for standard output")}
	}
	if err := refuseOutput("junit", f.junit); err != nil {
		return err
	}
	f.asked = flags.Changed("summary")
	of := os.Getenv(stepSummary)
	if !f.asked {
		f.summary = of
	}
	f.appends = f.summary == of
	if err := f.refuseSame(flags); err != nil {
		return err
	}
	for _, path := range []string{f.junit, f.summary} {
		if path == "" || path == onOutput {
			continue
		}
		if err := writable(path); err != nil {
			if path == f.summary && !f.asked {
				fmt.Fprintf(stderr, "note: no summary is written, though %s asks for one: %v\n", stepSummary, err)
				f.summary = ""
				continue
			}
			return err
		}
	}
	return nil
}

// refuseSame refuses one file for two outputs, of which the later would replace the earlier. A
// device or a pipe takes several.
func (f *pipelineFlags) refuseSame(flags *pflag.FlagSet) error {
	given := map[string]string{}
	for _, name := range []string{"junit", "summary", "hgrm", "html", "picture", "keep"} {
		flag := flags.Lookup(name)
		if flag == nil {
			continue
		}
		path := flag.Value.String()
		if name == "summary" {
			path = f.summary // which the environment may name
		}
		if info, missing := os.Stat(path); path == "" || path == onOutput || missing == nil && !info.Mode().IsRegular() {
			continue
		}
		whole, err := filepath.Abs(path)
		if err != nil {
			return fmt.Errorf("find where --%s %s is: %w", name, path, err)
		}
		if other, is := given[whole]; is {
			return usageError{fmt.Errorf("--%s and --%s both name %s; give each a file of its own", other, name, path)}
		}
		given[whole] = name
	}
	return nil
}

// refuseOutput refuses standard output for files that cannot share it.
func refuseOutput(name, path string) error {
	if path == onOutput {
		return usageError{fmt.Errorf("--%s wants the name of a file; standard output has the result", name)}
	}
	return nil
}

// writable opens a file as it will be opened later, and leaves no new one. It does not open a
// pipe, which may have no reader yet.
func writable(path string) error {
	info, missing := os.Stat(path)
	if missing == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return usageError{fmt.Errorf("cannot write %s: %w", path, errors.Unwrap(err))}
	}
	err = file.Close()
	if missing != nil { // it was made here, and so is a file
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

type answer struct {
	name    string
	suites  []junit.Suite
	summary func(io.Writer) error
}

// finish writes the files of a printed answer. It returns shown, and why a write failed.
func (f *pipelineFlags) finish(out io.Writer, a answer, shown error) error {
	return errors.Join(shown, f.write(out, a))
}

// failed writes the files of a command without an answer, and returns why.
func (f *pipelineFlags) failed(out io.Writer, what string, why error) error {
	problem := textOf(why)
	return errors.Join(why, f.write(out, answer{name: "assay " + what, suites: []junit.Suite{report.NotMade(what, "", problem)},
		summary: func(w io.Writer) error { return report.SummaryOfProblem(w, what, problem) }}))
}

func (f *pipelineFlags) write(out io.Writer, a answer) error {
	var problems []error
	if f.junit != "" {
		problems = append(problems, writeTo(f.junit, func(w io.Writer) error { return junit.Write(w, a.name, a.suites) }))
	}
	switch {
	case f.summary == "":
	case f.printed():
		problems = append(problems, a.summary(out))
	case f.appends:
		problems = append(problems, appendTo(f.summary, a.summary))
	default:
		problems = append(problems, writeTo(f.summary, a.summary))
	}
	return errors.Join(problems...)
}

// appendTo appends after an empty line, since the Markdown before may end within a paragraph.
func appendTo(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return usageError{fmt.Errorf("cannot write %s: %w", path, errors.Unwrap(err))}
	}
	_, err = io.WriteString(file, "\n")
	if err = errors.Join(err, write(file), file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func ofResult(r *report.Result, page string) answer {
	return answer{name: "assay", suites: []junit.Suite{report.Tests(r, "")},
		summary: func(w io.Writer) error { return report.Summary(w, r, page) }}
}

// ofSeries is the answer of a series' runs. experiment is the study's, or empty. The case of a
// run without a result says why.
func ofSeries(s *report.RunSeries, folder, experiment string) (suites []junit.Suite) {
	for _, r := range s.Runs {
		configuration := experiment
		for _, more := range []string{r.Configuration, fmt.Sprintf("repeat %d", r.Repeat)} {
			if configuration != "" && more != "" {
				configuration += ", "
			}
			configuration += more
		}
		problem := r.Problem
		switch r.State {
		case report.StateDone:
			result, err := report.ReadJSON(filepath.Join(folder, r.Folder, report.FileResult))
			if err == nil {
				suites = append(suites, report.Tests(result, configuration))
				continue
			}
			problem = err.Error()
		case report.StateWaiting:
			problem = "not made: the series was interrupted before it"
		}
		suites = append(suites, report.NotMade(s.Workload, configuration, problem))
	}
	return suites
}
