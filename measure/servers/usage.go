package servers

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/disk"

	"assay/internal/procfs"
)

// ProcessTime is the processor time in seconds of processes and of the children that they have
// waited for; 0 if unknown.
func ProcessTime(pids []int) float64 {
	seconds, _ := processTimes(pids)
	return seconds
}

func processTimes(pids []int) (seconds float64, threads int64) {
	ticks := int64(0)
	for _, pid := range pids {
		p, _ := procfs.Read(pid) // zero for an ended process
		ticks, threads = ticks+p.Ticks+p.Children, threads+p.Threads
	}
	return float64(ticks) / procfs.TicksPerSecond, threads
}

// LookAtFiles sets the size of the files below a folder, and what their file system has left. It
// takes some milliseconds for a thousand files.
func (u *Usage) LookAtFiles(folder string) {
	// Files removed meanwhile are left out.
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				u.Files += info.Size()
			}
		}
		return nil
	})
	if on, err := disk.Usage(folder); err == nil {
		u.Free = int64(on.Free)
	}
}

// Look returns the usage of processes, a server's whole family; false if there is none or it is
// unknown. Children that were waited for count as their parent's (proc(5), stat and io).
//
// Memory is the processes' own memory and the largest shared part of one of them, since
// PostgreSQL's processes all share the same. ownNetwork means that they have a network namespace;
// its loopback is left out.
func Look(pids []int, ownNetwork bool) (usage Usage, known bool) {
	var shared int64
	for _, pid := range pids {
		statm := strings.Fields(readProcess(pid, "statm"))
		if len(statm) < 3 || statm[1] == "0" { // it has ended
			continue
		}
		known = true
		part := pages(statm[2])
		usage.Memory += pages(statm[1]) - part
		shared = max(shared, part)
		read, written := processIO(readProcess(pid, "io"))
		usage.Read, usage.Written = usage.Read+read, usage.Written+written
		if ownNetwork && usage.Received == nil {
			usage.Received, usage.Sent = network(readProcess(pid, "net/dev"))
		}
	}
	usage.CPU, usage.Threads = processTimes(pids)
	usage.Memory += shared
	return usage, known
}

func readProcess(pid int, file string) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + file)
	if err != nil {
		return ""
	}
	return string(text)
}

// pages converts a number of pages to bytes; 0 if it is no number.
func pages(field string) int64 {
	n, _ := strconv.ParseInt(field, 10, 64) // 0 where it is none
	return n * int64(os.Getpagesize())
}

// processIO reads what was sent to and fetched from storage (proc(5), /proc/PID/io). That takes the
// right to trace the process.
func processIO(text string) (read, written int64) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		switch {
		case err != nil:
		case name == "read_bytes":
			read = n
		case name == "write_bytes":
			written = n
		}
	}
	return read, written
}

// network adds up all interfaces but the loopback (proc(5), /proc/net/dev); nil if there are none.
func network(text string) (received, sent *int64) {
	for line := range strings.Lines(text) {
		name, values, found := strings.Cut(line, ":")
		fields := strings.Fields(values)
		const in, out = 0, 8
		if !found || strings.TrimSpace(name) == "lo" || len(fields) <= out {
			continue
		}
		if received == nil {
			received, sent = new(int64), new(int64)
		}
		for field, into := range map[int]*int64{in: received, out: sent} {
			n, _ := strconv.ParseInt(fields[field], 10, 64) // 0 where it is none
			*into += n
		}
	}
	return received, sent
}
