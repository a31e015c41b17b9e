package procfs

import (
	"errors"
	"os"
	"testing"
)

func TestParse(t *testing.T) {
	const rest = " S 7 1 1 0 -1 4194560 1 0 0 0 250 30 9 9 20 0 1 0 4711 1 1"
	want := Process{PID: 12, Parent: 7, Name: "a) b (\x1b[2J", State: 'S', Ticks: 280, Children: 18, Started: 4711, Threads: 1}
	if p, err := parse(12, "12 (a) b (\x1b[2J)"+rest); err != nil || p != want {
		t.Errorf("%+v, %v; want %+v", p, err, want)
	}
	if p, err := parse(2, "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1 0 0"); err != nil || !p.Kernel {
		t.Errorf("a thread of the kernel: %+v, %v", p, err)
	}
	for _, text := range []string{"", "12", "12 (x", "12 (x) S 1", "12 (x) S x 1 1 0 -1 4194560 1 0 0 0 250 30 9 9 20 0 1 0 4711 1 1"} {
		if p, err := parse(12, text); err == nil {
			t.Errorf("%q is %+v", text, p)
		}
	}
}

func TestStates(t *testing.T) {
	for state, want := range map[byte][2]bool{'R': {false, false}, 'S': {false, false}, 'T': {true, false}, 't': {true, false}, 'Z': {true, true}, 'X': {true, true}, 'x': {true, true}} {
		p := Process{State: state}
		if got := [2]bool{p.Stopped(), p.Ended()}; got != want {
			t.Errorf("%c: stopped and ended %v, want %v", state, got, want)
		}
	}
}

// A process that is not there is none on any system.
func TestNoProcess(t *testing.T) {
	if _, err := Read(1 << 30); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("%v; want os.ErrProcessDone", err)
	}
	if tree, err := Tree(1 << 30); !errors.Is(err, os.ErrProcessDone) || tree != nil {
		t.Errorf("%v, %v; want os.ErrProcessDone", tree, err)
	}
}
