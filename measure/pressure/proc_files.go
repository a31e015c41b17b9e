package pressure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"assay/internal/procfs"
)

func readProcesses() []procfs.Process {
	all := procfs.All()
	for i := range all {
		all[i].Name = printable(all[i].Name)
	}
	return all
}

// printable removes from a process's name, which it chooses itself, what would disturb a report.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, name)
}

type machine struct {
	cpus int
	// work is what processes used, steal what the host gave to others.
	work, steal int64
	// stalls are microseconds in which some task stalled, by resource.
	stalls map[string]int64
}

func readMachine() (machine, bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return machine{}, false
	}
	m := machine{stalls: map[string]int64{}}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		switch {
		case len(fields) < 9 || !strings.HasPrefix(fields[0], "cpu"):
		case fields[0] == "cpu":
			for field, into := range map[int]*int64{1: &m.work, 2: &m.work, 3: &m.work, 8: &m.steal} { // user, nice, system, steal
				n, err := strconv.ParseInt(fields[field], 10, 64)
				if err != nil {
					return machine{}, false
				}
				*into += n
			}
		default:
			m.cpus++
		}
	}
	for _, kind := range []string{"cpu", "io", "memory"} {
		if text, err := os.ReadFile(filepath.Join("/proc/pressure", kind)); err == nil {
			if total, found := parseStall(string(text)); found {
				m.stalls[kind] = total
			}
		}
	}
	return m, m.cpus > 0
}

// parseStall reads the total of the line "some avg10=0.00 ... total=123".
func parseStall(text string) (int64, bool) {
	line, _, _ := strings.Cut(text, "\n")
	_, total, found := strings.Cut(line, "total=")
	n, err := strconv.ParseInt(strings.TrimSpace(total), 10, 64)
	return n, found && err == nil && strings.HasPrefix(line, "some ")
}
