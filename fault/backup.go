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

// backup makes a backup of a node while it works. It has ended when the backup is made, so
// that the time in which it acts is that which the backup took.
func backup() Action {
	return Action{Name: "backup", Targets: []string{TargetPrimary, TargetSecondary, TargetAny, aNode}, part: partBackup, state: "being backed up", BacksUp: true,
		Value: oneOf("WAY", "", "the product's own way", "there is no way %q", WayCopy+", which for SQLite copies the database file alone", WayCopy),
		Effect: "makes a backup of the node while it works: by pg_basebackup, mariadb-backup, SQLite's backup API, or a copy of MongoDB's files under fsyncLock; " +
			"backup=copy copies SQLite's file alone, which is no backup, to see that it is found out",
		check: func(f Fault, c *cluster.Cluster) error { return checkBackups(f, c.Backups()) },
		on: func(t task) (injector, error) {
			b := &taken{backups: t.backups, way: valueOf[string](t.Fault), alone: t.cluster == nil || len(t.cluster.Nodes()) == 1}
			if len(t.nodes) > 0 {
				b.node = t.nodes[0].Number()
			}
			return b, nil
		}}
}

// restoreBackup restores a backup on a server beside the cluster. It has ended when that
// takes work.
func restoreBackup() Action {
	return Action{Name: Restore, Targets: []string{"backup"}, part: partBackup, state: "being restored", BacksUp: true, after: "backup",
		Value: moment(),
		Effect: "restores the newest backup on a server of its own beside the nodes, which is read after the run and held against the history; " +
			"restore=20s restores the state that PostgreSQL had 20 s after the start of the measured part, from the newest backup before and the archived log",
		choose: func(string, []member, string, *rand.Rand) (choice, error) { return choice{}, nil },
		fits: func(f Fault, _ []member) error {
			if until := valueOf[time.Duration](f); until > f.At && f.At >= 0 {
				return &TargetError{Fault: f, Problem: "the moment to restore is still to come then", Want: "one that is over when it is restored"}
			}
			return nil
		},
		check: func(f Fault, c *cluster.Cluster) error { return checkBackups(f, c.Backups()) },
		on: func(t task) (injector, error) {
			r := &restored{backups: t.backups, start: t.start}
			if until := valueOf[time.Duration](t.Fault); until >= 0 {
				// The database keeps times in microseconds.
				r.until = t.start.Add(until).Truncate(time.Microsecond)
			}
			return r, nil
		}}
}

// moment is a moment of the measured part.
func moment() Value {
	v := newValue("TIME", "a time since the start of the measured part, such as 20s", time.Duration(-1), time.ParseDuration,
		func(d time.Duration) bool { return d >= 0 && d <= mostTime }, shortDuration)
	v.Default = "the state that the backup holds"
	return v
}

// checkBackups tells whether backups can be made as the fault has it.
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

// taken is a backup that is being made.
type taken struct {
	backups *cluster.Backups
	node    int
	way     string
	alone   bool // the node is the only one
	made    cluster.Backup
}

func (b *taken) inject(ctx context.Context) (err error) {
	b.made, err = b.backups.Make(ctx, b.node, b.way, b.alone)
	return err
}

func (b *taken) verify(context.Context, bool) (observation, error) {
	if b.made.Bytes == 0 {
		return observation{text: "no backup was made"}, nil
	}
	return observation{proven: true, text: fmt.Sprintf("backup %d has %s", b.made.Number, quantity.Bytes(b.made.Bytes))}, nil
}

func (b *taken) tell(i *Injection) {
	if m := b.made; m.Number > 0 {
		i.Backup = &Backup{Number: m.Number, By: m.By, Bytes: m.Bytes, Took: m.Took}
	}
}

func (b *taken) undo(context.Context) error { return nil }

func (b *taken) restore(context.Context) (string, error) {
	if b.made.Number == 0 {
		return "nothing is left of it", nil
	}
	return "it is kept until the run has ended", nil
}

// mostStep is how far the machine's clock may be set in the time between the start and a
// restore to a moment: the history's times do not follow it, those of commits do.
const mostStep = time.Millisecond

// restored is a backup that is being restored.
type restored struct {
	backups      *cluster.Backups
	start, until time.Time
	got          cluster.Restored
}

func (r *restored) inject(ctx context.Context) (err error) {
	if now := time.Now(); !r.until.IsZero() {
		if step := now.Round(0).Sub(r.start.Round(0)) - now.Sub(r.start); step.Abs() > mostStep {
			return fmt.Errorf("this machine's clock was set by %v since the start, so that moments of the run are not those of the log", step)
		}
		if r.until.After(now) {
			return errors.New("the moment to restore is still to come")
		}
	}
	got, err := r.backups.Restore(ctx, r.until)
	if err == nil {
		r.got = got
	}
	return err
}

func (r *restored) verify(context.Context, bool) (observation, error) {
	if r.got.Restore == 0 {
		return observation{text: "nothing was restored"}, nil
	}
	return observation{proven: true, text: fmt.Sprintf("backup %d is restored and takes work", r.got.Number)}, nil
}

func (r *restored) tell(i *Injection) {
	if g := r.got; g.Restore > 0 {
		i.Backup = &Backup{Number: g.Number, Restore: g.Restore, By: g.By, Bytes: g.Bytes, Took: g.Took, Until: g.Until}
	}
}

func (r *restored) undo(context.Context) error { return nil }

func (r *restored) restore(context.Context) (string, error) {
	if r.got.Restore == 0 {
		return "nothing is left of it", nil
	}
	return "it is kept beside the database until it was read", nil
}

// Embedded is a database within assay itself, as the one node n1: it can be backed up, and
// nothing else can be done to it.
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
