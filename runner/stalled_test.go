package runner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/history"
	"assay/internal/expect"
)

// A pause of assay is in the history and the result, so that a later judging knows of it.
func TestAStallIsInTheHistory(t *testing.T) {
	t.Parallel()
	s := small("", 5, 0)
	s.Load.Duration, s.Load.Warmup = 2*time.Second, 0
	out := carryOut(t, s)
	path := filepath.Join(out.Folder, FileHistory)
	stall := history.Stall{From: int64(500 * time.Millisecond), To: int64(1500 * time.Millisecond)}
	var to *history.Writer
	_, err := history.Read(path, history.Visitor{
		Header: func(h history.Header) (err error) {
			if to, err = history.Create(path+".stalled", h); err != nil {
				return err
			}
			e, err := stall.Event()
			return errors.Join(err, to.Mark(e))
		},
		Op:          func(op *history.Op) error { return to.Record(op) },
		Reservation: func(r history.Reservation) error { return to.Reserve(r) },
		Event:       func(e history.Event) error { return to.Mark(e) },
	})
	expect.NoError(t, errors.Join(err, to.Close()))
	expect.NoError(t, os.Rename(path+".stalled", path))
	again := recheck(t, out.Folder).Result
	if c := again.Client; !slices.ContainsFunc(again.Measurement.Reasons, func(r string) bool {
		return strings.Contains(r, "stalled: assay did not run for 1.")
	}) || len(c.Stalls) == 0 || c.StalledSeconds < 1 {
		t.Errorf("%q, %+v", again.Measurement.Reasons, c.Stalls)
	}
	keepsSchema(t, out.Folder)
}
