package application

import (
	"context"
	"net"
	"testing"
	"time"

	"assay/application/wire"
	"assay/fault"
	"assay/internal/expect"
)

// TestPatience counts no silence that assay itself makes: while it holds an answer back.
func TestPatience(t *testing.T) {
	x := &trying{Plan: Plan{Product: silent{}, Folder: t.TempDir(), Patience: 50 * time.Millisecond}}
	for event, hangs := range map[string]bool{"late-10m@abcd0123:1": false, "answer-lost@abcd0123:1": true} {
		f, err := wire.ParseFault(event)
		expect.NoError(t, err)
		if x.Command = []string{"sleep", "0.3"}; hangs { // until it is ended
			x.Command = []string{"sleep", "60"}
		}
		r, err := x.once(t.Context(), f)
		expect.NoError(t, err)
		if r.hung != hangs {
			t.Errorf("%s: it hangs: %v", event, r.hung)
		}
	}
}

// TestASilenceWithinTheTime is kept of an application that waits until its time is over.
func TestASilenceWithinTheTime(t *testing.T) {
	x := &trying{Plan: Plan{Product: silent{}, Folder: t.TempDir(), Command: []string{"sleep", "600"}, Patience: time.Hour, TimeLimit: 10 * time.Millisecond}}
	r, err := x.once(t.Context(), nil)
	expect.NoError(t, err)
	if !r.hung || r.mute || r.silent <= 0 {
		t.Errorf("%+v", r.ending)
	}
}

// TestPatienceWithAFault counts no silence while a fault is in force that ends by itself.
func TestPatienceWithAFault(t *testing.T) {
	pause, ever := fault.Injection{Fault: fault.Fault{Action: "pause", For: 30 * time.Second}}, fault.Injection{Fault: fault.Fault{Action: "pause", For: fault.Ever}}
	s := &strike{recorder: wire.NewRecorder()}
	silence := func() bool { time.Sleep(time.Millisecond); return s.recorder.Silence() > 0 }
	s.Injected(ever)
	if !silence() {
		t.Error("a fault without an end is waited for")
	}
	s.Injected(pause)
	s.Injected(pause)
	s.Healed(pause)
	if silence() {
		t.Error("a silence counts while a fault is in force")
	}
	s.Healed(pause)
	if !silence() {
		t.Error("no silence counts after the fault")
	}
}

// TestAProcessThatIsLeftBehind by a run reaches no later one.
func TestAProcessThatIsLeftBehind(t *testing.T) {
	x := &trying{Plan: Plan{Product: silent{}, Folder: t.TempDir(), Command: []string{"true"}, Patience: time.Minute}}
	_, err := x.once(t.Context(), nil)
	expect.NoError(t, err)
	listened := x.proxy.Address()
	_, err = x.around(t.Context(), nil, func(*run) {
		if conn, err := net.Dial("tcp", listened); err == nil {
			t.Errorf("%s takes a connection in the next run", listened)
			expect.NoError(t, conn.Close())
		}
	}, func(context.Context, *run) error { return nil })
	expect.NoError(t, err)
}
