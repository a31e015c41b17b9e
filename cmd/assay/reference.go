package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/catalog"
	"assay/driver/bugs"
	"assay/fault"
	"assay/workload/definition"
)

// newReference is for those who change assay: docs/reference is what it writes.
func newReference() *cobra.Command {
	return &cobra.Command{
		Use:    "reference DIR",
		Short:  "Write a page for each workload, database, fault and check into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usageError{fmt.Errorf("write the reference: %w", err)}
			}
			for name, text := range referencePages() {
				if err := os.WriteFile(filepath.Join(args[0], name), []byte(text), 0o644); err != nil {
					return usageError{fmt.Errorf("write the reference: %w", err)}
				}
			}
			return nil
		},
	}
}

// referencePages returns the pages by the names of their files. Those of one kind
// begin with the kind; README.md lists them all.
func referencePages() map[string]string {
	pages, entries := map[string]string{}, map[string][]string{}
	add := func(kind, name, text, summary string) {
		file := kind + "-" + name + ".md"
		pages[file] = text
		entries[kind] = append(entries[kind], link(kind, name)+": "+summary)
	}
	for _, w := range catalog.Workloads() {
		add("workload", w.Name, workloadPage(w), w.Summary)
	}
	for _, d := range catalog.Drivers() {
		add("database", d.Name, databasePage(d), d.Summary)
	}
	for _, a := range fault.Actions() {
		add("fault", string(a.Action), faultPage(a), a.Summary())
	}
	for _, name := range checkNames() {
		text, of := checkPage(name)
		add("check", name, text, "of "+strings.Join(of, ", "))
	}
	index := page{}
	index.paragraph("# Reference", "A page for each workload, database, fault and check, written from the program by\n"+
		"`make reference`. The kinds of histories that other tools record are in\n[histories.md](../histories.md).")
	for _, kind := range []string{"workload", "database", "fault", "check"} {
		index.paragraph("## " + strings.ToUpper(kind[:1]) + kind[1:] + "s")
		index.list(entries[kind])
	}
	pages["README.md"] = index.String()
	return pages
}

// page is Markdown under construction.
type page struct{ strings.Builder }

func (p *page) paragraph(texts ...string) {
	for _, t := range texts {
		if p.Len() > 0 {
			p.WriteString("\n")
		}
		p.WriteString(t + "\n")
	}
}

func (p *page) list(items []string) {
	p.WriteString("\n")
	for _, item := range items {
		hang(&p.Builder, "- ", item)
	}
}

func (p *page) row(cells ...string) {
	for i := range cells {
		cells[i] = strings.ReplaceAll(cells[i], "|", `\|`)
	}
	p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

func (p *page) table(heads ...string) {
	p.WriteString("\n")
	p.row(heads...)
	p.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
}

func link(kind, name string) string { return "[" + name + "](" + kind + "-" + name + ".md)" }

func workloadPage(w definition.Workload) string {
	p := page{}
	p.paragraph("# Workload "+w.Name, w.Long, "```\n"+strings.ReplaceAll(strings.TrimPrefix(w.Example, "  "), "\n  ", "\n")+"\n```",
		"## Flags", "Beside those of all runs, which `assay run "+w.Name+" --help` lists:")
	p.table("Flag", "Default", "Meaning")
	for _, f := range w.Config().Flags() {
		p.row("`--"+f.Name+"`", code(fmt.Sprint(reflect.Indirect(reflect.ValueOf(f.Value)))), f.Usage)
	}
	if len(w.Unused) > 0 {
		p.paragraph("Refused are `--" + strings.Join(w.Unused, "`, `--") + "`: each " + w.WhyUnused + ".")
	}
	checks := []string{}
	for _, c := range w.Checks {
		checks = append(checks, link("check", c.Name)+": "+c.Asserts)
	}
	p.paragraph("## Checks")
	p.list(append(checks, link("check", recordCheck)+": "+recordAsserts))
	databases := []string{}
	for _, d := range catalog.Drivers() {
		databases = append(databases, link("database", d.Name)+": "+answer(d.Support(w.Name)))
	}
	p.paragraph("## Databases")
	p.list(databases)
	return p.String()
}

func databasePage(d catalog.Driver) string {
	p := page{}
	p.paragraph("# Database "+d.Name, d.Summary+".", "Addresses begin with `"+strings.Join(d.Schemes, ":`, `")+":`, such as `"+d.Example+"`.",
		"Parameters, in the address or by `--option NAME=VALUE`: "+d.Parameters+".", "## Workloads")
	workloads := []string{}
	for _, w := range catalog.Workloads() {
		workloads = append(workloads, link("workload", w.Name)+": "+answer(d.Support(w.Name)))
	}
	p.list(workloads)
	return p.String()
}

func answer(s definition.Support) string {
	if s.Open == nil {
		return "no: " + s.Reason
	}
	return "yes"
}

func faultPage(a fault.Description) string {
	p := page{}
	name := string(a.Action)
	p.paragraph("# Fault " + name)
	if a.Effect != "" {
		p.paragraph("It " + a.Effect + ".")
	}
	if a.Pods != "" {
		p.paragraph("With `--kubernetes` it " + a.Pods + ".")
	}
	if a.Value != "" {
		p.paragraph("`" + name + "=" + a.Value + "` says more; without it, it is " + a.Default + ".")
	}
	p.paragraph("It is done to: " + strings.Join(a.Targets, ", ") + ".")
	lasts := "It heals itself at once, so that `for` is refused."
	form := name + " " + a.Targets[0] + " at 10s"
	if a.Lasts {
		lasts = "It lasts until the end of the run, or as long as `for` says."
		form += " for 5s"
	}
	p.paragraph(lasts, "As `--fault` takes it: `"+form+"`, or with `every 30s` in place of `at 10s`. Behind the target, `while loading` has it happen while rows are loaded, and times count from the start of that; workloads whose loading does not go on after an error refuse it.")
	return p.String()
}

// recordCheck is the check of the tester itself, of every workload.
const (
	recordCheck   = "record"
	recordAsserts = "assay has recorded as many operations and attempts as its clients counted and as the judge found. Where the counts differ, assay has failed, and the verdict is unknown."
)

func checkNames() []string {
	names := []string{recordCheck}
	for _, w := range catalog.Workloads() {
		for _, c := range w.Checks {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkPage returns the page of a check, and the workloads that have it.
func checkPage(name string) (text string, of []string) {
	p := page{}
	p.paragraph("# Check " + name)
	if name == recordCheck {
		p.paragraph(recordAsserts)
		return p.String(), []string{"every workload"}
	}
	for _, w := range catalog.Workloads() {
		i := slices.IndexFunc(w.Checks, func(c definition.Check) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		of = append(of, w.Name)
		p.paragraph("## In workload "+w.Name, w.Checks[i].Asserts)
		all := slices.DeleteFunc(bugs.For(w.Name), func(b bugs.Bug) bool { return b.Check != name && b.Or != name })
		if len(all) == 0 {
			continue
		}
		p.paragraph("It is tested with these bugs, which `--option bug=NAME:PROBABILITY` seeds:")
		p.table("Bug", "What it does", "Evidence")
		for _, b := range all {
			p.row("`"+b.Name+"`", b.Doc, strings.Join(b.Kinds, ", "))
		}
	}
	return p.String(), of
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
