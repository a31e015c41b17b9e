package disk

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/expect"
)

// failing brings a failure about, which ends with the test at the latest.
func failing(t *testing.T, d *Disk, f Failure) *Failing {
	t.Helper()
	failing, err := d.Fail(f)
	expect.NoError(t, err)
	t.Cleanup(func() { _, _ = failing.End() }) // it may have ended
	return failing
}

// kept waits until the failure has held this many operations.
func kept(t *testing.T, f *Failing, times int64) (effect Effect) {
	t.Helper()
	expect.Eventually(t, fmt.Sprintf("%d times", times), func() bool {
		var err error
		effect, err = f.Effect()
		expect.NoError(t, err)
		return effect.Times >= times
	})
	return effect
}

// TestSlowDisks: operations that may reach a device take longer, or syncs alone.
func TestSlowDisks(t *testing.T) {
	const wait = 60 * time.Millisecond
	d := openDisk(t)
	write(t, d.in("a"), "one", true)
	for _, test := range []struct {
		kind Kind
		do   func()
		want int64 // how often it is kept at least
	}{
		{Delay, func() { write(t, d.in("a"), "two", true) }, 2},
		{Delay, func() { expect.NoError(t, os.Rename(d.in("a"), d.in("b")), os.Rename(d.in("b"), d.in("a"))) }, 2},
		{SlowSync, func() { write(t, d.in("a"), "three", false) }, 0},
		{SlowSync, func() { syncPath(t, d.in("a")) }, 1},
		{SlowSync, func() { syncPath(t, d.Folder()) }, 1},
	} {
		f := failing(t, d, Failure{Kind: test.kind, Wait: wait})
		began := time.Now()
		test.do()
		took := time.Since(began)
		effect, err := f.End()
		expect.NoError(t, err)
		switch {
		case test.want == 0 && effect.Times > 0:
			t.Errorf("%s: %+v of what is no sync", test.kind, effect)
		case effect.Times < test.want || took < time.Duration(test.want)*wait || test.want > 0 && effect.Held < wait:
			t.Errorf("%s: %+v after %v, want %d times", test.kind, effect, took, test.want)
		}
	}
	if text := read(t, d.in("a")); text != "three" {
		t.Errorf("a holds %q", text)
	}
}

// TestAStallEnds: held operations continue after the stall, and fail if the disk is cut.
func TestAStallEnds(t *testing.T) {
	d := openDisk(t)
	write(t, d.in("a"), "one", true)
	expect.NoError(t, d.Sync()) // the name, too
	var f *Failing
	stalled := func() (done chan error) {
		t.Helper()
		f = failing(t, d, Failure{Kind: Stall})
		file, err := os.OpenFile(d.in("a"), os.O_WRONLY, 0)
		expect.NoError(t, err)
		done = make(chan error, 1)
		go func() {
			_, err := file.WriteString("two")
			_ = file.Close() // of a disk that may be cut
			done <- err
		}()
		if effect := kept(t, f, 1); effect.File != "a" {
			t.Errorf("%+v", effect)
		}
		return done
	}
	done := stalled()
	select {
	case err := <-done:
		t.Errorf("a write did not wait: %v", err)
	default:
	}
	effect, err := f.End()
	expect.NoError(t, err, <-done)
	if text := read(t, d.in("a")); text != "two" || effect.Times < 1 || effect.Held <= 0 {
		t.Errorf("%q, %+v", text, effect)
	}
	done = stalled()
	if _, err := d.Cut(Worst, 0); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("a write to a disk that was cut did not fail")
	}
	if _, err := f.End(); err != nil {
		t.Error(err)
	}
	expect.NoError(t, d.Restore())
	if text := read(t, d.in("a")); text != "one" {
		t.Errorf("after the cut %q", text)
	}
}

// TestAProcessOnAStalledDiskCanBeKilled, even after another signal, and stopped.
func TestAProcessOnAStalledDiskCanBeKilled(t *testing.T) {
	d := openDisk(t)
	write(t, d.in("a"), "one", true)
	for _, signals := range [][]syscall.Signal{{syscall.SIGKILL}, {syscall.SIGTERM, syscall.SIGKILL}, {syscall.SIGSTOP, syscall.SIGKILL}} {
		f := failing(t, d, Failure{Kind: Stall})
		writer := exec.Command("sh", "-c", "trap : TERM; echo two >>"+d.in("a"))
		expect.NoError(t, writer.Start())
		kept(t, f, 1)
		for _, s := range signals {
			expect.NoError(t, writer.Process.Signal(s))
			time.Sleep(50 * time.Millisecond) // so that it is a signal of its own
		}
		if err := writer.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("%v: %v", signals, err)
		}
		_, err := f.End()
		expect.NoError(t, err)
	}
}
