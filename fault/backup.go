package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"assay/cluster"
	"assay/internal/quantity"
)

// Restore is the name of the action that restores a backup.
const Restore = "restore"

// WayCopy is a plain copy of the files, as they are at that moment.
const WayCopy = "copy"

// backup backs a node up while it works. The fault ends with the backup, so it acts as long as the
// backup takes.
func backup() Action {
	return Action{Name: "backup", Targets: []string{TargetPrimary, TargetSecondary, TargetAny, aNode}, part: partBackup, state: "being backed up", BacksUp: true,
		Value: oneOf("WAY", "", "the product's own way", "there is no way %q", WayCopy+", which for SQLite copies the database file alone", WayCopy),
		Effect: "makes a backup of the node while it works: by pg_basebackup, mariadb-backup, SQLite's backup API, or a copy of MongoDB's files under fsyncLock; " +
			"backup=copy copies SQLite's file alone, which is no backup, to see that it is found out",
		check: func(f Fault, c *cluster.Cluster) error { return checkBackups(f, c.Backups()) },
		on: func(t task) (injector, error) {
			way, alone, node := valueOf[string](t.Fault), t.cluster == nil || len(t.cluster.Nodes()) == 1, 0
			if len(t.nodes) > 0 {
				node = t.nodes[0].Number()
			}
			return &backupWork{
				work: func(ctx context.Context) (Backup, error) {
					m, err := t.backups.Make(ctx, node, way, alone)
					return Backup{Number: m.Number, By: m.By, Bytes: m.Bytes, Took: m.Took}, err
				},
				nothing: "no backup was made", kept: "it is kept until the run has ended",
				proof: func(b Backup) string { return fmt.Sprintf("backup %d has %s", b.Number, quantity.Bytes(b.Bytes)) },
			}, nil
		}}
}

// restoreBackup restores a backup to a server beside the cluster. It ends when that server takes
// work.
func restoreBackup() Action {
	return Action{Name: Restore, Targets: []string{"backup"}, part: partBackup, state: "being restored", BacksUp: true, after: "backup",
		Value: moment(),
		Effect: "restores the newest backup on a server of its own beside the nodes, which is read after the run and held against the history; " +
			"restore=20s restores the state that PostgreSQL had 20 s after the start of the measured part, from the newest backup before and the archived log",
		choose: func(string, []member, string, *rand.Rand) (choice, error) { return choice{}, nil },
		fits: func(f Fault, _ []member) error {
			if until := valueOf[time.Duration](f); until > f.At && f.At >= 0 {
				return &TargetError{Fault: f, Problem: "the moment to restore is still to come then", Want: "an earlier moment"}
			}
			return nil
		},
		check: func(f Fault, c *cluster.Cluster) error { return checkBackups(f, c.Backups()) },
		on: func(t task) (injector, error) {
			var moment time.Time
			if until := valueOf[time.Duration](t.Fault); until >= 0 {
				// The database keeps times in microseconds.
				moment = t.start.Add(until).Truncate(time.Microsecond)
			}
			return &backupWork{
				work:    func(ctx context.Context) (Backup, error) { return restoreTo(ctx, t.backups, t.start, moment) },
				nothing: "nothing was restored", kept: "it is kept beside the database until it was read",
				proof: func(b Backup) string { return fmt.Sprintf("backup %d is restored and takes work", b.Number) },
			}, nil
		}}
}

func moment() Value {
	v := newValue("TIME", "a time since the start of the measured part, such as 20s", time.Duration(-1), time.ParseDuration,
		func(d time.Duration) bool { return d >= 0 && d <= mostTime }, quantity.Duration)
	v.Default = "the state that the backup holds"
	return v
}

func checkBackups(f Fault, b *cluster.Backups) error {
	if b == nil {
		return &UnavailableError{Action: f.Action, Reason: "assay knows no way to back this product up", Instead: "take PostgreSQL, MongoDB, MariaDB alone or with Galera, or SQLite without --cluster"}
	}
	way, _ := f.Value.(string)
	_, moment := f.Value.(time.Duration)
	if err := b.Check(way, moment); err != nil {
		return &UnavailableError{Action: f.Action, Reason: err.Error(), Err: err}
	}
	return nil
}

// backupWork is a backup or a restore in progress. It harms nothing, and stays.
type backupWork struct {
	work func(context.Context) (Backup, error)
	// nothing is the text without a result, kept the text about what becomes of the result.
	nothing, kept string
	proof         func(Backup) string
	made          *Backup // nil until it is
}

func (b *backupWork) inject(ctx context.Context) error {
	made, err := b.work(ctx)
	if err == nil {
		b.made = &made
	}
	return err
}

func (b *backupWork) verify(context.Context, bool) (observation, error) {
	if b.made == nil {
		return observation{text: b.nothing}, nil
	}
	return observation{proven: true, text: b.proof(*b.made)}, nil
}

func (b *backupWork) tell(i *Injection) { i.Backup = b.made }

func (b *backupWork) undo(context.Context) error { return nil }

func (b *backupWork) restore(context.Context) (string, error) {
	if b.made == nil {
		return "nothing is left of it", nil
	}
	return b.kept, nil
}

// mostStep is how far the machine's clock may be set between the start and a restore to a moment:
// the history's times do not follow the clock, but the times of commits do.
const mostStep = time.Millisecond

// restoreTo restores the state of a moment or, for the zero moment, of the newest backup.
func restoreTo(ctx context.Context, backups *cluster.Backups, start, moment time.Time) (Backup, error) {
	if now := time.Now(); !moment.IsZero() {
		if step := now.Round(0).Sub(start.Round(0)) - now.Sub(start); step.Abs() > mostStep {
			return Backup{}, fmt.Errorf("this machine's clock was set by %v since the start, so that moments of the run are not the log's", step)
		}
		if moment.After(now) {
			return Backup{}, errors.New("the moment to restore is still to come")
		}
	}
	g, err := backups.Restore(ctx, moment)
	return Backup{Number: g.Number, Restore: g.Restore, By: g.By, Bytes: g.Bytes, Took: g.Took, Until: g.Until}, err
}

// Embedded is a database within assay, as the only node n1. It can only be backed up and restored.
func Embedded(b *cluster.Backups) System { return embedded{b} }

type embedded struct{ backups *cluster.Backups }

const embeddedNode = "n1"

func (embedded) members(context.Context) ([]member, error) {
	return []member{{name: embeddedNode}}, nil
}

func (embedded) primaries(context.Context) ([]string, error) { return []string{embeddedNode}, nil }

func (embedded) running(string) bool { return true }

func (e embedded) prepare(f Fault, c choice, _ acquirer) (injector, error) {
	if err := e.check(context.Background(), f); err != nil {
		return nil, err
	}
	a, _ := Lookup(f.Action)
	return a.on(task{Fault: f, choice: c, backups: e.backups})
}

func (e embedded) check(_ context.Context, f Fault) error {
	if a, _ := Lookup(f.Action); !a.BacksUp {
		return &UnavailableError{Action: f.Action, Reason: "the database is within assay itself", Instead: "start servers with --cluster"}
	}
	return checkBackups(f, e.backups)
}
