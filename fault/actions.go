package fault

import "slices"

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
)

// Description is an action in words, for help and lists.
type Description struct {
	Action Action
	// Value is the form of the value, empty if there is none; Default is what
	// is taken without one.
	Value, Default string
	// Targets are what it can be done to.
	Targets []string
	// Effect is what it does, in a line.
	Effect string
	// Pods is what it does to pods, with --kubernetes; empty if it cannot be done to
	// them. An action without Effect is for pods alone.
	Pods string
	// Lasts is false for an action that heals itself at once.
	Lasts bool

	part part
	// state is what a node is under the fault.
	state string
	// silences is true if the nodes do not answer us meanwhile, so that a
	// primary that answers has come back.
	silences bool
	// restarts is true if healing starts servers.
	restarts bool
}

// Summary is what it does, in a line that also says where alone it can be done.
func (d Description) Summary() string {
	if d.Effect == "" {
		return "with --kubernetes: " + d.Pods
	}
	return d.Effect
}

func nodeTargets() []string {
	return []string{TargetPrimary, TargetSecondary, TargetAny, TargetAll, "a node's name such as n2 or pod/NAME"}
}

func shapes() []string { return []string{ShapeHalves, ShapeOne, ShapeRing, ShapeOneway} }

// Actions returns all actions in the order in which help shows them.
func Actions() []Description {
	nodes := nodeTargets()
	return append([]Description{
		{Action: Kill, Targets: nodes, Lasts: true, part: partProcess, state: "down", silences: true, restarts: true,
			Effect: "ends the server as a power cut would; healing starts it again",
			Pods:   "deletes the pod without any grace; whoever made the pod makes it again at once, whatever for says, so that for ever is refused"},
		{Action: Stop, Targets: nodes, Lasts: true, part: partProcess, state: "down", silences: true, restarts: true,
			Effect: "has the server end in order; healing starts it again",
			Pods:   "deletes the pod, whose containers have their time to end; whoever made the pod makes it again, whatever for says, so that for ever is refused"},
		{Action: Restart, Targets: nodes, part: partProcess, state: "down", silences: true, restarts: true,
			Effect: "has the server end in order and starts it again at once"},
		{Action: Pause, Targets: nodes, Lasts: true, part: partProcess, state: "paused", silences: true,
			Effect: "stops all processes of the server where they are; healing lets them go on"},
		{Action: Isolate, Value: "clients", Default: "from everybody", Targets: nodes, Lasts: true, part: partNetwork, state: "cut off", silences: true,
			Effect: "drops all packets of the node, or only those between it and assay; nothing answers for them",
			Pods:   "drops all packets of the pod (Chaos Mesh)"},
		{Action: Partition, Targets: shapes(), Lasts: true, part: partNetwork, state: "cut off",
			Effect: "drops packets between nodes; clients reach all of them",
			Pods:   "drops packets between pods (Chaos Mesh)"},
		{Action: Flaky, Value: "SHARE", Default: "20%", Targets: nodes, Lasts: true, part: partLoss, state: "losing packets",
			Effect: "drops this share of the packets to and from the node, by chance",
			Pods:   "drops this share of the packets that leave the pod (Chaos Mesh)"},
		{Action: SlowDisk, Value: "RATE", Default: "1MiB", Targets: nodes, Lasts: true, part: partDisk, state: "slowed",
			Effect: "leaves the node this many bytes a second to write"},
		{Action: SlowCPU, Value: "PROCESSORS", Default: "0.1", Targets: nodes, Lasts: true, part: partCPU, state: "slowed",
			Effect: "leaves the node this much of a processor"},
		{Action: Clock, Value: "OFFSET", Default: "+60s", Targets: nodes, Lasts: true, part: partProcess, state: "under a shifted clock", silences: true, restarts: true,
			Effect: "has the server end in order and starts it with its clock shifted; healing starts it with the right one",
			Pods:   "shifts the clock that the containers of the pod read (Chaos Mesh)"},
		{Action: Grow, Targets: []string{TargetCluster}, Lasts: true, part: partProcess, state: "being added", restarts: true,
			Effect: "adds a node that is new; healing removes it in order, and its data"},
		{Action: Remove, Targets: slices.DeleteFunc(nodeTargets(), func(t string) bool { return t == TargetAll }), Lasts: true, part: partProcess, state: "removed", silences: true, restarts: true,
			Effect: "takes the node out of the cluster in order and ends its server; healing makes it a member again, with its data"},
		{Action: PowerCut, Value: "LOSS", Default: "worst, with disk=faulty", Targets: nodes, Lasts: true, part: partProcess, state: "without power", silences: true, restarts: true,
			Effect: "stops the node's file system in one instant and kills its server; healing starts it from what was on its disk (cluster option disk=image, which is taken if none is given; or disk=faulty, which loses all that was not synced (worst) or what the seed chooses of it, by pages (some) or sectors (torn))"},
		{Action: SyncError, Value: "READS", Default: ReadsNew, Targets: nodes, Lasts: true, part: partDisk, state: "failing to sync",
			Effect: "has one fsync fail, the next of a file with unsynced writes; these are never saved, and reads give them (new) or what was synced before (old). This and the three that follow take the cluster option disk=faulty, which is taken if none is given"},
		{Action: DiskFull, Targets: nodes, Lasts: true, part: partDisk, state: "full",
			Effect: "refuses what would take more space on the node's disk (ENOSPC)",
			Pods:   "refuses writes to the files of the pod's volume (ENOSPC, Chaos Mesh)"},
		{Action: ReadError, Value: "FILES", Default: "all files", Targets: nodes, Lasts: true, part: partDisk, state: "unreadable",
			Effect: "has reads of these files from the node's disk fail (EIO), by a pattern such as *.ibd or base/*/*",
			Pods:   "has reads of these files of the pod's volume fail (EIO, Chaos Mesh)"},
		{Action: BitFlip, Value: "FILES", Default: "all files", Targets: nodes, Lasts: true, part: partDisk, state: "corrupted",
			Effect: "inverts one bit of one of these files on the node's disk, chosen by the seed; healing inverts it again unless the server has written over it"},
	}, podActions()...)
}

