package streaming

import (
	"errors"
	"strings"
	"testing"

	"assay/cluster/server"
)

func TestPositionsAreCompared(t *testing.T) {
	for _, c := range []struct {
		now, goal string
		want      bool
	}{{"0/0", "0/0", true}, {"1/0", "0/FFFFFFFF", true}, {"0/FFFFFFFF", "1/0", false}, {"A/1B", "A/1B", true}, {"A/1A", "A/1B", false}} {
		if got, err := reached(c.now, c.goal); err != nil || got != c.want {
			t.Errorf("%s has reached %s: %v, %v", c.now, c.goal, got, err)
		}
	}
	if _, err := reached("now", "0/0"); err == nil {
		t.Error("no position passes")
	}
}

// TestOfTwoThatWriteTheLaterLeads: a primary that missed a promotion stays on its old timeline.
func TestOfTwoThatWriteTheLaterLeads(t *testing.T) {
	all := []standing{{writes: true, timeline: 1, position: "0/9"}, {writes: true, timeline: 2, position: "0/5"}, {timeline: 2, position: "0/4"}, {}}
	failed := []error{nil, nil, nil, errors.New("it is down")}
	primary, ok := leading(all, failed)
	if primary != 1 || !ok {
		t.Errorf("%d leads: %v", primary, ok)
	}
	for i, want := range []string{"writes of its own", "", "not caught up", "does not answer"} {
		if i == primary {
			continue
		}
		got := behind(all[primary], all[i], failed[i])
		if got == nil || !strings.Contains(got.Error(), want) || errors.Is(got, server.ErrOwnWrites) != (i == 0) {
			t.Errorf("node %d %v; want %s", i, got, want)
		}
	}
	if got := behind(standing{timeline: 2, position: "0/4"}, all[2], nil); got != nil {
		t.Errorf("one in step %v", got)
	}
	if _, ok := leading(all[2:3], failed[2:3]); ok {
		t.Error("a standby leads")
	}
}
