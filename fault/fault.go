// Package fault injects faults into a running cluster by a schedule: it kills,
// stops and pauses servers, drops packets between them, slows them down, shifts
// their clocks, changes who is a member, and backs them up. Each fault is proven to have taken
// effect, is healed in the end whatever happens, and its healing is proven too.
// An action is one value in one file, beside those that act by the same means; Actions
// lists them, and nothing else knows any by its name.
//
// It must not know any workload, driver, history or report: the caller's Recorder
// keeps what is to be kept.
package fault

import (
	"math"
	"strings"
	"time"

	"assay/internal/quantity"
)

// Targets that are no node's name.
const (
	// TargetPrimary is the node that takes writes when the fault is due.
	TargetPrimary = "primary"
	// TargetSecondary is one of the nodes that hold data and are not it.
	TargetSecondary = "secondary"
	// TargetAny is one of the nodes that hold data.
	TargetAny = "any"
	// TargetAll is every node, arbiters too.
	TargetAll = "all"
	// PodPrefix goes before the name of a pod.
	PodPrefix = "pod/"
)

// Fault is one line of the schedule, as Parse reads it.
type Fault struct {
	// Action is the name of what is done.
	Action string
	// Target is one of the Target constants, a number of nodes, or a node's name, of a pod
	// with PodPrefix; a role of the servers beside the nodes (cluster.Roles), a number of them,
	// or one's name; or what else the action can be done to.
	Target string
	// Value is what the text says behind "=", of the type that the action takes; nil if
	// it says nothing.
	Value any

	// Loading has it happen while the opening state is loaded, not in the measured
	// part; At and Every then count from the start of loading.
	Loading bool
	// At is when it happens once, counted from the start of the measured part;
	// negative means that nothing was said. It does not count if Every is set.
	At time.Duration
	// When is the event that it waits for, as Events describes them; empty for none. It then
	// happens once, At after the event first came in the run.
	When string
	// Every has it happen first after this time and then again and again; 0
	// means once.
	Every time.Duration
	// For is how long it lasts once it is brought about (a server may take long
	// to end in order); Ever until the work has ended, or all rows are in; 0 means
	// that nothing was said.
	For time.Duration
	// Source says where the fault is from, such as a file and its line; empty if it was
	// written as it is.
	Source string
}

// Written is the fault without where it is from.
func (f Fault) Written() Fault {
	f.Source = ""
	return f
}

// Ever is Fault.For of a fault that is healed only when the work that it disturbs is
// over: no fault is left unhealed, since everything is read back afterwards.
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

// whileLoading is the clause that sets Loading, forEver the time that is Ever.
const (
	whileLoading = "while loading"
	forEver      = "ever"
	commentMark  = "#" // behind it is Source
)

// Phases parts the faults that happen while the opening state is loaded from those of
// the measured part, each in their order.
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
	// Number counts from 1 in the order in which they were due.
	Number int
	Fault  Fault
	// Nodes are those that it was done to, in the order of their names; the one
	// that Grow has added, once it has.
	Nodes []string
	// Detail says more than Nodes where there is more to say, such as who was
	// parted from whom, or which node was left out.
	Detail string
	// Due is when the schedule wanted it.
	Due time.Time
	// InjectedAt is when it began, zero if it never did.
	InjectedAt time.Time
	// CutAt is when the power was cut, of PowerCut: at that moment the servers stood
	// still, so nothing was acknowledged after it. Zero if it never was.
	CutAt time.Time
	// HealedAt is when what was done was undone: packets pass, processes go on,
	// the server that was ended serves again. Zero if that never came.
	HealedAt time.Time
	// Proven is true if the fault was seen to take effect. Proof says how, or
	// what was seen instead. What was not proven measures nothing.
	Proven bool
	Proof  string
	// Healed is true if the nodes were seen to be back, Healing says how.
	Healed  bool
	Healing string
	// Skipped is true if it was not done at all; Problem says why.
	Skipped bool
	// Problem is what went wrong with the fault itself, empty if nothing.
	Problem string

	// Primary is the node that took writes when the fault began; empty if there
	// was none or the product knows none. Of several, each with a part of the data, it is the one
	// that lost its place, or that the fault hit.
	Primary string
	// NewPrimary took writes NewPrimaryAfter InjectedAt, where the fault hit
	// Primary, all nodes, or those who decide who it is: another node, or the same one once it
	// was back. Empty if the primary was not hit or stayed, or none came in time.
	NewPrimary      string
	NewPrimaryAfter time.Duration
	// PrimaryStayed is true if the fault hit Primary, or those who decide, and did not silence
	// it, and if no other node was seen to take writes until it was healed, when Primary did.
	PrimaryStayed bool

	// Backup is what was made, of the actions backup and restore, once it was; nil else.
	Backup *Backup
}

// Backup is what a backup or a restore made.
type Backup struct {
	// Number counts the backups, Restore what was restored, from 1; Restore is 0 of a backup.
	Number, Restore int
	// By is the program or the interface that made the backup, Bytes the backup's size, Took
	// how long this took.
	By    string
	Bytes int64
	Took  time.Duration
	// Until is the moment whose state was restored; zero for that of the backup.
	Until time.Time
}

// Recorder receives injections at the moment they happen. Its methods may be
// called from several goroutines at once and should return soon: Injected
// is called before the fault is brought about.
type Recorder interface {
	// Injected is called when the fault begins, at i.InjectedAt. What is proven
	// is not known yet.
	Injected(i Injection)
	// Healed is called when it has ended, at i.HealedAt, before the nodes are
	// seen to be back; also with a zero HealedAt, when it could not be ended.
	Healed(i Injection)
}

// Plan is when and how the faults of a run happen.
type Plan struct {
	// Start is time zero of the schedule: the start of the measured part. The
	// zero value means the moment when Run is called.
	Start time.Time
	// Duration is the length of the measured part; faults that would last
	// longer are healed at its end, but for those that last for ever, which are
	// healed when the context ends. 0 means until the context ends.
	Duration time.Duration
	// Seed decides every choice: the same seed makes the same ones as long as
	// the cluster gives the same answers.
	Seed uint64
	// HealWithin bounds the healing of each fault; 0 means 2 minutes.
	HealWithin time.Duration
}
