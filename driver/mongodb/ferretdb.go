package mongodb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/store"
)

// buildReply is what the server says of its program (MongoDB manual, "buildInfo").
type buildReply struct {
	Version string   `bson:"version"`
	Modules []string `bson:"modules"`
	// FerretDB is there in releases 1 of FerretDB, whose Version is that of the MongoDB that it
	// stands for.
	FerretDB string `bson:"ferretdbVersion"`
}

func (c *connection) build(ctx context.Context) (reply buildReply, err error) {
	err = c.admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&reply)
	return reply, err
}

// knowFerretDB asks whether the server is FerretDB 1, and refuses what it would ignore: it takes the
// statements of a transaction and does each by itself, has no command that commits one, and
// answers whatever read and write concern it is given (its internal/handler/common/find.go,
// "ignored", of v1.24.2).
func (c *connection) knowFerretDB(ctx context.Context, transactions bool) error {
	build, err := c.build(ctx)
	if err != nil {
		return c.refused(err)
	}
	c.ferretDB = strings.TrimPrefix(build.FerretDB, "v")
	switch {
	case c.ferretDB == "":
		return nil
	case transactions:
		return fmt.Errorf("mongodb: %s is FerretDB %s, which has no transactions, and this workload needs them; name a MongoDB replica set", c.printable, c.ferretDB)
	case c.options.WriteConcern != nil:
		return ignored(c.ferretDB, "w or journal")
	case c.namedReadConcern:
		return ignored(c.ferretDB, "readConcernLevel")
	}
	c.standalone = true
	return nil
}

// ignored is the error for an option of the address that FerretDB of this version ignores.
func ignored(version, option string) error {
	return &store.OptionError{Option: "the address's option", Value: option, Reason: "FerretDB " + version + " ignores it", Want: "no such option"}
}

// withoutConcerns leaves out what FerretDB 1 ignores.
func withoutConcerns(settings []store.Setting) []store.Setting {
	return slices.DeleteFunc(settings, func(s store.Setting) bool {
		return slices.Contains([]string{"write concern", "read concern", "reads are answered by"}, s.Name)
	})
}

// ferretDBLacks are what FerretDB 1 lacks of what MongoDB has.
func ferretDBLacks() store.Lacks {
	const transactions = "FerretDB 1 has no transactions"
	return store.Lacks{
		store.Transactions: transactions, store.Language: transactions,
		store.Snapshots: "FerretDB 1 has no snapshots",
		store.Documents: "FerretDB 1 gives no part of a document that it changes",
	}
}

// errSums: the accumulators of a $group share what they read, and the first leaves nothing to the
// others (FerretDB's internal/handler/common/aggregations/stages/group.go of v1.24.2).
var errSums = errors.New("mongodb: FerretDB 1 gives 0 for every sum of a $group after its first")

// settled gives an error if an attempt had no answer: FerretDB 1 shows neither its connections nor
// what it does ($currentOp), so that such an attempt may take effect at any time.
func (d *database) settled() error {
	if n := d.unanswered.Load(); n > 0 {
		return fmt.Errorf("mongodb: settle: %d attempts had no answer, and FerretDB does not show whether it still works on them", n)
	}
	return nil
}
