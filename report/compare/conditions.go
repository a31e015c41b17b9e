package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/report"
)

// The conditions that must be alike in compared groups. condSeed refuses nothing because it is
// chance, and condDurability because the answer mentions it.
const (
	condWorkload   = "workload"
	condLoad       = "load"
	condSeed       = "seed"
	condIsolation  = "isolation"
	condDurability = "durability"
	condFaults     = "faults"
	condMachine    = "machine"
)

// Conditions are the names for Options.Allow.
func Conditions() []string {
	return []string{condWorkload, condLoad, condSeed, condIsolation, condDurability, condFaults, condMachine}
}

// Difference is a condition in which two groups, or the runs of one, differ.
type Difference struct {
	Condition string `json:"condition"`
	A         string `json:"a"`
	B         string `json:"b"`
}

// DifferentError means that groups must not be compared. B is empty for the runs of one group.
type DifferentError struct {
	A, B        string
	Differences []Difference
}

func (e *DifferentError) Error() string {
	var parts, names []string
	for _, d := range e.Differences {
		parts = append(parts, fmt.Sprintf("%s (%s against %s)", d.Condition, d.A, d.B))
		names = append(names, d.Condition)
	}
	if e.B == "" {
		return fmt.Sprintf("the runs of %s cannot be compared: they differ in %s; --allow %s compares them nevertheless, and says so",
			e.A, strings.Join(parts, ", "), strings.Join(names, ","))
	}
	return fmt.Sprintf("%s and %s cannot be compared: they differ in %s; --allow %s compares them nevertheless, and says so",
		e.A, e.B, strings.Join(parts, ", "), strings.Join(names, ","))
}

// conditionsOf are a run's conditions by name. Unknown ones are empty and differ from none.
func conditionsOf(r Run) map[string]string {
	x := r.Result
	return map[string]string{
		condWorkload:   report.Joined(" ", x.Workload, report.Pairs(x.Options, " ")),
		condLoad:       load(x),
		condIsolation:  report.ValueOf(x.Database.Settings, "isolation"),
		condDurability: durability(x),
		condFaults:     faults(x),
		condMachine:    machine(r.Machine),
	}
}

// load leaves out the length of the measurement, which does not make figures incomparable.
func load(r *report.Result) string {
	text := fmt.Sprintf("clients=%d %s", r.Load.Clients, r.Load.Loop)
	if r.Load.Loop == "open" && r.Load.Rate > 0 {
		text += fmt.Sprintf(" %g/s %s", r.Load.Rate, r.Load.Arrivals)
	}
	if r.Retries.Policy != "" && r.Retries.Policy != "none" {
		text += " retry=" + r.Retries.Policy
	}
	return text
}

// durabilitySettings of all products decide when a transaction is acknowledged and what a crash
// loses: PostgreSQL's manual, "Write Ahead Log"; MariaDB's, "InnoDB System Variables" and "Binary
// Log"; MongoDB's, "Write Concern"; Cassandra's, "Commit log"; SQLite's, "Pragma statements
// supported by SQLite".
func durabilitySettings() []string {
	return []string{
		"fsync", "synchronous_commit", "full_page_writes", "synchronous_standby_names",
		"innodb_flush_log_at_trx_commit", "innodb_doublewrite", "rocksdb_flush_log_at_trx_commit", "log_bin", "sync_binlog",
		"rpl_semi_sync_master_enabled", "write concern", "consistency of writes", "commitlog_sync", "durable_writes",
		"synchronous", "journal_mode", "durability", "redundancy_mode",
	}
}

// durability includes the product, since settings of different products may have the same text.
func durability(r *report.Result) string {
	var found []report.Setting
	for _, s := range r.Database.Settings {
		if slices.Contains(durabilitySettings(), s.Name) {
			found = append(found, s)
		}
	}
	return report.Joined(" ", r.Database.Product+":", report.Pairs(found, " "))
}

// unlikeDurability is a difference in the worth of acknowledgements unless found has it already.
// Groups varied on purpose may be compared, but the reader must learn it.
func unlikeDurability(found []Difference, a, b Group) []Difference {
	x, y := worth(a), worth(b)
	known := slices.ContainsFunc(found, func(d Difference) bool { return d.Condition == condDurability })
	if known || x == "" || y == "" || x == y {
		return nil
	}
	const survives = "what is acknowledged survives: "
	return []Difference{{condDurability, survives + x, survives + y}}
}

func worth(g Group) string {
	if d := g.Runs[0].Result.Durability; d != nil {
		return d.Class
	}
	return ""
}

// forEver ends a request for a fault that lasts as long as the work.
const forEver = " for ever"

// faults leaves out when a fault came. That it was never undone during the work does count.
func faults(r *report.Result) string {
	var all []string
	for _, f := range r.Faults {
		text := f.Action + " " + f.Target
		if strings.HasSuffix(f.Asked, forEver) {
			text += forEver
		}
		all = append(all, text)
	}
	slices.Sort(all)
	return cmp.Or(strings.Join(slices.Compact(all), ", "), "none")
}

func machine(m Machine) string {
	if m == (Machine{}) {
		return ""
	}
	// Memory is rounded: a kernel's own part differs from boot to boot.
	return fmt.Sprintf("%s/%s %s, %d processors, %d GiB", m.OS, m.Architecture, m.CPU, m.CPUs, (m.MemoryBytes+1<<29)>>30)
}

// varies maps the name of what a series varies to conditions.
func varies(name string) []string {
	switch name {
	case "clients", "rate":
		return []string{condLoad}
	case "isolation":
		return []string{condIsolation, condDurability}
	case "db", "cluster", "option":
		return []string{condDurability, condIsolation}
	case "fault":
		return []string{condFaults}
	}
	return []string{condWorkload}
}

// differences of two groups leave out conditions that either varies on purpose. A condition that
// differs within a group counts as a difference from itself.
func differences(a, b Group) []Difference {
	var all []Difference
	ofA, ofB := inGroup(a, &all), inGroup(b, &all)
	deliberate := func(condition string) bool {
		return slices.ContainsFunc(slices.Concat(a.Values, b.Values), func(v report.Setting) bool { return slices.Contains(varies(v.Name), condition) })
	}
	for _, name := range Conditions() {
		x, y := ofA[name], ofB[name]
		if x != y && x != "" && y != "" && !deliberate(name) {
			all = append(all, Difference{name, x, y})
		}
	}
	slices.SortStableFunc(all, func(x, y Difference) int {
		return cmp.Compare(slices.Index(Conditions(), x.Condition), slices.Index(Conditions(), y.Condition))
	})
	return all
}

// inGroup returns the conditions of one group's runs, and adds those in which they differ to all.
func inGroup(g Group, all *[]Difference) map[string]string {
	first := conditionsOf(g.Runs[0])
	for _, name := range Conditions() {
		for _, r := range g.Runs[1:] {
			if other := conditionsOf(r)[name]; other != first[name] {
				*all = append(*all, Difference{name, g.Name + ": " + first[name], other})
				break
			}
		}
	}
	return first
}
