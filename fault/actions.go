package fault

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/cluster"
	"assay/cluster/kubernetes"
)

// Actions returns all actions in the order in which help shows them.
func Actions() []Action {
	return []Action{
		kill(), stop(), restart(), rollingRestart(), rollingUpgrade(), switchover(), replace(), pause(), isolate(), partition(), flaky(), slowDisk(), slowCPU(), clock(), grow(), remove(),
		powerCut(), fsyncError(), diskFull(), readError(), bitFlip(), ioDelay(), slowFsync(), diskStall(), backup(), restoreBackup(),
		evict(), containerKill(), podFailure(), delay(), bandwidth(), stressCPU(), stressMemory(),
	}
}

// Action is a way to break nodes: all that assay knows of it, in one file, beside those
// that act by the same means.
type Action struct {
	Name string
	// Value is what may follow the name behind "=", or as a word of its own; its Form is empty if
	// nothing may.
	Value Value
	// Targets are what it can be done to; the only one need not be said.
	Targets []string
	// Effect is what it does, in a line.
	Effect string
	// Pods is what it does to pods, with --kubernetes; empty if it cannot be done to
	// them. An action without Effect is for pods alone.
	Pods string
	// Lasts is false for an action that heals itself at once.
	Lasts bool

	// What a database may lose or do under it: Kills is true if processes end at once,
	// CutsPower if what they have not synced is lost with them, Divides if nodes or clients
	// lose sight of nodes that may go on.
	Kills, CutsPower, Divides bool
	// StandsStill is true if processes stop where they are and go on later, as if no time had passed.
	StandsStill bool
	// Empties is true if nodes come back without their data, which they get from the others.
	Empties bool
	// FailsDisk is true of what has a disk refuse or damage what servers ask of it: one may end
	// itself by that, and is started again when it is over.
	FailsDisk bool
	// BacksUp is true of what is done with backups: nothing is broken by it, and it can be
	// done to a database within assay too.
	BacksUp bool
	// Resizes is true of what changes who is a member.
	Resizes bool
	// MovesClock is true of what has servers read another time of day.
	MovesClock bool

	part part
	// state is what a node is under the fault.
	state string
	// silences is true if the nodes do not answer us meanwhile, so that a
	// primary that answers has come back.
	silences bool
	// restarts is true if healing starts servers.
	restarts bool

	// asks is true if it takes a value that nobody can choose for the user.
	asks bool

	// after is the action that must have happened before; empty if none must.
	after string

	// choose picks whom it is done to where that is not one or all of the nodes; nil else.
	choose func(target string, members []member, primary string, random *rand.Rand) (choice, error)
	// fits tells by a *TargetError of what else it takes of the members; nil for nothing.
	fits func(f Fault, members []member) error
	// disk is the kind of disk that the nodes must have of their own; nil for none.
	disk func(f Fault) string
	// check tells by an *UnavailableError what this machine or this cluster lacks; nil
	// for an action that always can be done.
	check func(f Fault, c *cluster.Cluster) error
	// on returns what brings it about on servers; nil for an action of pods alone.
	on func(t task) (injector, error)
	// pods is how it is done to pods.
	pods podMeans
}

// part is what of a node a fault acts on. Two faults cannot have the same
// part of a node at once.
type part string

const (
	partProcess part = "process"
	partNetwork part = "network"
	partLoss    part = "packet loss"
	partDisk    part = "disk"
	partCPU     part = "processor"
	partMemory  part = "memory"
	partBackup  part = "backup"
)

// task is a fault that is to be brought about on servers.
type task struct {
	Fault
	choice
	servers
	nodes   []*cluster.Node
	backups *cluster.Backups // nil where there is no way to make any
	acquire acquirer
}

// podMeans is how an action is done to pods: by remove, or by Chaos Mesh.
type podMeans struct {
	// remove has a pod go that its controller makes again; nil for one of Chaos Mesh.
	remove func(ctx context.Context, c *kubernetes.Client, pod kubernetes.Pod) error
	// chaos is the kind of Chaos Mesh's objects, and spec what an object for a pod
	// says: see the types of chaos-mesh/api, v1alpha1, and what their webhooks refuse.
	// spec is nil for an action whose choice has cuts.
	chaos string
	spec  func(f Fault, pod kubernetes.Pod) map[string]any
	// look is what is seen of it from here beside what Chaos Mesh says; nil for nothing.
	look func(ctx context.Context, x *chaos, n *podNode, last bool) (observation, error)
	// shows is true if its end can be seen by connecting to the pods.
	shows bool
	// refuses says why a fault cannot be done to pods, and what to do instead; nil if
	// each can.
	refuses func(f Fault) (reason, instead string)
}

// TakesAway reports whether nodes are away, from the others at least, as long as it lasts.
func (a Action) TakesAway() bool {
	return a.Lasts && !a.Resizes && !a.MovesClock && (a.part == partProcess || a.part == partNetwork)
}

// needs is the check of an action that a cluster can have done to it, or says why not; instead
// is what to do then.
func needs(can func(*cluster.Cluster) error, instead string) func(Fault, *cluster.Cluster) error {
	return func(f Fault, c *cluster.Cluster) error {
		if err := can(c); err != nil {
			return &UnavailableError{Action: f.Action, Reason: err.Error(), Instead: instead, Err: err}
		}
		return nil
	}
}

// Summary is what it does, in a line that also says where alone it can be done.
func (a Action) Summary() string {
	if a.Effect == "" {
		return "with --kubernetes: " + a.Pods
	}
	return a.Effect
}

// On says what it can be done to, and AboutTargets who nodes and servers are.
func (a Action) On() string {
	switch {
	case slices.Equal(a.Targets, serverTargets()):
		return "nodes and servers beside them"
	case slices.Equal(a.Targets, append(serverTargets(), aPair)):
		return "nodes and servers beside them, or " + aPair
	case slices.Equal(a.Targets, nodeTargets()):
		return "nodes"
	}
	return strings.ReplaceAll(strings.Join(a.Targets, ", "), aNode, "a node by its name")
}

// AboutTargets says how nodes and the servers beside them are named, as a list in Markdown.
func AboutTargets() string {
	return "- **Nodes** are " + strings.Join(nodeTargets(), "; ") + ".\n" +
		"- **Servers beside them** are " + aRole + "."
}

// serverTargets are the targets of an action that can be done to servers beside the nodes, too.
func serverTargets() []string { return append(nodeTargets(), aRole) }

// Lookup finds the action of a name.
func Lookup(name string) (Action, bool) {
	all := Actions()
	i := slices.IndexFunc(all, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return Action{}, false
	}
	return all[i], true
}

// Recorded is the action that a record of a fault names, in a history or in a result: a value may
// follow its name, also as a word of its own. Of an action that is not known it is the zero Action.
func Recorded(text string) Action {
	name, _, _ := strings.Cut(text, "=")
	name, _, _ = strings.Cut(name, " ")
	action, _ := Lookup(name)
	return action
}
