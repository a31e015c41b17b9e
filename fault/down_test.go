package fault

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"assay/internal/expect"
)

// forcedSystem is one whose servers had to be killed at these times.
type forcedSystem struct {
	*fakeSystem
	at map[string]time.Time
}

func (s forcedSystem) forced(name string) *time.Time {
	if at, was := s.at[name]; was {
		return &at
	}
	return nil
}

// TestAServerThatHadToBeKilledIsTold, and what happened before the fault is not its doing.
func TestAServerThatHadToBeKilledIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := forcedSystem{newFakeSystem(3), map[string]time.Time{"n1": began.Add(time.Second), "n2": began.Add(5 * time.Second)}}
		kept := &recording{}
		r := &runner{system: s, faults: parse(t, "stop n1 at 2s for 1s", "stop n2 at 4s for 2s"), plan: Plan{Duration: time.Minute}, recorder: kept}
		done, err := r.run(t.Context())
		expect.NoError(t, err)
		if i := done[0]; !i.KilledAt.IsZero() || strings.Contains(i.Detail, "killed") {
			t.Errorf("killed before the fault: %+v", i)
		}
		if i := done[1]; !i.KilledAt.Equal(began.Add(5*time.Second)) || !slices.Equal(i.Killed, []string{"n2"}) || strings.Count(i.Detail, "n2 did not end in order in its time and was killed") != 1 {
			t.Errorf("killed under the fault: %+v", i)
		}
		if last := kept.healed[1]; last.KilledAt.IsZero() {
			t.Errorf("it was told without it: %+v", last)
		}
	})
}

// TestTheEndOfTheWorkKillsNoServer: Redis saves for about four seconds when it ends, and the work
// ends meanwhile.
func TestTheEndOfTheWorkKillsNoServer(t *testing.T) {
	t.Parallel()
	c := startCluster(t, "redis:1,set.appendonly=no,set.rdb-key-save-delay=400000")
	client := goredis.NewClient(&goredis.Options{Addr: c.Nodes()[0].Address()})
	expect.AtEnd(t, client.Close)
	for key := range 10 {
		expect.NoError(t, client.Set(t.Context(), strconv.Itoa(key), 1, 0).Err())
	}
	plan := patientPlan()
	plan.Duration = 2 * time.Second
	done, err := Run(t.Context(), Servers(c), parse(t, "restart n1 at 0s"), plan, &recording{})
	expect.NoError(t, err)
	if len(done) != 1 || !done[0].Proven || !done[0].Healed || !done[0].KilledAt.IsZero() {
		t.Errorf("%+v", done)
	}
	if n, err := client.DBSize(t.Context()).Result(); err != nil || n != 10 {
		t.Errorf("%d of 10 keys are left after a restart in order, %v", n, err)
	}
}
