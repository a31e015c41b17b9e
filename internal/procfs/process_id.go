package procfs

import (
	"os"
	"runtime"
	"syscall"
)

// ID tells a process from a later one with the same PID.
type ID struct {
	PID int `json:"pid"`
	// Started is Process.Started; 0 if unknown.
	Started uint64 `json:"started"`
}

// Identify adds the start to a PID.
func Identify(pid int) ID {
	p, _ := Read(pid) // zero if there is none
	return ID{PID: pid, Started: p.Started}
}

// ID tells the process from a later one.
func (p Process) ID() ID { return ID{PID: p.PID, Started: p.Started} }

// Alive reports whether this very process still runs. Outside Linux no start is known, so it reports
// whether any process has the PID.
func (id ID) Alive() bool {
	if runtime.GOOS != "linux" {
		process, err := os.FindProcess(id.PID)
		return err == nil && process.Signal(syscall.Signal(0)) == nil
	}
	p, err := Read(id.PID)
	return err == nil && !p.Ended() && p.ID() == id
}
