package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/history"
	"assay/internal/spelling"
	"assay/report"
	"assay/report/article"
	"assay/report/compare"
	"assay/runner"
	"assay/runner/catalog"
	"assay/runner/study"
	"assay/store"
)

type studyFlags struct {
	runFlags       // out, servers and quiet of them
	size           string
	only           []string
	dryRun, schema bool
	publish        string
}

const mostAgain = 3

func newStudy(version string) *cobra.Command {
	f := &studyFlags{size: study.DefaultSize, runFlags: runFlags{untilValid: mostAgain}}
	cmd := &cobra.Command{
		Use:   "study FILE",
		Short: "Make all runs of a file's experiments, and one report",
		Long: `Make all runs of a file's experiments, and one report of them.

The keys of an experiment are the flags of assay run; a matrix says what varies,
exclude what is left out, sizes what differs in a longer or larger form of the
study. Each experiment is a series in a folder of its own within --out. A run that
cannot be made is noted and told at the end. The same command with the same --out
goes on with a study that was interrupted.

After each experiment the article of those that are made is written into --out, as
study.html and study.md with its charts, and runs.csv with a line for each run.
--publish writes the finished article into a folder of a repository too.`,
		Example: `  assay study studies/bank.yaml --dry-run
  assay study studies/failover.yaml --size report --out runs/failover
  assay study studies/bank.yaml --out runs/bank --publish reports
  assay study --schema`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.schema {
				return printSchema(cmd.OutOrStdout())
			}
			if err := oneArgument("the study's file")(cmd, args); err != nil {
				return err
			}
			return f.run(cmd, version, args[0])
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.size, "size", f.size, "which of the study's sizes")
	flags.StringSliceVar(&f.only, "only", nil, "make these experiments alone, by their names")
	flags.IntVar(&f.repeat, "repeat", 0, "how many runs of each configuration to make, whatever the file says")
	flags.IntVar(&f.untilValid, "until-valid", f.untilValid, "how often at most to repeat a run whose measurement is invalid, unless it was too short or found something wrong")
	flags.Lookup("until-valid").NoOptDefVal = strconv.Itoa(mostAgain)
	flags.BoolVar(&f.dryRun, "dry-run", false, "print the plan, each run as its command, and about what time and disk it takes")
	flags.BoolVar(&f.schema, "schema", false, "print the JSON Schema of a study's file, for editors")
	flags.StringVar(&f.out, "out", "", "the study's folder: new, empty, or this study's (default runs/<time>-study-...)")
	flags.StringVar(&f.publish, "publish", "", "write the article into this folder too when all runs are made: NAME.md, NAME.html and charts/NAME-*.svg, after the study's file; charts that it no longer has are removed")
	flags.StringVar(&f.servers, "servers", "", serversUsage)
	f.pipeline.add(flags)
	flags.BoolVar(&f.quiet, "quiet", false, "no progress; one line for each experiment")
	return cmd
}

// vocabulary has each workload's flags that a study can use.
func vocabulary() study.Vocabulary {
	v := study.Vocabulary{}
	ofCommand := []string{"out", "scenario", "json", "quiet", "verbose", "servers", "junit", "summary", "hgrm"}
	for _, w := range catalog.Workloads() {
		f := &runFlags{workload: w, scenario: runner.Defaults(w)}
		cmd := &cobra.Command{}
		f.add(cmd)
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !slices.Contains(ofCommand, flag.Name) && !slices.Contains(w.Unused, flag.Name) {
				v[w.Name] = append(v[w.Name], study.Key{Name: flag.Name, Usage: flag.Usage, Type: flag.Value.Type()})
			}
		})
	}
	return v
}

func printSchema(out io.Writer) error {
	return printing("schema", printJSON(out, study.Schema(vocabulary())))
}

