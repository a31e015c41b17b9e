package foundationdb

import (
	"context"
	"fmt"
	"os"
	"time"

	"assay/store"
)

// patience is a transaction's time limit if its context has none. A transaction lives for five
// seconds; the rest is the wait for servers.
const patience = time.Minute

func timeLimit(ctx context.Context) time.Duration {
	if deadline, limited := ctx.Deadline(); limited {
		return time.Until(deadline)
	}
	return patience
}

// overdue says why a transaction with this code was out of time, nil if time was not the cause. The
// library's clock may be ahead of the context, which has then not ended. A context without a
// deadline gives *store.UnreachableError.
func overdue(ctx context.Context, code int) error {
	over := ctx.Err()
	_, limited := ctx.Deadline()
	switch {
	case code != codeCancelled && code != codeTransactionTimeout:
		return nil
	case over != nil:
		return over
	case code == codeCancelled:
		return nil
	case limited:
		return context.DeadlineExceeded
	default:
		return &store.UnreachableError{Address: "the FoundationDB cluster", Err: fmt.Errorf("no answer within %s", patience)}
	}
}

// noAnswer is the error of a first contact with this code. first is its context, which ends with
// ctx or after limit (0 for none).
func noAnswer(ctx, first context.Context, o options, limit time.Duration, code int, err error) error {
	over := overdue(first, code)
	if over == nil && first.Err() != nil { // before a transaction was begun
		over = first.Err()
	}
	outer, outerLimited := ctx.Deadline()
	inner, limited := first.Deadline()
	switch {
	case over == nil:
	case ctx.Err() != nil:
		return fmt.Errorf("foundationdb: connect: %w", ctx.Err())
	case outerLimited && outer.Equal(inner):
		return fmt.Errorf("foundationdb: connect: %w", context.DeadlineExceeded)
	case limited:
		err = fmt.Errorf("no answer within %s", limit)
	default:
		err = fmt.Errorf("no answer within %s", patience)
	}
	return &store.UnreachableError{Address: o.printable, Err: err}
}

// checkClusterFile returns *store.UnreachableError if a named cluster file cannot be read. The
// library's own error would name its default place.
func (o options) checkClusterFile() error {
	if o.clusterFile == "" {
		return nil
	}
	file, err := os.Open(o.clusterFile)
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		return &store.UnreachableError{Address: o.printable, Err: fmt.Errorf("the cluster file cannot be read: %w", err)}
	}
	return nil
}
