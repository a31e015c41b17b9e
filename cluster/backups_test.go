package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/internal/expect"
)

type onPaper struct{ ended map[string]bool }

func (onPaper) CheckBackup(string, bool) error { return nil }

func (onPaper) BackUp(_ context.Context, i int, way, into string) (string, error) {
	err := os.Mkdir(into, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(into, "file"), make([]byte, 100+i), 0o600)
	}
	if way == "fails" {
		err = errors.Join(err, errors.New("no room"))
	}
	return "paper", err
}

func (p onPaper) Restore(_ context.Context, backup, into string, _ time.Time) (string, func() error, error) {
	return "paper:" + filepath.Base(backup), func() error { p.ended[filepath.Base(into)] = true; return nil }, nil
}

// waiting blocks until a backup may be made.
type waiting struct {
	onPaper
	until chan struct{}
}

func (w waiting) BackUp(ctx context.Context, i int, way, into string) (string, error) {
	<-w.until
	return w.onPaper.BackUp(ctx, i, way, into)
}

func hasBegun(b *Backups) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun > 0
}

// TestBackups: Restore takes the newest backup, or the newest before a moment. A failed backup
// leaves nothing, and Close leaves nothing.
func TestBackups(t *testing.T) {
	folder, paper := filepath.Join(t.TempDir(), "backups"), onPaper{map[string]bool{}}
	b := NewBackups(paper, folder)
	if _, err := b.Restore(t.Context(), time.Time{}); err == nil {
		t.Error("restored without a backup")
	}
	first, err := b.Make(t.Context(), 1, "", true)
	if err != nil || first.Number != 1 || first.Bytes != 101 || !first.Alone || first.By != "paper" {
		t.Fatalf("%+v, %v", first, err)
	}
	if _, err := b.Make(t.Context(), 1, "fails", true); err == nil {
		t.Error("no error")
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	between := time.Now()
	third, err := b.Make(t.Context(), 2, "", false)
	if err != nil || third.Number != 3 || third.Bytes != 102 || third.Alone {
		t.Fatalf("%+v, %v", third, err)
	}
	for _, c := range []struct {
		until time.Time
		want  string
	}{{time.Time{}, "paper:backup-3"}, {between, "paper:backup-1"}, {time.Now(), "paper:backup-3"}} {
		if x, err := b.Restore(t.Context(), c.until); err != nil || x.Address != c.want {
			t.Errorf("until %v: %+v, %v", c.until, x, err)
		}
	}
	if _, err := b.Restore(t.Context(), first.Begun); err == nil {
		t.Error("restored to a moment before the first backup")
	}
	if all := b.Restored(); len(all) != 3 || all[0].Restore != 1 {
		t.Errorf("%+v", all)
	}
	slow := NewBackups(waiting{paper, make(chan struct{})}, filepath.Join(t.TempDir(), "slow"))
	restored := make(chan Restored)
	go func() { _, _ = slow.Make(t.Context(), 0, "", true) }()
	for !hasBegun(slow) {
		time.Sleep(time.Millisecond)
	}
	go func() { x, _ := slow.Restore(t.Context(), time.Time{}); restored <- x }()
	close(slow.by.(waiting).until)
	if x := <-restored; x.Number != 1 {
		t.Errorf("the backup that was being made was not waited for: %+v", x)
	}
	expect.NoError(t, slow.Close(), b.Close())
	if _, err := os.Stat(folder); !os.IsNotExist(err) || len(paper.ended) != 3 {
		t.Errorf("%v, ended %v", err, paper.ended)
	}
}
