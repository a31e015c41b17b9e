package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"assay/fault"
	"assay/runner/catalog"
	"assay/workload/definition"
)

// newReference is for those who change assay: docs/reference is what it writes.
func newReference() *cobra.Command {
	return &cobra.Command{
		Use:    "reference DIR",
		Short:  "Write the pages of workloads, databases, faults and checks into a folder",
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

// referencePages returns the four pages by the names of their files. Each has a section
// for each workload, database, fault or check, under the name that the program knows it by.
func referencePages() map[string]string {
	sections := map[string]*page{}
	section := func(kind, name string) *page {
		if sections[kind] == nil {
			sections[kind] = &page{}
		}
		sections[kind].paragraph("## " + name)
		return sections[kind]
	}
	for _, w := range catalog.Workloads() {
		section("workloads", w.Name).workload(w)
	}
	for _, d := range catalog.Drivers() {
		section("databases", d.Name).database(d)
	}
	for _, a := range fault.Actions() {
		section("faults", a.Name).fault(a)
	}
	for _, name := range checkNames() {
		section("checks", name).check(name)
	}
	pages := map[string]string{}
	for kind, sections := range sections {
		p := page{}
		p.paragraph("# "+strings.ToUpper(kind[:1])+kind[1:], "Written from the program by `make reference`.")
		if about := aboutKind()[kind]; about != "" {
			p.paragraph(about)
		}
		p.paragraph(strings.TrimSuffix(sections.String(), "\n"))
		pages[kind+".md"] = p.String()
	}
	return pages
}

// aboutKind is what is true of everything on a page.
func aboutKind() map[string]string {
	return map[string]string{
		"workloads": "Each has the flags below beside those of all runs, which `assay run NAME --help-all` lists.\n" +
			"Why a database does not serve a workload is in [databases.md](databases.md).",
		"faults": "A fault is written `ACTION TARGET at 10s`, or `every 30s`. A target that is the only one may be left out.\n" +
			fault.DefaultTimes + ".\n" +
			"`for ever` lasts until the work is over; it goes with `at` alone. Every fault is healed before assay reads\n" +
			"anything back. `while loading` behind the target strikes while rows are loaded; workloads whose loading\n" +
			"does not go on after an error refuse it.\n\n" +
			fault.AboutTargets() + "\n\n" +
			"Pods are nodes with `--kubernetes` ([guide](../guides/kubernetes.md)).",
		"checks": "A check is tested with the bugs in its table, which `--option bug=NAME:PROBABILITY` seeds\n" +
			"([trust.md](../internals/trust.md)). The kinds of histories that other tools record are in\n[history-of-another-tool.md](../guides/history-of-another-tool.md).",
	}
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

// link leads to the section of a name on the page of its kind.
func link(kind, name string) string { return "[" + name + "](" + kind + ".md#" + name + ")" }

func (p *page) workload(w definition.Workload) {
	p.paragraph(w.Long, "```\n"+strings.ReplaceAll(strings.TrimPrefix(w.Example, "  "), "\n  ", "\n")+"\n```")
	p.table("Flag", "Default", "Meaning")
	for _, f := range w.Config().Flags() {
		p.row("`--"+f.Name+"`", code(fmt.Sprint(reflect.Indirect(reflect.ValueOf(f.Value)))), f.Usage)
	}
	if len(w.Unused) > 0 {
		p.paragraph("Refused are `--" + strings.Join(w.Unused, "`, `--") + "`: each " + w.WhyUnused + ".")
	}
	var checks []string
	for _, c := range w.Checks {
		checks = append(checks, link("checks", c.Name))
	}
	p.paragraph("Checks: " + strings.Join(append(checks, link("checks", recordCheck)), ", ") + ".")
	var refused []string
	for _, d := range catalog.Drivers() {
		if d.Support(w.Name).Open == nil {
			refused = append(refused, link("databases", d.Name))
		}
	}
	if len(refused) == 0 {
		p.paragraph("All databases serve it.")
	} else {
		p.paragraph("All databases serve it but " + strings.Join(refused, ", ") + ".")
	}
}

func (p *page) database(d catalog.Driver) {
	p.paragraph(d.Summary+".", "Addresses begin with `"+strings.Join(d.Schemes, ":`, `")+":`, such as `"+d.Example+"`.")
	if d.Parameters != "" {
		p.paragraph("Parameters, in the address or by `--option NAME=VALUE`: " + d.Parameters + ".")
	}
	var reasons []string
	refused := map[string][]string{} // by the reason
	for _, w := range catalog.Workloads() {
		if s := d.Support(w.Name); s.Open == nil {
			if refused[s.Reason] == nil {
				reasons = append(reasons, s.Reason)
			}
			refused[s.Reason] = append(refused[s.Reason], link("workloads", w.Name))
		}
	}
	if len(reasons) == 0 {
		p.paragraph("It serves all workloads.")
		return
	}
	p.paragraph("It serves all workloads but these:")
	for i, reason := range reasons {
		reasons[i] = strings.Join(refused[reason], ", ") + ": " + reason
	}
	p.list(reasons)
}

func (p *page) fault(a fault.Action) {
	var all []string
	if a.Effect != "" {
		all = append(all, "It "+a.Effect+".")
	}
	if a.Pods != "" {
		all = append(all, "On pods it "+a.Pods+".")
	}
	if a.Value.Form != "" {
		all = append(all, "`"+a.Written()+"`; without it: "+a.Value.Default+".")
	}
	example := a.Name + " " + a.Targets[0] + " at 10s"
	if a.Lasts {
		example += " for 5s`."
	} else {
		example += "`. It heals itself, so `for` is refused."
	}
	p.paragraph(append(all, "Targets: "+a.On()+". Example: `"+example)...)
}

// recordCheck is the check of the tester itself, of every workload, and primaryCheck that of a
// cluster.
const (
	recordCheck    = "record"
	primaryCheck   = "primary"
	primaryAsserts = "When all faults are over, one node of the cluster takes writes. If two still do after two minutes, the verdict is unknown: assay read back one of them, and a client may reach the other."
	recordAsserts  = "assay has recorded as many operations and attempts as its clients counted and as the judge found. Where the counts differ, assay has failed, and the verdict is unknown."
)

func checkNames() []string {
	names := []string{recordCheck, primaryCheck}
	for _, w := range catalog.Workloads() {
		for _, c := range w.Checks {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (p *page) check(name string) {
	switch name {
	case recordCheck:
		p.paragraph(recordAsserts)
	case primaryCheck:
		p.paragraph(primaryAsserts)
	}
	for _, w := range catalog.Workloads() {
		i := slices.IndexFunc(w.Checks, func(c definition.Check) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		p.paragraph("In workload " + link("workloads", w.Name) + ": " + w.Checks[i].Asserts)
		var others []string
		rows := 0
		for _, b := range w.Bugs {
			switch name {
			case b.Check:
				if rows++; rows == 1 {
					p.table("Bug", "What it does", "Evidence")
				}
				p.row("`"+b.Name+"`", b.Doc, strings.Join(b.Kinds, ", "))
			case b.Or:
				others = append(others, "`"+b.Name+"` ("+b.Check+")")
			}
		}
		if len(others) > 0 {
			p.paragraph("It also finds " + strings.Join(others, ", ") + ".")
		}
	}
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
