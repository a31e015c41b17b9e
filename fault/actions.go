package fault

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"assay/cluster"
	"assay/cluster/kubernetes"
)

// Actions returns all actions in the order of the help.
func Actions() []Action {
	return []Action{
		kill(), stop(), restart(), rollingRestart(), rollingUpgrade(), switchover(), replace(), pause(), isolate(), partition(), flaky(), slowDisk(), slowCPU(), clock(), grow(), remove(),
		powerCut(), fsyncError(), diskFull(), readError(), bitFlip(), ioDelay(), slowFsync(), diskStall(), backup(), restoreBackup(),
		evict(), containerKill(), podFailure(), delay(), bandwidth(), stressCPU(), stressMemory(),
	}
}

// Action is a way to break nodes. All about it is in one file, beside actions of the same means.
type Action struct {
	Name string
	// Value may follow the name behind "=", or as a word of its own. Its Form is empty if there
	// is none.
	Value Value
	// Targets are what it can be done to. If there is only one, it may be left out.
	Targets []string
	Effect  string
	// Pods describes what it does to pods; empty if it cannot be done to pods. An action without
	// Effect is for pods alone.
	Pods string
	// Lasts is false for an action that heals itself at once.
	Lasts bool

	// Kills means that processes end at once, CutsPower that unsynced data is lost with them,
	// Divides that nodes or clients cannot reach nodes that may go on.
	Kills, CutsPower, Divides bool
	// Ends means that servers end in order.
	Ends bool
	// StandsStill means that processes stop and later go on as if no time had passed.
	StandsStill bool
	// Empties means that nodes return without data, which they copy from others.
	Empties bool
	// FailsDisk means that a disk refuses or damages requests. A server may end itself because of
	// that, and is started again afterwards.
	FailsDisk bool
	// BacksUp is for backups: they break nothing, and work on an embedded database too.
	BacksUp bool
	Resizes bool
	// MovesClock means that servers read another time of day.
	MovesClock bool

	part part
	// state describes a node under the fault.
	state string
	// silences means that the nodes do not answer us, so that a primary that answers is back.
	silences bool
	// restarts means that healing starts servers.
	restarts bool

	// asks means that the user must choose the value.
	asks bool

	// after is the action that must come before; empty for none.
	after string

	// choose picks the nodes if these are not one or all; otherwise nil.
	choose func(target string, members []member, primary string, random *rand.Rand) (choice, error)
	// fits returns a *TargetError for unsuitable members; nil for no condition.
	fits func(f Fault, members []member) error
	// disk is the kind of disk that the nodes need for themselves; nil for none.
	disk func(f Fault) string
	// check returns an *UnavailableError if the machine or the cluster lacks something; nil for
	// no condition.
	check func(f Fault, c *cluster.Cluster) error
	on    func(t task) (injector, error)
	pods  podMeans
}

// part is the part of a node that a fault acts on. Two faults cannot act on the same part at once.
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

type task struct {
	Fault
	choice
	servers
	nodes   []*cluster.Node
	backups *cluster.Backups // nil if none can be made
	acquire acquirer
}

// podMeans is how an action is done to pods: by remove, or by Chaos Mesh.
type podMeans struct {
	// remove removes a pod, which its controller makes again; nil for Chaos Mesh.
	remove func(ctx context.Context, c *kubernetes.Client, pod kubernetes.Pod) error
	// chaos is the kind of Chaos Mesh's objects, and spec the spec of an object for a pod: see the
	// types and webhooks of chaos-mesh/api, v1alpha1. spec is nil for an action with cuts.
	chaos string
	spec  func(f Fault, pod kubernetes.Pod) map[string]any
	// look observes it from here, beside Chaos Mesh's own status; nil for nothing.
	look func(ctx context.Context, x *chaos, n *podNode, last bool) (observation, error)
	// shows means that connecting to the pods shows its end.
	shows bool
	// refuses says why a fault cannot be done to pods, and what to do instead; may be nil.
	refuses func(f Fault) (reason, instead string)
}

// TakesAway reports whether nodes are away, at least from other nodes, while it lasts.
func (a Action) TakesAway() bool {
	return a.Lasts && !a.Resizes && !a.MovesClock && (a.part == partProcess || a.part == partNetwork)
}

// needs makes a check of what a cluster can do. instead advises what to do if it cannot.
func needs(can func(*cluster.Cluster) error, instead string) func(Fault, *cluster.Cluster) error {
	return func(f Fault, c *cluster.Cluster) error {
		if err := can(c); err != nil {
			return &UnavailableError{Action: f.Action, Reason: err.Error(), Instead: instead, Err: err}
		}
		return nil
	}
}

// Summary is its effect in a line, with where it works if not everywhere.
func (a Action) Summary() string {
	if a.Effect == "" {
		return "with --kubernetes: " + a.Pods
	}
	return a.Effect
}

// On lists its targets. AboutTargets explains nodes and servers.
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

// AboutTargets is a Markdown list that explains the names of nodes and of servers beside them.
func AboutTargets() string {
	return "- **Nodes** are " + strings.Join(nodeTargets(), "; ") + ".\n" +
		"- **Servers beside them** are " + aRole + "."
}

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

// Recorded is the action in a record of a fault, in a history or a result, where its value may
// follow in either form. It is zero for an unknown action.
func Recorded(text string) Action {
	name, _, _ := strings.Cut(text, "=")
	name, _, _ = strings.Cut(name, " ")
	action, _ := Lookup(name)
	return action
}
