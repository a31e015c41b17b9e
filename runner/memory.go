package runner

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// peakMemory is the largest resident size of this process so far, in bytes; 0
// where the system does not tell (Linux does, in /proc/self/status).
func peakMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}

// manyClients is from how many clients on their stacks are most of what a run has in memory.
const manyClients = 1000

// collectOften is CollectAfter for a process with so many clients: with many the collector
// comes twice as often as is Go's default. It lets the heap grow by as much as heap and
// stacks have, though stacks do not become garbage.
func collectOften(clients int) (restore func()) {
	if clients < manyClients {
		return func() {}
	}
	return CollectAfter(50)
}

// CollectAfter has the collector come when the heap has grown by so many percent, unless
// GOGC says when. What it returns ends that.
func CollectAfter(percent int) (restore func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	before := debug.SetGCPercent(percent)
	return func() { debug.SetGCPercent(before) }
}
