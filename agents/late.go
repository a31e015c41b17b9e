package agents

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"
)

// Fetch takes into a run's folder what agents have delivered since the run ended, and
// removes its place from the engine when all is there. It returns how many agents have
// still not delivered all.
func Fetch(ctx context.Context, e *Engine, folder, run string) (missing int, err error) {
	in := filepath.Join(folder, Folder)
	members, err := readMembers(in)
	if err != nil {
		return 0, err
	}
	store, err := openBucket(ctx, e.conn, run, 0)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return 0, fmt.Errorf("the engine has nothing of run %s: it was taken already, or has expired", run)
	}
	if err != nil {
		return 0, &EngineError{Address: Redact(e.address), Err: err}
	}
	for _, m := range members {
		if end, err := readEnd(in, m.Number); err != nil || end != nil {
			if err != nil {
				return 0, err
			}
			continue
		}
		whole, err := (&collector{store: store, folder: in, share: m.Number}).finish(ctx)
		if err != nil {
			return 0, err
		}
		if !whole {
			missing++
		}
	}
	if missing > 0 {
		return missing, nil
	}
	js, err := jetstream.New(e.conn)
	if err != nil {
		return 0, err
	}
	return 0, js.DeleteObjectStore(ctx, bucket(run))
}
