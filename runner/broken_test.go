package runner

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/workload/definition"
)

// broken is a database that fails at the end of a run.
type broken struct {
	definition.Work
	settle, save error
}

func (b broken) Settle(ctx context.Context) error { return errors.Join(b.settle, b.Work.Settle(ctx)) }

func (b broken) Save(ctx context.Context, folder string, read func(int64)) error {
	if b.save != nil {
		return b.save
	}
	return b.Work.Save(ctx, folder, read)
}

// TestWhatIsNotReadBackIsUnknown: without settling or reading, the result says why there is no
// verdict.
func TestWhatIsNotReadBackIsUnknown(t *testing.T) {
	t.Parallel()
	tests := map[string]broken{
		"a session is still there":   {settle: errors.New("a session is still there")},
		"the server is gone":         {save: errors.New("the server is gone")},
		"the server went at the end": {settle: errors.New("no answer"), save: errors.New("the server went at the end")},
	}
	for why, b := range tests {
		told := &diary{}
		s := small("mem://", 1, 300)
		r := &run{scenario: s, options: Options{Out: filepath.Join(t.TempDir(), "run"), Progress: told}.withDefaults()}
		expect.NoError(t, r.provide(t.Context()))
		expect.NoError(t, r.open(t.Context()))
		b.Work = r.store.Work
		r.store.Work = b
		expect.NoError(t, r.load(t.Context()))
		done, err := r.work(t.Context(), nil)
		expect.NoError(t, err)
		out, err := r.summarize(t.Context(), done)
		expect.NoError(t, err)
		if out.Result.Verdict != check.Unknown {
			t.Errorf("%s: the verdict is %v: %s", why, out.Result.Verdict, details(out.Result))
		}
		said := strings.Join(out.Result.Notes, "\n")
		for _, c := range out.Result.Checks {
			said += "\n" + c.Detail
		}
		if !strings.Contains(said, why) {
			t.Errorf("nothing says that %s: %s", why, said)
		}
		if out.Result.Outcomes.Committed == 0 || out.Result.Throughput.PerSecond == 0 {
			t.Errorf("%s: the figures are lost", why)
		}
		keepsSchema(t, out.Folder)
		if b.save != nil {
			continue // there is nothing to judge again: the database is gone with its process
		}
		if again := recheck(t, out.Folder).Result; again.Verdict != check.Unknown {
			t.Errorf("%s: judged again it is %v", why, again.Verdict)
		}
	}
}
