package mongodb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/cluster/server"
)

const (
	// lockBound limits fsync's lock of a member, which waits for transactions of up to a minute
	// (transactionLifetimeLimitSeconds).
	lockBound = 90 * time.Second
	// unlockBound is as long, because an abandoned lock still comes and fsyncUnlock waits for it.
	unlockBound = lockBound
	// notLocked is fsyncUnlock's code for a member that is not locked (IllegalOperation).
	notLocked = 20
)

// CheckBackup allows only an empty way (a copy of the locked files), and no moment.
func (m *ReplicaSet) CheckBackup(way string, moment bool) error {
	switch {
	case way != "":
		return fmt.Errorf("MongoDB is not backed up by %s; leave it out for a copy of the files under fsyncLock", way)
	case moment:
		return errors.New("assay knows no way to restore the state of a moment of MongoDB's; restore the backup's own state")
	}
	return nil
}

// BackUp copies the files of member i while it takes no writes (MongoDB manual, "Back Up and
// Restore with Filesystem Snapshots", "Back up with cp or rsync"; fsync, lock).
func (m *ReplicaSet) BackUp(ctx context.Context, i int, _, into string) (by string, err error) {
	node := m.nodes.At(i)
	if m.isArbiter(node) {
		return "", fmt.Errorf("%s votes and holds no data", node.Name)
	}
	if _, err := server.PrivateDir(into, nil); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, unlock(ctx, node)) }() // also after an error: the lock may have come later
	if err := run(ctx, node, lockBound, bson.D{{Key: "fsync", Value: 1}, {Key: "lock", Value: true}}, nil); err != nil {
		return "", fmt.Errorf("lock %s: %w", node.Name, err)
	}
	files, err := dataFiles(node.Dir)
	if err != nil {
		return "", err
	}
	return "a copy of the files under fsyncLock", node.Copy(ctx, into, files...)
}

// unlock works even if ctx has ended. A member that has ended is unlocked.
func unlock(ctx context.Context, node *server.Node) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockBound)
	defer cancel()
	return server.Until(ctx, 100*time.Millisecond, "the unlocking of "+node.Name, func(ctx context.Context) error {
		err := run(ctx, node, answerBound, bson.D{{Key: "fsyncUnlock", Value: 1}}, nil)
		var refused *commandError
		if !node.Running() || errors.As(err, &refused) && refused.code == notLocked {
			return nil
		}
		return err
	})
}

// dataFiles leaves out the files about the running process, which change under the lock too.
func dataFiles(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !slices.Contains([]string{"mongod.lock", "diagnostic.data", "mongod.conf", "_tmp"}, e.Name()) {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, err
}

// Restore starts a set of one member on a copy of a backup.
func (m *ReplicaSet) Restore(ctx context.Context, backup, into string, _ time.Time) (address string, end func() error, err error) {
	o := m.options
	o.Nodes, o.Arbiters, o.Machines, o.Dir, o.LogDir = 1, 0, nil, into, ""
	r := &ReplicaSet{options: o, program: m.program}
	if err := r.fillIn(); err != nil {
		return "", nil, err
	}
	node := r.nodes.At(0)
	if err = node.Copy(ctx, node.Dir, backup+"/."); err == nil {
		err = r.start(ctx, node)
	}
	if err == nil {
		err = makeOnlyMember(ctx, node)
	}
	if err == nil {
		err = await(ctx, node, func(r helloReply) bool { return r.Primary })
	}
	if err != nil {
		return "", nil, errors.Join(err, r.Close())
	}
	return r.Address(), r.Close, nil
}

// makeOnlyMember replaces the members in a restored member's configuration by itself, by force
// (MongoDB manual, "Reconfigure a Replica Set with Unavailable Members"). The old members hear
// nothing of it.
func makeOnlyMember(ctx context.Context, node *server.Node) error {
	return node.Await(ctx, func(ctx context.Context) error {
		var has struct {
			Config bson.D `bson:"config"`
		}
		if err := run(ctx, node, answerBound, bson.D{{Key: "replSetGetConfig", Value: 1}}, &has); err != nil {
			return err
		}
		for i := range has.Config {
			if has.Config[i].Key == "members" {
				has.Config[i].Value = bson.A{bson.D{{Key: "_id", Value: 0}, {Key: "host", Value: node.Address()}}}
			}
		}
		return run(ctx, node, initiateBound, bson.D{{Key: "replSetReconfig", Value: has.Config}, {Key: "force", Value: true}}, nil)
	})
}
