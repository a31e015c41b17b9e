package runner

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is USER_HZ, in which Linux tells times on every architecture
// that Go runs on (proc(5), sysconf(3)).
const ticksPerSecond = 100

// serverTime is the processor time in seconds that the processes of the run's
// own servers have used so far, those that they have started and waited for
// included; 0 if there are none, or if the system does not tell.
func (r *run) serverTime() float64 {
	ticks := int64(0)
	for _, pid := range r.serverProcesses() {
		ticks += processTicks(pid)
	}
	return float64(ticks) / ticksPerSecond
}

// serverProcesses are the processes of the run's own servers.
func (r *run) serverProcesses() []int {
	if r.cluster == nil {
		return nil
	}
	var all []int
	for _, node := range r.cluster.Nodes() {
		family, err := node.Processes()
		if err != nil {
			continue // it is down
		}
		for _, process := range family {
			all = append(all, process.PID)
		}
	}
	return all
}

// processTicks adds up utime, stime, cutime and cstime of /proc/PID/stat
// (proc(5), fields 14 to 17); 0 if they cannot be read.
func processTicks(pid int) (ticks int64) {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold anything; the state, field 3, follows.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const first = 14 - 3
	if len(fields) < first+4 {
		return 0
	}
	for _, field := range fields[first : first+4] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return ticks
}
