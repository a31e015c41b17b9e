package wire

import (
	"strconv"
	"testing"
	"time"
)

// TestBoundsOfARecording: what it keeps does not grow with how long it goes on.
func TestBoundsOfARecording(t *testing.T) {
	r := NewRecorder()
	r.most, r.mostShapes = 3, 10
	for i := range 10 {
		name := strconv.Itoa(i)
		r.came(name, Other, false, false, func() []string { return []string{"INSERT", "INSERT"} })
		if r.again("session", int64(i)) || !r.again("session", int64(i)) || i > 0 && !r.again("session", int64(i-1)) {
			t.Errorf("number %d of a session", i)
		}
		if r.again("other"+name, 7) || !r.again("other"+name, 7) {
			t.Errorf("session %d", i)
		}
		r.park(&Transaction{session: name, answered: time.Duration(i)})
	}
	all, _ := r.Transactions()
	if len(r.order) != 1 || len(r.once) != 3 || len(r.parked) != 3 || len(all) != 3 || all[0].Outcome != Abandoned || all[2].session != "2" {
		t.Errorf("%d places, %d sessions, %d parked, %+v", len(r.order), len(r.once), len(r.parked), all)
	}
}
