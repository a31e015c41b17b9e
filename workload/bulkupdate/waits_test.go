package bulkupdate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
)

// server tells its waits from a list, the last of them for ever.
type server struct {
	mu    sync.Mutex
	waits [][]store.Wait
	err   error
	asked int
}

func (s *server) ask(context.Context) ([]store.Wait, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.waits[min(s.asked, len(s.waits)-1)]
	s.asked++
	return now, s.err
}

func figures(count, time, gauge int64) []store.Wait {
	return []store.Wait{{Name: "conflicts", Unit: store.Occasions, Value: count}, {Name: "time", Unit: store.Time, Value: time}, {Name: "queue", Unit: store.Gauge, Value: gauge}}
}

// TestSampler: what only grows is told by its difference, a gauge while
// somebody is at work.
func TestSampler(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileWaits)
	var busy atomic.Int64
	busy.Store(1)
	told := &server{waits: [][]store.Wait{figures(10, 1e9, 5), figures(17, 3e9, 2)}}
	s := sampler{ask: told.ask}
	s.begin(t.Context(), "2 workers", 2, &busy)
	busy.Store(0)
	s.begin(t.Context(), "4 workers", 4, &busy)
	s.stop()
	told.err = errors.New("it is gone")
	s.begin(t.Context(), "8 workers", 8, &busy)
	s.stop()
	expect.NoError(t, s.save(path))
	rounds, err := definition.ReadJSON[[]roundWaits](path)
	if err != nil || len(rounds) != 3 {
		t.Fatalf("%+v, %v", rounds, err)
	}
	first, second, third := rounds[0], rounds[1], rounds[2]
	if first.Round != "2 workers" || first.Seconds <= 0 || first.Waits[0].Value != 7 || first.Waits[1].Value != 2e9 {
		t.Errorf("%+v", first)
	}
	if second.Waits[0].Value != 0 || second.Waits[2].Samples != 0 {
		t.Errorf("%+v", second)
	}
	if third.Problem != "it is gone" || len(third.Waits) != 0 {
		t.Errorf("%+v", third)
	}
	expect.NoError(t, (&sampler{}).save(path))
	if again, err := definition.ReadJSON[[]roundWaits](path); err != nil || len(again) != 3 {
		t.Errorf("a sampler that has seen nothing replaced what was kept: %+v, %v", again, err)
	}
	expect.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := definition.ReadJSON[[]roundWaits](path); err == nil {
		t.Error("a damaged file gave no error")
	}
}

func TestWaitTexts(t *testing.T) {
	var got []string
	for _, f := range []waitFigure{
		{Unit: store.Occasions, Value: 12}, {Unit: store.Time, Value: 0}, {Unit: store.Time, Value: 1_500_000}, {Unit: store.Time, Value: 4e9},
		{Unit: store.Gauge}, {Unit: store.Gauge, Value: 7, Max: 5, Samples: 2},
	} {
		got = append(got, f.text(2, 4))
	}
	want := []string{"12", "0 ms", "1.5 ms (0.0 % of the workers' time)", "4 s (50.0 % of the workers' time)", "not seen", "3.5, at most 5"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