// podActions are those that can be done to pods alone.
func podActions() []Description {
	nodes := nodeTargets()
	return []Description{
		{Action: Evict, Targets: nodes, part: partProcess, state: "being evicted", silences: true, restarts: true,
			Pods: "asks for the pod to be evicted, as the drain of a machine does; a PodDisruptionBudget may forbid it"},
		{Action: ContainerKill, Targets: nodes, part: partProcess, state: "down", silences: true, restarts: true,
			Pods: "kills the pod's containers, which are started again in the same pod (Chaos Mesh)"},
		{Action: PodFailure, Targets: nodes, Lasts: true, part: partProcess, state: "failed", silences: true, restarts: true,
			Pods: "has the pod's containers replaced by ones that do nothing (Chaos Mesh); healing brings the right ones back"},
		{Action: Delay, Value: "TIME", Default: "100ms", Targets: nodes, Lasts: true, part: partLoss, state: "slowed",
			Pods: "has every packet that leaves the pod take this much longer (Chaos Mesh)"},
		{Action: Bandwidth, Value: "RATE", Default: "1MiB", Targets: nodes, Lasts: true, part: partLoss, state: "slowed",
			Pods: "leaves the pod this many bytes a second to send (Chaos Mesh)"},
		{Action: SlowIO, Value: "TIME", Default: "100ms", Targets: nodes, Lasts: true, part: partDisk, state: "slowed",
			Pods: "has each operation on the files of the pod's volume take this much longer (Chaos Mesh)"},
		{Action: StressCPU, Value: "PROCESSES", Default: "1", Targets: nodes, Lasts: true, part: partCPU, state: "under stress",
			Pods: "starts so many busy processes beside the pod's server, within its limits (Chaos Mesh)"},
		{Action: StressMemory, Value: "SIZE", Default: "256MiB", Targets: nodes, Lasts: true, part: partMemory, state: "under stress",
			Pods: "takes so much memory beside the pod's server, within its limits (Chaos Mesh)"},
	}
}

func describe(a Action) (Description, bool) {
	all := Actions()
	i := slices.IndexFunc(all, func(d Description) bool { return d.Action == a })
	if i < 0 {
		return Description{}, false
	}
	return all[i], true
}
