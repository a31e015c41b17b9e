package mongodb

import (
	"context"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	cluster "assay/cluster/mongodb"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
)

// TestInheritedFrom reads the server's answers: as of MongoDB 6.0 with three data nodes, of one
// with an arbiter, and of one on which somebody has set the defaults.
func TestInheritedFrom(t *testing.T) {
	yes := true
	local := bson.E{Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: "local"}}}
	write := func(concern bson.D) bson.E { return bson.E{Key: "defaultWriteConcern", Value: concern} }
	for name, test := range map[string]struct {
		answer bson.D
		want   inherited
	}{
		"implicit":                    {bson.D{local, write(bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: 0}})}, inherited{"majority", "local", nil}},
		"implicit, with an arbiter":   {bson.D{local}, inherited{"1", "local", nil}},
		"set to one":                  {bson.D{local, write(bson.D{{Key: "w", Value: int32(1)}})}, inherited{"1", "local", nil}},
		"set to two, and the journal": {bson.D{local, write(bson.D{{Key: "w", Value: 2.0}, {Key: "j", Value: true}})}, inherited{"2", "local", &yes}},
		"set to read by a majority":   {bson.D{{Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: "majority"}}}}, inherited{"1", "majority", nil}},
	} {
		raw, err := bson.Marshal(test.answer)
		expect.NoError(t, err)
		if got := inheritedFrom(raw); got.write != test.want.write || got.read != test.want.read || (got.journal == nil) != (test.want.journal == nil) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// inForce are the write concern and the read concern that a database without transactions tells.
func inForce(t *testing.T, address string) string {
	t.Helper()
	db, err := Open(expect.Patiently(t), store.Target{Address: address}, availability.Schema())
	expect.NoError(t, err)
	expect.AtEnd(t, db.Close)
	product, err := db.Describe(expect.Patiently(t))
	expect.NoError(t, err)
	of := func(name string) string {
		i := slices.IndexFunc(product.Settings, func(s store.Setting) bool { return s.Name == name })
		if i < 0 {
			return ""
		}
		return product.Settings[i].Value
	}
	return of("write concern") + ", " + of("read concern") + ", " + of("journal asked for")
}

// testInherited asks a set for its defaults, and sets others.
func testInherited(t *testing.T, set *cluster.ReplicaSet) {
	if got, want := inForce(t, set.Address()), "majority, local, "; got != want {
		t.Errorf("nobody has set anything: %q, want %q", got, want)
	}
	if got, want := inForce(t, set.Address()+"&journal=true"), "majority, local, true"; got != want {
		t.Errorf("the address names the journal alone: %q, want %q", got, want)
	}
	if got, want := inForce(t, set.Address()+"&w=1&readConcernLevel=linearizable"), "1, linearizable, "; got != want {
		t.Errorf("the address names both: %q, want %q", got, want)
	}
	admin := plainClient(t, set.Address()).Database("admin")
	change := func(ctx context.Context, w any, level string) {
		expect.NoError(t, admin.RunCommand(ctx, bson.D{{Key: "setDefaultRWConcern", Value: 1},
			{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: w}}}, {Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: level}}}}).Err())
	}
	change(t.Context(), 1, "majority")
	t.Cleanup(func() { change(context.Background(), "majority", "local") })
	if got, want := inForce(t, set.Address()), "1, majority, "; got != want {
		t.Errorf("w: 1 and read concern majority are set: %q, want %q", got, want)
	}
}
