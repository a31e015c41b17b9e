package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"assay/cluster/server"
)

// Backing backs up a working database and restores it. It is safe for concurrent use.
type Backing interface {
	// CheckBackup says why it cannot back up this way (empty: the product's own way) or, if moment
	// is true, why it cannot restore the state of a chosen moment.
	CheckBackup(way string, moment bool) error
	// BackUp backs up node i into a folder, which it makes. It returns the program's name.
	BackUp(ctx context.Context, i int, way, into string) (by string, err error)
	// Restore copies a backup into a folder, which it makes, and starts a server on the copy at a
	// port of its own. It returns the address, with the password, once the server takes work.
	// end stops the server and removes the folder. A zero until means the state of the backup.
	Restore(ctx context.Context, backup, into string, until time.Time) (address string, end func() error, err error)
}

// Backups are one database's backups and restored servers, safe for concurrent use.
type Backups struct {
	by     Backing
	folder string

	mu       sync.Mutex
	begun    int           // how many backups were begun
	ended    int           // how many of them have ended
	end      chan struct{} // closed when the next ends
	restores int
	made     []Backup // in the order of their ends
	restored []Restored
}

// Backup describes a finished backup.
type Backup struct {
	// Number counts from 1.
	Number int
	// By is the program or the interface that made it.
	By    string
	Begun time.Time
	Took  time.Duration
	Bytes int64
	// Alone is true if the backup is of the only node.
	Alone bool

	folder string
}

// Restored is a restored backup. Its server runs until Close.
type Restored struct {
	Backup
	Restore int
	// Until is the restored moment; zero for the state of the backup.
	Until time.Time
	Took  time.Duration
	// Address includes the password.
	Address string

	end func() error
}

const backupBound = time.Hour

// NewBackups keeps the backups in a folder, which the first backup makes.
func NewBackups(by Backing, folder string) *Backups {
	return &Backups{by: by, folder: folder, end: make(chan struct{})}
}

// Check says why a backup of this way, or a restore to a moment, is impossible; nil if possible.
func (b *Backups) Check(way string, moment bool) error { return b.by.CheckBackup(way, moment) }

// Make backs up node i; alone says that it is the only node. After an error no backup is left.
func (b *Backups) Make(ctx context.Context, i int, way string, alone bool) (Backup, error) {
	ctx, cancel := context.WithTimeout(ctx, backupBound)
	defer cancel()
	b.mu.Lock()
	b.begun++
	made := Backup{Number: b.begun, Begun: time.Now(), Alone: alone, folder: filepath.Join(b.folder, "backup-"+strconv.Itoa(b.begun))}
	b.mu.Unlock()
	err := b.makeFolder()
	if err == nil {
		made.By, err = b.by.BackUp(ctx, i, way, made.folder)
	}
	made.Took = time.Since(made.Begun)
	if err == nil {
		_, made.Bytes, err = server.SizeOf(made.folder)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("back up: %w", err), os.RemoveAll(made.folder))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended++
	close(b.end)
	b.end = make(chan struct{})
	if err != nil {
		return Backup{}, err
	}
	b.made = append(b.made, made)
	return made, nil
}

// makeFolder lets others pass through the folder without listing it: servers run as other users.
func (b *Backups) makeFolder() error {
	if err := os.MkdirAll(b.folder, 0o711); err != nil {
		return err
	}
	return os.Chmod(b.folder, 0o711)
}

// newest returns the newest backup made by the moment until. A zero until means the newest of all,
// for which it waits if the first is being made.
func (b *Backups) newest(ctx context.Context, until time.Time) (Backup, error) {
	for {
		b.mu.Lock()
		for _, made := range slices.Backward(b.made) {
			if until.IsZero() || !made.Begun.Add(made.Took).After(until) {
				b.mu.Unlock()
				return made, nil
			}
		}
		end, more := b.end, b.ended < b.begun
		b.mu.Unlock()
		if !more || !until.IsZero() {
			return Backup{}, errors.New("restore: no backup had been made by then; back up earlier")
		}
		select {
		case <-end:
		case <-ctx.Done():
			return Backup{}, ctx.Err()
		}
	}
}

// Restore restores the newest backup made by the moment until (zero: of all) beside the database.
func (b *Backups) Restore(ctx context.Context, until time.Time) (Restored, error) {
	made, err := b.newest(ctx, until)
	if err != nil {
		return Restored{}, err
	}
	x := Restored{Backup: made, Until: until}
	b.mu.Lock()
	b.restores++
	x.Restore = b.restores
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, backupBound)
	defer cancel()
	began := time.Now()
	x.Address, x.end, err = b.by.Restore(ctx, x.folder, filepath.Join(b.folder, "restore-"+strconv.Itoa(x.Restore)), until)
	if err != nil {
		return x, fmt.Errorf("restore backup %d: %w", x.Number, err)
	}
	x.Took = time.Since(began)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.restored = append(b.restored, x)
	return x, nil
}

// Restored returns the restored servers; none for a nil receiver.
func (b *Backups) Restored() []Restored {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.restored)
}

// Close ends the servers and removes the backups. A nil receiver does nothing.
func (b *Backups) Close() error {
	if b == nil {
		return nil
	}
	var failed []error
	for _, x := range b.Restored() {
		failed = append(failed, x.end())
	}
	return errors.Join(append(failed, os.RemoveAll(b.folder))...)
}

// backingOf returns nil if assay cannot back up the product.
func backingOf(p product) Backing {
	switch p := p.(type) {
	case interface{ behind() product }:
		return backingOf(p.behind())
	case single:
		b, _ := p.oneServer.(Backing)
		return b
	default:
		b, _ := p.(Backing)
		return b
	}
}

// Backups returns nil if assay cannot back up the product.
func (c *Cluster) Backups() *Backups { return c.backups }
