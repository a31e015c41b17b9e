package sqldb

import "testing"

// TestAlone: until a second session opens, whatever was before.
func TestAlone(t *testing.T) {
	var s Sessions
	for i, step := range []struct {
		do    func(SessionID)
		id    string
		alone bool
	}{
		{s.Add, "1", true}, {s.Add, "2", false}, {s.Add, "3", false}, {s.Remove, "1", false}, {s.Remove, "2", true},
		{s.Add, "4", false}, {s.Remove, "3", true}, {s.Remove, "4", true}, {s.Add, "5", true},
	} {
		if step.do(SessionID{ID: step.id}); s.Alone() != step.alone {
			t.Errorf("step %d: alone is %v with %v", i, s.Alone(), s.All())
		}
	}
}
