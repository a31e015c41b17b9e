package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

// Bug is a finding on one page, for the vendor's engineer who must believe and reproduce it.
type Bug struct {
	Result *Result
	// Finding is of Check, with the smallest part of the history, or the operations that it
	// names.
	Check   check.Result
	Finding check.Evidence
	Moment  string
	// Causes are other possible explanations.
	Causes      []Cause
	Scenario    string
	Environment []Setting
	// Logs are the servers' lines around the moment, by file name.
	Logs []Setting
}

// Document makes the page.
func (b Bug) Document() Document {
	r := clean(b.Result)
	d := Document{Title: b.title(r)}
	found := Joined(": ", check.Counted(b.Check.Found, "finding", "findings")+" in "+b.Check.Name, b.kinds())
	d.Verdicts = []DocumentVerdict{{Text: Joined(": ", b.Check.Verdict.String(), found), Verdict: b.Check.Verdict}}
	d.Tables = append(d.Tables, settingTable("Promised and found", "what", b.promised(r)), settingTable("What was tested", "what", b.tested(r)))
	d.Tables = append(d.Tables, Table{Title: "Again", Drawn: b.again()})
	d.Tables = append(d.Tables, b.history()...)
	for _, log := range b.Logs {
		d.Tables = append(d.Tables, Table{Title: "What " + log.Name + " has around that moment", Drawn: plainLines(log.Value)})
	}
	if len(b.Logs) == 0 {
		d.Notes = append(d.Notes, "No log of a server in the run's folder has a line near the moment"+when(b.Moment != "", ", which was "+b.Moment))
	}
	ruled := Table{Title: "What else could explain it", Head: []string{"cause", "ruled out", "what was measured"}, Words: []int{1, 2}}
	for _, c := range b.Causes {
		ruled.Rows = append(ruled.Rows, []string{c.Name, when(c.RuledOut, "yes") + when(!c.RuledOut, "no"), c.Detail})
	}
	d.Tables = append(d.Tables, ruled)
	return d
}

func (b Bug) title(r *Result) string {
	return product(r) + ": " + cmp.Or(b.Finding.Kind, b.Check.Name) + " in workload " + r.Workload + when(level(r) != "", " at "+level(r))
}

func level(r *Result) string {
	if r.Conviction != nil && r.Conviction.InForce != "" {
		return r.Conviction.InForce
	}
	return ValueOf(r.Database.Settings, "isolation")
}

func (b Bug) kinds() string {
	var all []string
	for _, f := range b.Check.Findings {
		all = append(all, check.Count(f.Found)+" "+f.Kind)
	}
	return strings.Join(all, ", ")
}

func (b Bug) promised(r *Result) (all []Setting) {
	switch {
	case r.Seeded != "":
		all = append(all, Setting{"promised", "the bug was seeded on purpose (" + r.Seeded + "): this page says nothing about " + r.Database.Product})
	case b.Check.Verdict == check.Violated && r.Conviction != nil:
		all = append(all, Setting{"promised", Joined(", ", r.Conviction.Promise, r.Conviction.Manual)})
	}
	for _, f := range b.Check.Findings {
		if text := f.Ruled(); text != "" && f.Kind == b.Finding.Kind {
			all = append(all, Setting{"not promised", text})
		}
	}
	return append(all, Setting{"found", evidenceText(b.Finding)})
}

// tested lists versions, settings and what was done to the servers.
func (b Bug) tested(r *Result) []Setting {
	all := []Setting{{"database", product(r)}}
	add := func(name, value string) {
		if value != "" {
			all = append(all, Setting{name, value})
		}
	}
	add("level", level(r))
	add("settings in use", Pairs(r.Database.Settings, ", "))
	if b.Result.Database.Changed == nil { // clean makes it empty
		add("settings that are not the defaults", "the server does not tell")
	} else {
		add("settings that are not the defaults", cmp.Or(Pairs(r.Database.Changed, ", "), "none"))
	}
	if r.Cluster != nil {
		add("servers", r.Cluster.Spec+", started by assay")
	}
	add("load", loadLine(r))
	var faults []string
	for _, f := range r.Faults {
		if asked := cmp.Or(f.Asked, f.Action+" "+f.Target); !slices.Contains(faults, asked) {
			faults = append(faults, asked)
		}
	}
	add("faults", strings.Join(faults, "; "))
	var machine []string
	for _, s := range b.Environment {
		switch s.Name {
		case "platform", "kernel", "architecture", "cpu model":
			machine = append(machine, s.Value)
		}
	}
	add("machine", strings.Join(machine, ", "))
	add("when", Joined(", ", b.Moment, "run "+r.Run, "assay "+r.Version))
	return all
}

// again returns shell lines that repeat the run.
func (b Bug) again() string {
	const end = "END_OF_SCENARIO"
	return fmt.Sprintf("cat > scenario.yaml <<'%s'\n%s\n%s\nassay run %s --scenario scenario.yaml --repeat 20", end, strings.TrimSpace(b.Scenario), end, b.Result.Workload)
}

func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plain(line)
	}
	return strings.Join(lines, "\n")
}

// widePicture is in characters: the widest line of a mailing list's archive.
const widePicture = 100

func (b Bug) history() []Table {
	x := b.Finding.Smallest
	if x == nil || len(x.Operations) == 0 {
		return nil
	}
	t := newTextWriter(TextOptions{Width: widePicture})
	shown := x
	if Noted(x) {
		shown = byStatement(x)
	}
	picture := drawLanes(shown, widePicture)
	switch {
	case picture != nil:
		t.b.WriteString(strings.Join(picture, "\n") + "\n")
	case Noted(x):
		t.table(statementsOf(b.Finding))
	}
	if x.Why != "" {
		t.gap()
		t.block("", "", "That cannot be: "+x.Why)
	}
	return []Table{{Title: "What the sessions did", Drawn: t.b.String()}}
}