func (f *studyFlags) run(cmd *cobra.Command, version, path string) error {
	if cmd.Flags().Changed("repeat") && f.repeat < 1 {
		return usageError{fmt.Errorf("--repeat %d makes no run; want 1 or more", f.repeat)}
	}
	if f.untilValid < 0 {
		return usageError{fmt.Errorf("--until-valid %d: want 0 or more", f.untilValid)}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return usageError{fmt.Errorf("the study's file %s: %w", path, errors.Unwrap(err))}
	}
	s, err := study.Read(path, text, f.size, vocabulary())
	if err != nil {
		return err
	}
	if err := f.choose(s); err != nil {
		return err
	}
	var plans []plannedExperiment
	for _, e := range s.Experiments {
		p, err := f.plan(cmd, s, e)
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	if err := checkQuestions(s, plans); err != nil {
		return err
	}
	if f.dryRun {
		return printPlan(cmd.OutOrStdout(), s, plans, f.size)
	}
	if err := f.pipeline.open(cmd.Flags(), false, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := f.mayPublish(s); err != nil {
		return err
	}
	if err := f.open(path, text); err != nil {
		return f.pipeline.failed(cmd.OutOrStdout(), s.Title, err)
	}
	return f.makeAll(cmd, version, s, plans)
}

func (f *studyFlags) choose(s *study.Study) error {
	var known []string
	for _, e := range s.Experiments {
		known = append(known, e.Name)
	}
	for _, name := range f.only {
		if !slices.Contains(known, name) {
			return usageError{fmt.Errorf("--only %s: the study has %s%s", name, strings.Join(known, ", "), spelling.Hint(name, "", known))}
		}
	}
	s.Experiments = slices.DeleteFunc(s.Experiments, func(e study.Experiment) bool { return len(f.only) > 0 && !slices.Contains(f.only, e.Name) })
	return nil
}

// open makes or reuses the study's folder and keeps the file in it, without its passwords: assay view
// shows it. It refuses a folder of other things with a *runner.FolderError.
func (f *studyFlags) open(path string, text []byte) (err error) {
	if _, missing := os.Stat(filepath.Join(f.out, report.FileStudy)); f.out == "" || missing != nil {
		name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
		each := runner.Estimate{} // each experiment looks for room of its own
		if f.out, err = runner.CreateRoom(f.out, time.Now(), "study", name, each); err != nil {
			return err
		}
	}
	return history.WriteFile(filepath.Join(f.out, report.FileStudy), []byte(store.RedactText(string(text))))
}

// makeAll makes the missing runs, writes the tables, and returns the gravest run's error and what
// ended the study early.
func (f *studyFlags) makeAll(cmd *cobra.Command, version string, s *study.Study, plans []plannedExperiment) error {
	stderr := cmd.ErrOrStderr()
	var all []*report.RunSeries
	groups := map[string][]compare.Group{}
	var whole *article.Article
	var ended error
	for i, p := range plans {
		if !f.quiet {
			fmt.Fprintf(stderr, "experiment %d of %d: %s\n", i+1, len(plans), p.experiment.Name)
		}
		own := f.runFlags
		own.out, own.sharing = filepath.Join(f.out, p.experiment.Name), p.sharing
		made, _, err := makeSeries(cmd, version, p.plan, &own)
		if made != nil {
			all = append(all, made)
			whole = f.article(s, plans[:len(all)], f.addResults(groups, p)) // it grows with each experiment
			err = errors.Join(err, f.write(whole, plans[:len(all)], groups))
		}
		if ended = err; err != nil {
			break
		}
	}
	if len(all) == 0 && ended != nil {
		return f.pipeline.failed(cmd.OutOrStdout(), s.Title, ended)
	}
	return f.show(cmd, s, plans, all, whole, ended)
}

// show prints the experiments that were made, all or as far as ended allowed.
func (f *studyFlags) show(cmd *cobra.Command, s *study.Study, plans []plannedExperiment, all []*report.RunSeries, whole *article.Article, ended error) error {
	out := cmd.OutOrStdout()
	printed := out
	if f.pipeline.printed() {
		printed = io.Discard
	}
	err := f.describe(printed, whole, plans, all)
	a := f.answer(s, plans, all)
	switch failed := without(ended, isA[resultError]); {
	case failed != nil:
		a.suites = append(a.suites, report.NotMade(s.Title, "", textOf(failed)))
	case ended != nil:
		describeInterruption(cmd.ErrOrStderr(), f.out)
	default:
		err = errors.Join(err, f.writePublished(printed, whole))
	}
	return f.pipeline.finish(out, a, errors.Join(ended, err, exitError(exitOfSeries(all...))))
}

func (f *studyFlags) answer(s *study.Study, plans []plannedExperiment, made []*report.RunSeries) answer {
	a, whole := answer{name: "assay study"}, report.Document{Title: s.Title}
	for i, series := range made {
		name := plans[i].experiment.Name
		folder := filepath.Join(f.out, name)
		a.suites = append(a.suites, ofSeries(series, folder, name)...)
		whole.Append(name, seriesDocument(series, folder))
	}
	a.summary = whole.Markdown
	return a
}

// addResults adds an experiment's runs to groups. Without results it adds nothing.
func (f *studyFlags) addResults(groups map[string][]compare.Group, p plannedExperiment) map[string][]compare.Group {
	if own, err := compare.Read(filepath.Join(f.out, p.experiment.Name)); err == nil {
		groups[p.experiment.Name] = own
	}
	return groups
}

// write writes the article and the table of runs so far into the study's folder.
func (f *studyFlags) write(whole *article.Article, plans []plannedExperiment, groups map[string][]compare.Group) error {
	var runs []compare.Group
	for _, p := range plans {
		runs = append(runs, groups[p.experiment.Name]...)
	}
	return errors.Join(writeArticle(whole, f.out, report.FileArticleText, report.FileArticle),
		writeTo(filepath.Join(f.out, report.FileRuns), func(w io.Writer) error { return compare.RunsCSV(w, runs) }))
}

func (f *studyFlags) describe(out io.Writer, whole *article.Article, plans []plannedExperiment, made []*report.RunSeries) error {
	if whole != nil && !f.quiet {
		d := report.Document{Title: whole.Title}
		for _, a := range whole.Answers {
			d.Answers = append(d.Answers, strings.TrimSpace(a.Ask+" "+a.Mark())+" "+a.Sentence)
		}
		if err := d.Text(out, report.TextOptions{Width: textWidth(out)}); err != nil {
			return fmt.Errorf("print the answers: %w", err)
		}
		fmt.Fprintln(out)
	}
	for i, series := range made {
		if err := describeSeries(out, plans[i].experiment.Name, series); err != nil {
			return err
		}
	}
	at := func(name string) string { return filepath.Join(f.out, name) }
	_, err := fmt.Fprintf(out, "article       %s, %s\nruns          %s\n", at(report.FileArticle), at(report.FileArticleText), at(report.FileRuns))
	return err
}

func describeSeries(out io.Writer, name string, s *report.RunSeries) error {
	var failed []string
	for _, r := range s.Runs {
		if r.State == report.StateFailed {
			failed = append(failed, fmt.Sprintf("  could not be made: %s, repeat %d: %s\n", r.Configuration, r.Repeat, r.Problem))
		}
	}
	_, err := fmt.Fprintf(out, "%s: %d of %d runs made; exit code %d\n%s", name, s.Count(report.StateDone), len(s.Runs), exitOfSeries(s), strings.Join(failed, ""))
	return err
}
