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

// Backing is how a database is backed up while it works, and restored beside itself. Its
// methods are safe for concurrent use.
type Backing interface {
	// CheckBackup says why no backup can be made in this way, which is the product's own if
	// it is empty, or why the state of a moment of the user's cannot be restored, if that is
	// asked for.
	CheckBackup(way string, moment bool) error
	// BackUp makes a backup of node i in a folder that is not there yet, and says by what.
	BackUp(ctx context.Context, i int, way, into string) (by string, err error)
	// Restore starts a server on a copy of a backup, in a folder that is not there yet and
	// on a port of its own, and returns its address, with the password, once it takes work,
	// and what ends it and removes its folder. Until is the moment whose state is to be
	// restored; zero for that of the backup.
	Restore(ctx context.Context, backup, into string, until time.Time) (address string, end func() error, err error)
}

// Backups are the backups of one database, and what was restored of them. Its methods are
// safe for concurrent use.
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

// Backup is one that was made.
type Backup struct {
	// Number counts from 1.
	Number int
	// By is the program or the interface that made it.
	By string
	// Begun is when it was begun, Took how long it took.
	Begun time.Time
	Took  time.Duration
	// Bytes is its size.
	Bytes int64
	// Alone is true of a backup of the only node.
	Alone bool

	folder string
}

// Restored is a backup that was restored. Its server runs until Close.
type Restored struct {
	Backup
	// Restore counts from 1.
	Restore int
	// Until is the moment whose state it has; zero for that of the backup.
	Until time.Time
	// Took is how long it took until the server took work.
	Took time.Duration
	// Address is the server's, with the password.
	Address string

	end func() error
}

// backupBound is how long a backup, or restoring one, may take.
const backupBound = time.Hour

// NewBackups keeps the backups in a folder that is made for the first of them.
func NewBackups(by Backing, folder string) *Backups {
	return &Backups{by: by, folder: folder, end: make(chan struct{})}
}

// Check says why no backup can be made in this way, or restored to a moment; nil if it can.
func (b *Backups) Check(way string, moment bool) error { return b.by.CheckBackup(way, moment) }

// Make makes a backup of node i, which may be the only one. After an error there is none.
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

// makeFolder makes the folder of all backups, through which others may pass, since servers
// run as other users, and see nothing.
func (b *Backups) makeFolder() error {
	if err := os.MkdirAll(b.folder, 0o711); err != nil {
		return err
	}
	return os.Chmod(b.folder, 0o711)
}

// newest is the newest backup or, to a moment, the newest that had been made by then. While
// there is none and one is being made it waits for that.
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

// Restore restores the newest backup or, to a moment, the newest that had been made by then,
// on a server beside the database.
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

// Restored are the servers with what was restored. It is empty for nil.
func (b *Backups) Restored() []Restored {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.restored)
}

// Close ends the servers and removes the backups. It does nothing for nil.
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

// backingOf is how a product is backed up; nil if assay knows no way.
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

// Backups are the backups of the nodes; nil where assay knows no way to make any.
func (c *Cluster) Backups() *Backups { return c.backups }
