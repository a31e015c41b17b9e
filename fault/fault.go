// Package fault injects faults into a running cluster by a schedule. It kills, stops and pauses
// servers, drops and delays packets, slows servers down, shifts clocks, changes members, and makes
// backups. Each fault is proven to have taken effect, is healed in any case, and its healing is
// proven too.
//
// An action is one value in one file, beside actions of the same means. Only Actions, which lists
// them, knows their names. The package must not know any workload, driver, history or report.
// The caller's Recorder keeps what is needed.
package fault

import (
	"math"
	"strings"
	"time"

	"assay/internal/quantity"
)

const (
	// TargetPrimary is the node that takes writes when the fault is due.
	TargetPrimary = "primary"
	// TargetSecondary is a node with data other than the primary.
	TargetSecondary = "secondary"
	// TargetAny is one of the nodes with data.
	TargetAny = "any"
	// TargetAll is every node, including arbiters.
	TargetAll = "all"
	// PodPrefix precedes the name of a pod.
	PodPrefix = "pod/"
)

// Fault is one line of the schedule, as Parse reads it.
type Fault struct {
	Action string
	// Target is one of the Target constants, a number of nodes, or the name of a node or, with
	// PodPrefix, of a pod. For servers beside the nodes it is a role (cluster.Roles), a number of
	// them, or a name. Some actions have targets of their own.
	Target string
	// Value is the text behind "=", in the action's type; nil if there is none.
	Value any

	// Loading is for a fault while the opening state is loaded. At and Every then count from the
	// start of loading.
	Loading bool
	// At is when it happens once, from the start of the measured part; negative if unsaid. It is
	// ignored if Every is set.
	At time.Duration
	// When is the event that it waits for (see Events); empty for none. It happens once, At after
	// the event's first occurrence.
	When string
	// Every is the time before it happens first and between repetitions; 0 means once.
	Every time.Duration
	// For is how long it lasts after it took effect (a server may take long to end). Ever means
	// until the work has ended or all rows are in; 0 means unsaid.
	For time.Duration
	// Source is where the fault comes from, such as a file and line; empty for its own text.
	Source string
}

// Written is the fault without its Source.
func (f Fault) Written() Fault {
	f.Source = ""
	return f
}

// Ever is Fault.For of a fault that is healed only after the disturbed work. Every fault is healed,
// since everything is read back afterwards.
const Ever time.Duration = math.MaxInt64

// String is the fault as Parse reads it.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.Action)
	if f.Value != nil {
		a, _ := Lookup(f.Action)
		b.WriteString(a.Value.sign() + a.Value.format(f.Value))
	}
	b.WriteString(" " + f.Target)
	if f.Loading {
		b.WriteString(" " + whileLoading)
	}
	switch {
	case f.When != "":
		b.WriteString(" when " + f.When)
		if f.At > 0 {
			b.WriteString(" after " + quantity.Duration(f.At))
		}
	case f.Every > 0:
		b.WriteString(" every " + quantity.Duration(f.Every))
	case f.At >= 0:
		b.WriteString(" at " + quantity.Duration(f.At))
	}
	switch {
	case f.For == Ever:
		b.WriteString(" for " + forEver)
	case f.For > 0:
		b.WriteString(" for " + quantity.Duration(f.For))
	}
	if f.Source != "" {
		b.WriteString(" " + commentMark + " " + f.Source)
	}
	return b.String()
}

// whileLoading sets Loading, forEver means Ever.
const (
	whileLoading = "while loading"
	forEver      = "ever"
	commentMark  = "#" // behind it is Source
)

// Phases separates the faults of loading from those of the measured part, each in order.
func Phases(faults []Fault) (loading, measured []Fault) {
	for _, f := range faults {
		if f.Loading {
			loading = append(loading, f)
		} else {
			measured = append(measured, f)
		}
	}
	return loading, measured
}

// Injection is one time that a fault happened, or was due and did not.
type Injection struct {
	// Number counts from 1 in due order.
	Number int
	Fault  Fault
	// Nodes are what it was done to, by name. For grow it is the node that was added.
	Nodes []string
	// Detail adds to Nodes, such as who was separated from whom, or which node was left out.
	Detail string
	Due    time.Time
	// InjectedAt is when it began; zero if it did not.
	InjectedAt time.Time
	// CutAt is when the power was cut; zero if it was not. The servers then stood still, so
	// nothing was acknowledged after it.
	CutAt time.Time
	// KilledAt is when a server first had to be killed that was to end in order; zero if none had
	// to. Killed are all such servers by name, in the order in which they were noticed.
	KilledAt time.Time
	Killed   []string
	// HealedAt is when it was undone: packets pass, processes go on, an ended server serves again.
	// Zero if that did not come.
	HealedAt time.Time
	// Proven means that the fault was seen to take effect. Proof says how, or what was seen
	// instead. An unproven fault measures nothing.
	Proven bool
	Proof  string
	// Healed means that the nodes were seen to be back. Healing says how.
	Healed  bool
	Healing string
	// Skipped means that it was not done. Problem says why.
	Skipped bool
	Problem string

	// Primary took writes when the fault began; empty if there was none or it is unknown. Of
	// several shards' primaries, it is the one that lost its place or was hit.
	Primary string
	// NewPrimary took writes NewPrimaryAfter InjectedAt, if the fault hit Primary, all nodes, or
	// the servers that decide: another node, or the same node after its return. It is empty if
	// the primary was not hit or stayed, or none came in time.
	NewPrimary      string
	NewPrimaryAfter time.Duration
	// PrimaryStayed means that the fault hit Primary, or the servers that decide, without
	// silencing it, and that only Primary took writes until it was healed.
	PrimaryStayed bool

	// Backup is the result of the actions backup and restore; otherwise nil.
	Backup *Backup
}

// Backup is what a backup or a restore made.
type Backup struct {
	// Number counts the backups, Restore the restores, from 1. Restore is 0 for a backup.
	Number, Restore int
	// By is the program or interface that made the backup. Bytes is its size, Took its duration.
	By    string
	Bytes int64
	Took  time.Duration
	// Until is the moment whose state was restored; zero for the backup's own.
	Until time.Time
}

// Recorder receives injections as they happen. Several goroutines may call it at once. It should
// return soon: the fault takes effect after Injected.
type Recorder interface {
	// Injected is called when the fault begins, at i.InjectedAt, before anything is proven.
	Injected(i Injection)
	// Healed is called when it has ended, at i.HealedAt, before the nodes are seen to be back. A
	// zero HealedAt means that it could not be ended.
	Healed(i Injection)
}

// Plan is when and how the faults of a run happen.
type Plan struct {
	// Start is time zero of the schedule: the start of the measured part. Zero means the call of
	// Run.
	Start time.Time
	// Duration is the length of the measured part, at whose end faults are healed. Faults that
	// last for ever are healed when the context ends. 0 means until the context ends.
	Duration time.Duration
	// Seed decides every choice: the same seed makes the same choices if the cluster gives the
	// same answers.
	Seed uint64
	// HealWithin bounds the healing of each fault; 0 means 2 minutes.
	HealWithin time.Duration
}
