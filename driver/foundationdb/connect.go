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

// apiVersion is the version of the binding in go.mod; client libraries from 7.3 on know it.
const apiVersion = 730

// opening guards the binding's table of open databases against concurrent calls. The client library
// is one per process, and so is its guard.
var opening sync.Mutex

// connect opens the database and waits for its first answer, at most target.ConnectTimeout if that
// is positive. It returns *store.UnreachableError, or the client library's own error.
//
// The binding keeps one handle for each cluster file until the process ends and shares it. Its
// Database.Close would free a handle that others use, and again at its collection. So nothing is
// closed.
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

func codeOf(err error) int {
	var typed fdb.Error
	if errors.As(err, &typed) {
		return typed.Code
	}
	return 0
}
