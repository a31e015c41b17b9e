package disk

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const signalEvery = 20 * time.Millisecond

// hold keeps an operation waiting while a Delay, a Stall, or a SlowSync if it is a sync, demands
// it. v.mu must not be locked. interrupted is closed when the caller, a thread id, gets a signal.
// An operation of a thread that must die or stop is let go, since neither can happen before its
// answer.
func (v *volume) hold(number uint64, sync bool, caller uint32, interrupted <-chan struct{}) {
	failures, name, released := v.holding(number, sync)
	for _, f := range failures {
		f.hold(name, caller, interrupted, released)
	}
}

// holding returns the failures that hold an operation on an inode, the inode's path, and
// v.released.
func (v *volume) holding(number uint64, sync bool) (all []*failure, name string, released <-chan struct{}) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for _, f := range v.failures {
		switch kind := f.asked.Kind; {
		case kind == Delay, kind == Stall, kind == SlowSync && sync:
			all = append(all, f)
		}
	}
	if n := v.inodes[number]; n != nil && len(all) > 0 {
		name = v.path(n)
	}
	return all, name, v.released
}

func (v *volume) letGo() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.release()
}

// release lets all held operations go until restore. v.mu must be locked.
func (v *volume) release() {
	select {
	case <-v.released: // they were let go before
	default:
		close(v.released)
	}
}

func (f *failure) hold(name string, caller uint32, interrupted, released <-chan struct{}) {
	number := f.keep(name)
	defer f.let(number)
	var over <-chan time.Time // nil of Stall, which has no time
	if f.asked.Kind != Stall {
		timer := time.NewTimer(f.asked.Wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return
	case <-f.ended:
		return
	case <-released:
		return
	case <-interrupted:
	}
	look := time.NewTicker(signalEvery)
	defer look.Stop()
	for !halts(caller) {
		select {
		case <-over:
			return
		case <-f.ended:
			return
		case <-released:
			return
		case <-look.C:
		}
	}
}

func (f *failure) keep(name string) (number int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effect.Times++
	f.effect.File = name
	f.kept[f.effect.Times] = time.Now()
	return f.effect.Times
}

func (f *failure) let(number int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.effect.Held = max(f.effect.Held, time.Since(f.kept[number]))
	delete(f.kept, number)
}

// halts reports whether a thread is gone, or SIGKILL or SIGSTOP is pending for it (proc(5),
// /proc/pid/status, SigPnd and ShdPnd).
func halts(thread uint32) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", thread))
	if err != nil {
		return true
	}
	const ending = 1<<(syscall.SIGKILL-1) | 1<<(syscall.SIGSTOP-1)
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if pending, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil && pending&ending != 0 {
			return true
		}
	}
	return false
}
