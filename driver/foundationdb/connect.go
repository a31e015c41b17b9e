//go:build foundationdb

package foundationdb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/apple/foundationdb/bindings/go/src/fdb"

	"assay/store"
)

// Missing says why this build cannot open FoundationDB; empty if it can.
func Missing() string { return "" }

// apiVersion is what the binding in go.mod was made for; the client library
// must know it, which those from 7.3 on do.
const apiVersion = 730

// opening guards the binding's own table of open databases, which two calls at
// once would spoil. The client library is one for the whole process, with one
// network thread, and so is its guard.
var opening sync.Mutex

// connect opens the database and waits for its first answer, for at most
// target.ConnectTimeout if that is positive. It returns
// *store.UnreachableError, unless the client library itself will not do.
//
// The binding keeps one handle for each cluster file until the process ends and
// gives it to whoever asks, as an application would have it; its Database.Close
// would free a handle that others use, and once more when it is collected. So
// nothing is closed here.
func connect(ctx context.Context, target store.Target, o options) (fdb.Database, error) {
	db, err := open(o)
	if err != nil {
		return db, err
	}
	first := ctx
	if target.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		first, cancel = context.WithTimeout(ctx, target.ConnectTimeout)
		defer cancel()
	}
	t, err := begin(first, db)
	if err == nil {
		defer t.end()
		_, err = t.GetReadVersion().Get()
	}
	if err != nil {
		return db, noAnswer(ctx, first, o, target.ConnectTimeout, codeOf(err), err)
	}
	return db, nil
}

func open(o options) (fdb.Database, error) {
	if err := o.checkClusterFile(); err != nil {
		return fdb.Database{}, err
	}
	opening.Lock()
	defer opening.Unlock()
	if err := fdb.APIVersion(apiVersion); err != nil {
		return fdb.Database{}, fmt.Errorf("foundationdb: %w; install the client library of your cluster's release, 7.3 or later", err)
	}
	db, err := fdb.OpenDatabase(o.clusterFile)
	if err != nil {
		return db, &store.UnreachableError{Address: o.printable, Err: err}
	}
	return db, nil
}

// codeOf is the code of FoundationDB's error, 0 if it is none of its.
func codeOf(err error) int {
	var typed fdb.Error
	if errors.As(err, &typed) {
		return typed.Code
	}
	return 0
}
