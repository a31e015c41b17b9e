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
	"assay/store/bug"
	"assay/workload/definition"
)

// newReference writes docs/reference, for developers of assay.
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

// referencePages returns the four pages by file name. Each has a section for each workload,
// database, fault or check, under its name in the program.
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

func aboutKind() map[string]string {
	return map[string]string{
		"workloads": "Each has the flags below beside those of all runs. `assay run NAME --help` has examples, and `--help-all` all flags.\n" +
			"[databases.md](databases.md) says which databases serve it.",
		"databases": "Parameters stand in the address, or in `--option NAME=VALUE`. `assay list` also says what would come of a\n" +
			"workload that a database does not serve.",
		"faults": "A fault is written `kill primary at 10s for 5s`, or `every 30s`. A target that is the only one may be left out.\n" +
			fault.DefaultTimes + ".\n" +
			"`when EVENT` in place of a time waits for it, and `after 2s` behind it longer. " + fault.Events + ".\n" +
			"`for ever` lasts until the work is over; it goes with `at` alone. Every fault is healed before assay reads\n" +
			"anything back. `while loading` behind the target strikes while rows are loaded; workloads whose loading\n" +
			"does not go on after an error refuse it.\n\n" +
			fault.AboutTargets() + "\n\n" +
			"Pods are nodes with `--kubernetes` ([guide](../guides/kubernetes.md)).",
		"checks": "`--option bug=NAME:PROBABILITY` seeds a bug, and the check below which it stands must find it, with the findings\n" +
			"behind the arrow ([trust.md](../internals/trust.md)).",
	}
}

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
	p.paragraph(w.Long)
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
}

func (p *page) database(d catalog.Driver) {
	p.paragraph(d.Summary + ".")
	if len(d.Schemes) == 1 {
		p.paragraph("Address: `" + d.Example + "`.")
	} else {
		p.paragraph("Addresses begin with `" + strings.Join(d.Schemes, ":`, `") + ":`, such as `" + d.Example + "`.")
	}
	if d.Parameters != "" {
		p.paragraph("Parameters: " + d.Parameters + ".")
	}
	var reasons []string
	refused := map[string][]string{} // by the reason
	for _, w := range catalog.Workloads() {
		if s := d.Support(w.Name); s.Open == nil {
			lack, _, _ := strings.Cut(s.Reason, ": ") // behind it stands what would come of doing without
			if refused[lack] == nil {
				reasons = append(reasons, lack)
			}
			refused[lack] = append(refused[lack], w.Name)
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
	on := "Targets: " + a.On() + "."
	if !a.Lasts {
		on += " It heals itself, so `for` is refused."
	}
	p.paragraph(append(all, on)...)
}

// recordCheck is every workload's check of assay's own record, primaryCheck one of clusters.
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
		var found, others []string
		for _, b := range w.Bugs {
			switch name {
			case b.Check:
				found = append(found, bugLine(b))
			case b.Or:
				others = append(others, "`"+b.Name+"` ("+b.Check+")")
			}
		}
		if len(found) > 0 {
			p.list(found)
		}
		if len(others) > 0 {
			p.paragraph("It also finds " + strings.Join(others, ", ") + ".")
		}
	}
}

func bugLine(b bug.Bug) string {
	line := "`" + b.Name + "`: " + b.Doc
	if len(b.Kinds) > 0 {
		line += " → " + strings.Join(b.Kinds, ", ")
	}
	return line
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
