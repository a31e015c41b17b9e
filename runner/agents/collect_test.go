package agents

import (
	"context"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

// coordinating is a coordinator with one agent, a, that has claimed its share.
func coordinating(t *testing.T, goOn bool) *Coordinator {
	t.Helper()
	engine, err := Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	k, err := Coordinate(t.Context(), engine, Config{Plan: Plan{Run: "r", Timeout: time.Minute}, Pool: AnyPool, Agents: 1, Clients: 1, Continue: goOn, Folder: t.TempDir(), Note: func(string) {}})
	expect.NoError(t, err)
	t.Cleanup(func() { k.Close(context.Background()) })
	k.members[0].claimed, k.members[0].ID = true, "a"
	return k
}

// TestAnAgentIsNotAwaitedForEver: one that says it delivered what is not in the store, and one that
// was lost and is heard of again, but does not end.
func TestAnAgentIsNotAwaitedForEver(t *testing.T) {
	for state, want := range map[string]string{stateDelivered: "not in the engine's store", stateWorking: "silent"} {
		k := coordinating(t, true)
		k.answer(beat{Agent: "a", status: status{State: state}})
		var told []string
		lost := func(text string) { told = append(told, text) }
		k.mu.Lock()
		if state == stateWorking {
			k.lose(k.members[0], "silent", lost)
		}
		k.members[0].delivering, k.members[0].lost = time.Now().Add(-2*time.Minute), time.Now().Add(-2*time.Minute)
		k.mu.Unlock()
		over := make(chan struct{})
		close(over)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		expect.NoError(t, k.Collect(ctx, over, lost))
		cancel()
		if len(told) != 1 || !strings.Contains(told[0], want) {
			t.Errorf("%s: told %q", state, told)
		}
	}
}

// TestALostAgentIsStopped: the run goes on without an agent that was not heard of. When it is heard
// of again it is told to stop, since the run may end before it does.
func TestALostAgentIsStopped(t *testing.T) {
	k := coordinating(t, true)
	k.setOrder(orderStart)
	working := beat{Agent: "a", status: status{State: stateWorking}}
	if o := k.answer(working); o.Do != orderStart {
		t.Errorf("before: %q", o.Do)
	}
	k.mu.Lock()
	k.lose(k.members[0], "silent", func(string) {})
	k.mu.Unlock()
	if o := k.answer(working); o.Do != orderStop {
		t.Errorf("a lost agent is told to %q", o.Do)
	}
}

// TestAnAgentThatIsNotLedSendsNothing: by either clock.
func TestAnAgentThatIsNotLedSendsNothing(t *testing.T) {
	now := int64(10 * time.Hour)
	p := &agentRun{plan: Plan{Timeout: time.Hour}, options: Options{Clock: func() int64 { return now }}}
	for name, c := range map[string]struct {
		silent int64
		wall   time.Duration
		want   bool
	}{
		"heard":                  {1e9, 0, true},
		"silent":                 {int64(61 * time.Minute), 0, false},
		"the machine was asleep": {1e9, 61 * time.Minute, false},
	} {
		p.heard.Store(0)
		p.hear(now-c.silent, time.Now().Add(-c.wall))
		if got := p.led(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWhatCannotBeDelivered: an ended agent whose engine accepts nothing is given up with the
// reason, and its histories are not awaited.
func TestWhatCannotBeDelivered(t *testing.T) {
	k := coordinating(t, false)
	k.answer(beat{Agent: "a", status: status{State: stateEnded, Problem: "no space left"}})
	k.mu.Lock()
	k.members[0].delivering = time.Now().Add(-2 * time.Minute)
	k.mu.Unlock()
	var told []string
	over := make(chan struct{})
	close(over)
	expect.NoError(t, k.Collect(t.Context(), over, func(text string) { told = append(told, text) }))
	if len(told) != 1 || !strings.Contains(told[0], "could not be delivered: no space left") {
		t.Errorf("told %q", told)
	}
	all, err := readMembers(k.folder())
	if err != nil || len(all) != 1 || !strings.Contains(all[0].Lost, "no space left") {
		t.Errorf("kept %+v, %v", all, err)
	}
}
