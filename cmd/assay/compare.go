package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"assay/report"
	"assay/report/compare"
)

type comparedFlags struct {
	allow        []string
	format, page string
	json         bool
}

func (f *comparedFlags) add(cmd *cobra.Command, noun, page string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.allow, "allow", nil, "conditions in which the runs may differ: "+strings.Join(compare.Conditions(), ", ")+", or all")
	flags.StringVar(&f.format, "format", "text", "text, markdown or csv")
	flags.StringVar(&f.page, "html", "", page)
	flags.BoolVar(&f.json, "json", false, "print the "+noun+" as JSON")
	completeFlag(cmd, "format", documentFormats()...)
}

type compareFlags struct {
	comparedFlags
	gates    []string
	keep     string
	picture  string
	pipeline pipelineFlags
}

func newCompare() *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare A B...",
		Short: "Compare runs or series, and hold a pipeline's gate",
		Long: `Compare runs, series or a kept baseline: which is faster, by how much and how surely,
what differs between them, and for each figure the medians, how far they spread, the
change, and whether chance alone would make it (Mann-Whitney U test). A is what the
others are compared with. One series of several configurations can
stand alone: its first configuration is compared with each other one.

What cannot be compared is refused with exit code 2 and what differs: workload,
load, isolation, faults or machine.`,
		Example: `  assay run bank --duration 5s --repeat 5 --out before
  assay run bank --duration 5s --repeat 5 --out after
  assay compare before after --gate 'throughput>-5%'
  assay compare before after --format markdown --picture comparison.svg
  assay compare before --keep baseline.json
  assay compare baseline.json after`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.gates, "gate", nil, "a limit on a change, such as 'throughput>-5%' or 'p99<+10%'; repeatable; exit code 3 if one is missed, 4 if it rests on invalid measurements")
	flags.StringVar(&f.keep, "keep", "", "write A to this file, as a baseline for later comparisons")
	f.add(cmd, "comparison", "write a page with charts to this file, too")
	flags.StringVar(&f.picture, "picture", "", "draw the changes with their intervals into this file, an SVG, to which --format markdown refers")
	f.pipeline.add(flags)
	return cmd
}

func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError{errors.New("what is to be compared? name two folders of runs or series, or one series of several configurations")}
	}
	o, err := f.options()
	if err == nil {
		err = f.pipeline.open(cmd.Flags(), f.json, cmd.ErrOrStderr())
	}
	if err != nil {
		return err
	}
	groups, err := groupsOf(args)
	if err != nil {
		return err
	}
	if f.keep != "" {
		alone := len(args) == 1 && len(groups[0]) == 1
		if alone {
			err = keptAlone(cmd.Flags())
		}
		if err == nil {
			err = keepBaseline(f.keep, groups[0])
		}
		if err != nil || alone {
			return err
		}
	}
	all, err := compare.CompareAll(groups, o)
	if err != nil {
		return f.pipeline.failed(cmd.OutOrStdout(), "compare", err)
	}
	return f.show(cmd, all, "assay compare "+report.CommandLine(args))
}

// keptAlone refuses what asks for a comparison beside --keep and nothing to compare with.
func keptAlone(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"keep", "allow", "format"}, flag.Name) {
			err = usageError{fmt.Errorf("--%s needs a comparison, and there is one group of runs; name what it is to be compared with, or leave --%s out", flag.Name, flag.Name)}
		}
	})
	return err
}

func groupsOf(args []string) (groups [][]compare.Group, err error) {
	for _, arg := range args {
		read, err := compare.Read(arg)
		if err != nil {
			return nil, err
		}
		groups = append(groups, read)
	}
	return groups, nil
}

func (f *comparedFlags) validate() error {
	if !slices.Contains(documentFormats(), f.format) {
		return usageError{fmt.Errorf("--format %q is none of %s", f.format, strings.Join(documentFormats(), ", "))}
	}
	for _, name := range f.allow {
		if name != "all" && !slices.Contains(compare.Conditions(), name) {
			return usageError{fmt.Errorf("--allow %q is none of %s, all", name, strings.Join(compare.Conditions(), ", "))}
		}
	}
	return nil
}

func (f *compareFlags) options() (compare.Options, error) {
	o := compare.Options{Allow: f.allow}
	if err := f.validate(); err != nil {
		return o, err
	}
	for _, text := range f.gates {
		g, err := compare.ParseGate(text)
		if err != nil {
			return o, err
		}
		o.Gates = append(o.Gates, g)
	}
	return o, nil
}

func (f *compareFlags) show(cmd *cobra.Command, all []*compare.Comparison, command string) error {
	d := compare.Document(all, command)
	var unpictured error
	if f.picture != "" {
		unpictured = writeTo(f.picture, func(w io.Writer) error { return compare.Picture(w, all) })
	}
	var shown []report.Document
	if !f.pipeline.printed() {
		pictured := d // a summary is not shown where the file is
		pictured.Picture = f.picture
		shown = append(shown, pictured)
	}
	err := errors.Join(unpictured, f.present(cmd, "comparison", func(w io.Writer) error { return compare.WriteJSON(w, all) }, d, shown...))
	code := exitValid
	switch {
	case compare.Unanswered(all):
		code = exitNoVerdict
	case compare.Missed(all):
		code = exitThreshold
	}
	return f.pipeline.finish(cmd.OutOrStdout(), answer{name: "assay compare", suites: compare.Tests(all), summary: d.Markdown}, errors.Join(err, exitError(code)))
}

// present writes a document as the page, and prints all others, or JSON of what noun names.
func (f *comparedFlags) present(cmd *cobra.Command, noun string, asJSON func(io.Writer) error, page report.Document, all ...report.Document) (err error) {
	var unwritten error
	if f.page != "" {
		unwritten = writeTo(f.page, page.HTML)
	}
	out := cmd.OutOrStdout()
	if f.json {
		err, all = asJSON(out), nil
	}
	for i, d := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		err = errors.Join(err, showDocument(out, d, f.format, f.page))
	}
	err = printing(noun, err)
	return errors.Join(unwritten, err)
}

func documentFormats() []string { return []string{"text", "markdown", "csv"} }

func showDocument(out io.Writer, d report.Document, format, page string) error {
	switch format {
	case "markdown":
		return d.Markdown(out)
	case "csv":
		return d.CSV(out)
	}
	return d.Text(out, report.TextOptions{Width: textWidth(out), Report: page})
}

func keepBaseline(path string, groups []compare.Group) error {
	if len(groups) != 1 {
		return usageError{fmt.Errorf("--keep keeps one group of runs; the first argument has %d", len(groups))}
	}
	return writeTo(path, func(w io.Writer) error { return compare.WriteBaseline(w, groups[0]) })
}

// writeTo writes a file. It removes an incomplete one, but never a device or a pipe.
func writeTo(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return usageError{fmt.Errorf("cannot write %s: %w", path, errors.Unwrap(err))}
	}
	info, err := file.Stat()
	regular := err == nil && info.Mode().IsRegular()
	err = errors.Join(err, write(file), file.Close())
	if err == nil {
		return nil
	}
	err = fmt.Errorf("write %s: %w", path, err)
	if regular {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}
