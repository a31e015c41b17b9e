package mongodb

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// buildReply is what the server says of its program (MongoDB manual, "buildInfo").
type buildReply struct {
	Version string   `bson:"version"`
	Modules []string `bson:"modules"`
	// FerretDB is there in releases of FerretDB, whose Version is that of the MongoDB that it
	// stands for.
	FerretDB string `bson:"ferretdbVersion"`
}

func (c *connection) build(ctx context.Context) (reply buildReply, err error) {
	err = c.admin.RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&reply)
	return reply, err
}

// refuseFerretDB returns an error if the server is FerretDB. It does not keep what MongoDB promises: release 1
// takes the statements of a transaction and does each by itself, and ignores concerns.
func (c *connection) refuseFerretDB(ctx context.Context) error {
	build, err := c.build(ctx)
	if err != nil {
		return c.refused(err)
	}
	if build.FerretDB != "" {
		return fmt.Errorf("mongodb: %s is FerretDB %s, which assay does not test; name a MongoDB server", c.printable, build.FerretDB)
	}
	return nil
}
