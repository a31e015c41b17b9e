package report

// Machine is what worked on assay's machine over the measured part. Shares are of
// all that its processors could give, 0 to 1.
type Machine struct {
	CPUs    int     `json:"cpus"`
	Seconds float64 `json:"seconds"`
	// Tester is assay, Servers the database's servers on this machine, Others the
	// processes that are neither.
	Tester  float64 `json:"tester_share"`
	Servers float64 `json:"servers_share"`
	Others  float64 `json:"others_share"`
	// Perhaps is processes that may be the database's servers, Unseen those that
	// could not be looked at.
	Perhaps float64 `json:"perhaps_servers_share"`
	Unseen  float64 `json:"unseen_share"`
	// Steal is what the host of a virtual machine gave to others.
	Steal float64 `json:"steal_share"`
	// Processes are Others by name, the busiest first.
	Processes []Process `json:"processes"`
	// StallCPU, StallIO and StallMemory are the shares of the time in which some
	// task stalled for want of it; -1 unknown.
	StallCPU    float64 `json:"stalled_cpu_share"`
	StallIO     float64 `json:"stalled_io_share"`
	StallMemory float64 `json:"stalled_memory_share"`
}

// Process is all processes of one name.
type Process struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}
