package pressure

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// identity tells a process from a later one of the same number.
type identity struct {
	pid   int
	start string
}

type process struct {
	identity
	parent int
	name   string
	kernel bool
	// ticks is the time in user and system mode, without that of children.
	ticks int64
}

// kernelThread is PF_KTHREAD (include/linux/sched.h).
const kernelThread = 0x00200000

// readProcesses returns the processes that can be seen.
func readProcesses() []process {
	folders, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var all []process
	for _, folder := range folders {
		pid, err := strconv.Atoi(folder.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(filepath.Join("/proc", folder.Name(), "stat"))
		if err != nil {
			continue // it has ended
		}
		if p, whole := parseProcess(pid, string(text)); whole {
			all = append(all, p)
		}
	}
	return all
}

// parseProcess reads /proc/PID/stat (proc(5)).
func parseProcess(pid int, text string) (process, bool) {
	opened, closed := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if opened < 0 || closed < opened {
		return process{}, false
	}
	fields := strings.Fields(text[closed+1:]) // from field 3, the state, on
	const first = 3
	if len(fields) <= 22-first {
		return process{}, false
	}
	number := func(field int) int64 {
		n, _ := strconv.ParseInt(fields[field-first], 10, 64) // 0 where it is none
		return n
	}
	return process{
		identity: identity{pid: pid, start: fields[22-first]}, parent: int(number(4)),
		name: printable(text[opened+1 : closed]), kernel: number(9)&kernelThread != 0, ticks: number(14) + number(15),
	}, true
}

// printable is a process's name, which it gives itself, without what would
// disturb a report.
func printable(name string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '?'
		}
		return r
	}, name)
}

// machine is the counters of the whole machine, in ticks.
type machine struct {
	cpus int
	// work is what processes used, steal what the host gave to others.
	work, steal int64
	// stalls are microseconds in which some task stalled, by what it stalled for.
	stalls map[string]int64
}

// readMachine returns false where the system does not tell.
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
