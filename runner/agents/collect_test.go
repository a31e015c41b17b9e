package agents

import (
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
)

// TestWhatCannotBeDelivered: an ended agent whose engine accepts nothing is given up with the
// reason, and its histories are not awaited.
func TestWhatCannotBeDelivered(t *testing.T) {
	engine, err := Start("127.0.0.1:0", "")
	expect.NoError(t, err)
	t.Cleanup(engine.Close)
	k, err := Coordinate(t.Context(), engine, Config{Plan: Plan{Run: "r", Timeout: time.Minute}, Pool: AnyPool, Agents: 1, Clients: 1, Folder: t.TempDir(), Note: func(string) {}})
	expect.NoError(t, err)
	defer k.Close(t.Context())
	k.members[0].claimed, k.members[0].ID = true, "a"
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
