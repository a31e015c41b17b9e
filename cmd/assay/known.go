package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/check"
	"assay/internal/spelling"
	"assay/report"
	"assay/runner/known"
	"assay/store"
)

type knownFlags struct {
	all, json, page, brokenOnly bool
	repeat                      int
	servers, out, record        string
}

func newKnown() *cobra.Command {
	f := &knownFlags{}
	cmd := &cobra.Command{
		Use: "known [NAME|FILE.yaml]", Args: atMostOne,
		Short: "Find known bugs of real databases again",
		Long: `List bugs of real databases, or find one again.

With a name, assay runs the bug's command on the broken version or setting until a
run convicts it, or as many runs as its bound says have not. Then it runs the mended
one as often. It gets versions that are not on this machine by itself, once
(assay cluster --help). FILE.yaml has a bug of your own, in the form of
runner/known/rows.

The exit code is 0 if the broken one was convicted and nothing was found on the
mended one, 4 if the broken one was not convicted or the check did not answer
on the mended one, and 1 if the mended one was convicted. With --all, assay goes on
after a bug whose command cannot run, and names it at the end. The code is then 5,
or 1 if a mended one was convicted.`,
		Example: `  assay known
  assay known postgresql-serializable-g2-item
  assay known --all --record runner/known/record.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.BoolVar(&f.all, "all", false, "find all of them, one after the other")
	flags.IntVar(&f.repeat, "repeat", 1, "how many searches to make")
	flags.BoolVar(&f.brokenOnly, "broken-only", false, "do not run the mended one")
	flags.StringVar(&f.servers, "servers", "", serversUsage)
	flags.StringVar(&f.out, "out", "", "keep the runs' folders in this new folder")
	flags.StringVar(&f.record, "record", "", "add what each search found to this file, as a line of JSON")
	flags.BoolVar(&f.json, "json", false, "print the list as JSON")
	flags.BoolVar(&f.page, "page", false, "print the record as a page of Markdown")
	return cmd
}

func (f *knownFlags) run(cmd *cobra.Command, args []string) error {
	rows, err := known.Rows()
	if err != nil {
		return err
	}
	if len(args) == 0 && !f.all {
		return f.list(cmd.OutOrStdout(), rows)
	}
	if f.page || f.json || f.repeat < 1 || f.all && len(args) > 0 {
		return usageError{errors.New("a search has a name or --all, a --repeat from 1 on, and neither --page nor --json")}
	}
	if len(args) > 0 {
		if rows, err = chosenRow(rows, args[0]); err != nil {
			return err
		}
	}
	if f.out == "" {
		if f.out, err = os.MkdirTemp("", "assay-known-"); err != nil {
			return err
		}
		defer os.RemoveAll(f.out)
	}
	return f.searchAll(cmd, rows)
}

// searchAll goes on after a bug whose command could not run, unless assay was interrupted, and
// returns at the end why these could not.
func (f *knownFlags) searchAll(cmd *cobra.Command, rows []known.Row) error {
	code := exitValid
	var unable []error
	for _, r := range rows {
		for i := range f.repeat {
			got, err := f.search(cmd, r, filepath.Join(f.out, fmt.Sprintf("%s-%d", r.Name, i+1)))
			code = graver(code, got)
			if err == nil {
				continue
			}
			if len(rows) == 1 || cmd.Context().Err() != nil {
				return errors.Join(errors.Join(unable...), unfinished(err), exitError(code))
			}
			unable = append(unable, fmt.Errorf("%s could not run: %w", r.Name, err))
			fmt.Fprintf(cmd.OutOrStdout(), "  could not run: %s\n", textOf(err))
			break
		}
	}
	return errors.Join(errors.Join(unable...), exitError(code))
}

func chosenRow(rows []known.Row, name string) ([]known.Row, error) {
	if filepath.Ext(name) == ".yaml" {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usageError{err}
		}
		r, err := known.Parse(name, text)
		if err != nil {
			return nil, usageError{err}
		}
		return []known.Row{r}, nil
	}
	var names []string
	for _, r := range rows {
		if r.Name == name {
			return []known.Row{r}, nil
		}
		names = append(names, r.Name)
	}
	return nil, usageError{fmt.Errorf("no bug %q is known; assay known lists them%s", name, spelling.Hint(name, "", names))}
}

func (f *knownFlags) list(out io.Writer, rows []known.Row) error {
	hunts, err := known.Recorded()
	without, listErr := known.BugsWithoutRow()
	switch {
	case err != nil || listErr != nil:
		return errors.Join(err, listErr)
	case f.json:
		return printJSON(out, rows)
	case f.page:
		_, err := io.WriteString(out, known.Page(rows, hunts, without))
		return err
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%s\n", r.Name)
		hang(&b, "  ", fmt.Sprintf("%s (%s %s): %s", r.Product, r.Differs, r.Broken, r.Bug))
		fmt.Fprintf(&b, "  found: %s\n", known.Summarize(hunts, r.Name, r.Broken).Until())
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// search looks for a bug in the broken server, and equally often in the fixed one.
func (f *knownFlags) search(cmd *cobra.Command, r known.Row, folder string) (code int, err error) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n  assay %s\n", r.Name, r.Bug, report.CommandLine(r.Command(r.Broken, "")))
	broken, err := f.hunt(cmd, r, r.Broken, r.Bound, filepath.Join(folder, "broken"))
	if err != nil {
		return exitValid, err // the error has a code of its own
	}
	if broken.History != "" {
		fmt.Fprintf(out, "\n%s\n\n", strings.TrimSpace(broken.History))
	}
	if !broken.Found {
		code = exitNoVerdict
	}
	if r.Mended == "" || f.brokenOnly {
		return code, nil
	}
	mended, err := f.hunt(cmd, r, r.Mended, broken.Runs, filepath.Join(folder, "mended"))
	switch {
	case mended.Found:
		code = exitViolated
	case mended.Undecided > 0:
		code = exitNoVerdict
	}
	return code, err
}

// hunt runs the command on one value until a run finds the bug, at most bound times.
func (f *knownFlags) hunt(cmd *cobra.Command, r known.Row, value string, bound int, folder string) (known.Hunt, error) {
	out := cmd.OutOrStdout()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return known.Hunt{}, err
	}
	for name, text := range r.Files {
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(name)), []byte(text), 0o644); err != nil {
			return known.Hunt{}, err
		}
	}
	h, began := known.Hunt{Name: r.Name, Value: value, Date: time.Now().UTC().Truncate(time.Second)}, time.Now()
	for !h.Found && h.Runs < bound {
		h.Runs++
		run := filepath.Join(folder, fmt.Sprint(h.Runs))
		result, err := f.try(cmd, r.Command(value, folder), run)
		if err != nil {
			return h, err
		}
		var by check.Result
		if h.Found, by = r.Of(result.Checks); h.Found {
			h.History = report.Smallest(by, r.Finds.Word)
		} else if !r.Answered(result.Checks) {
			h.Undecided++
		}
		h.Server = serverOf(result)
		fmt.Fprintf(out, "  %s %s, run %d, %.0f s: %s\n", r.Differs, value, h.Runs, time.Since(began).Seconds(), answerLine(h.Found, result, by))
	}
	h.Seconds = time.Since(began).Round(100 * time.Millisecond).Seconds()
	if f.record == "" {
		return h, nil
	}
	return h, known.Append(f.record, h)
}

func serverOf(r *report.Result) string {
	text := r.Database.Product + " " + r.Database.Version
	if manager := report.ValueOf(r.Database.Settings, store.SettingLedBy); manager != "" {
		text += strings.TrimRight(", "+manager+" "+report.ValueOf(r.Database.Settings, store.SettingManagerVersion), " ")
	}
	return text
}

func answerLine(found bool, result *report.Result, by check.Result) string {
	if found {
		return "found: " + by.Name + " " + by.Verdict.String()
	}
	return "not found: the verdict is " + result.Verdict.String()
}

// try makes one run. Its result says all that its exit code does, or try returns an error.
func (f *knownFlags) try(cmd *cobra.Command, words []string, folder string) (*report.Result, error) {
	words = append(words, "--out", folder, "--quiet")
	if f.servers != "" {
		words = append(words, "--servers", f.servers)
	}
	var said bytes.Buffer
	code := run(cmd.Context(), words, io.Discard, &said)
	if err := cmd.Context().Err(); err != nil {
		return nil, context.Canceled
	}
	if code == exitUsage || code == exitCannotRun {
		return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(said.String()), "assay: "))
	}
	result, err := report.ReadJSON(filepath.Join(folder, report.FileResult))
	if err == nil && report.ExitOf(result).Code != code { // the file is older than the answer
		return nil, fmt.Errorf("the result of the run is not in %s: %s", folder, strings.TrimPrefix(strings.TrimSpace(said.String()), "assay: "))
	}
	return result, err
}
