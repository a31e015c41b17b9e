package mongodb

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	cluster "assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/driver/drivertest"
	"assay/history"
	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
	"assay/workload/script"
	"assay/workload/smallbank"
	"assay/workload/tpcb"
	"assay/workload/tpcc"
)

const rightPassword = "Sesame-open-99"

// startSecured starts a set of one node with access control and makes a
// superuser "root" and a user "clerk" who may only read and write data, both
// with rightPassword.
func startSecured(t *testing.T) *cluster.ReplicaSet {
	t.Helper()
	key := filepath.Join(t.TempDir(), "members.key")
	expect.NoError(t, os.WriteFile(key, []byte("c2VjcmV0IG9mIHRoZSBtZW1iZXJz"), 0o600))
	set := startSet(t, 1, "--auth", "--keyFile", key)
	ctx := expect.Patiently(t)
	// Without users, whoever is on the machine may make the first.
	create := func(client *mongo.Client, user string, roles bson.A) {
		t.Helper()
		if err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "createUser", Value: user},
			{Key: "pwd", Value: rightPassword}, {Key: "roles", Value: roles}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	create(plainClient(t, set.Address()), "root", bson.A{"root"})
	create(plainClient(t, withUser(set, "root", rightPassword)), "clerk", bson.A{"readWriteAnyDatabase"})
	return set
}

func withUser(set *cluster.ReplicaSet, user, password string) string {
	return strings.Replace(set.Address(), "mongodb://", "mongodb://"+user+":"+password+"@", 1)
}

func TestAccessControl(t *testing.T) {
	t.Parallel()
	set := startSecured(t)
	t.Run("Refused", func(t *testing.T) { testRefused(t, set) })
	t.Run("FewRights", func(t *testing.T) { testFewRights(t, set) })
	t.Run("NoRights", func(t *testing.T) { testNoRights(t, set) })
	t.Run("Statistics", func(t *testing.T) { testStatisticsRefused(t, withUser(set, "clerk", rightPassword)) })
}

func testRefused(t *testing.T, set *cluster.ReplicaSet) {
	const wrong = "Wrong-and-secret-1"
	for _, user := range []string{"root", "nobody"} {
		_, err := Open(t.Context(), store.Target{Address: withUser(set, user, wrong), ConnectTimeout: 20 * time.Second}, bank.Schema())
		var refused *store.AuthError
		if !errors.As(err, &refused) || refused.User != user || refused.Reason == "" {
			t.Errorf("wrong password for %s: %v", user, err)
		}
		if err == nil || strings.Contains(err.Error(), wrong) {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// testFewRights has a user who may not ask for configuration, status or
// checkpoints.
func testFewRights(t *testing.T, set *cluster.ReplicaSet) {
	ctx := expect.Patiently(t)
	db := closing(t, mustOpen(t, withUser(set, "clerk", rightPassword)))
	if err := errors.Join(db.Create(ctx, store.Marker{Run: "one", Workload: "bank"}),
		db.LoadAccounts(ctx, []bank.Account{{ID: 1, Balance: 10}, {ID: 2, Balance: 10}}), db.FinishLoad(ctx)); err != nil {
		t.Fatal(err)
	}
	r := mustSession(t, db).Transfer(ctx, bank.Transfer{ID: 1, Source: 1, Destination: 2, Amount: 1})
	if r.Outcome != history.Committed {
		t.Errorf("%+v", r)
	}
	size, err := db.Size(ctx)
	if err != nil || size.Rows["account"] != 2 || size.Rows["transfer"] != 1 {
		t.Errorf("Size: %+v, %v", size, err)
	}
	product, err := db.Describe(ctx)
	if err != nil || product.Topology.Nodes != 1 || drivertest.Value(product.Settings, "write concern") != "majority" {
		t.Errorf("Describe: %+v, %v", product, err)
	}
	if text, _ := json.Marshal(product); strings.Contains(string(text), rightPassword) {
		t.Error("Describe tells the password")
	}
	// Open transactions of one's own are shown without any right.
	open := hold(t, withUser(set, "clerk", rightPassword), appNamePrefix("bank")+"other")
	short, cancel := context.WithTimeout(t.Context(), time.Second) // the server ends it after 2 s
	defer cancel()
	if err := db.Settle(short); !errors.As(err, new(*openError)) {
		t.Errorf("Settle while a transaction is open: %v", err)
	}
	expect.NoError(t, open.AbortTransaction(ctx), db.Settle(ctx), db.Drop(ctx))
}

// testNoRights names no user at all, which the server accepts until the first
// command.
func testNoRights(t *testing.T, set *cluster.ReplicaSet) {
	db := closing(t, mustOpen(t, set.Address()))
	if err := db.Create(expect.Patiently(t), store.Marker{}); err == nil || classOf(err) != classUnauthorized {
		t.Errorf("Create without a user: %v", err)
	}
}

// startStandalone starts a server that is no replica set, and returns its address.
func startStandalone(t *testing.T) string {
	t.Helper()
	program, err := server.Program{Name: "mongod", Get: "scripts/install-servers.sh mongodb"}.Find("")
	expect.NoError(t, err)
	port, err := new(server.Ports).Next()
	expect.NoError(t, err)
	dir := t.TempDir()
	process, err := server.StartProcess(server.ProcessOptions{Name: "standalone", Program: program, Dir: dir,
		Log: filepath.Join(dir, "log"), Args: []string{"--port", strconv.Itoa(port), "--bind_ip", "127.0.0.1",
			"--nounixsocket", "--dbpath", dir, "--wiredTigerCacheSizeGB", "0.25"}})
	expect.NoError(t, err)
	expect.AtEnd(t, process.Kill)
	return "mongodb://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// supports are all workloads but script, which needs more than a short run can give.
func supports() []definition.Support {
	return drivertest.Supports(Open, Lacks())
}

// TestStandalone: what needs no transactions runs on a server that is no replica set, and
// the rest is refused with what to do.
func TestStandalone(t *testing.T) {
	t.Parallel()
	address := startStandalone(t)
	to := store.Target{Address: address, ConnectTimeout: 20 * time.Second}
	for _, by := range append(supports(), definition.SupportOf(script.Definition(), Open, Lacks())) {
		db, err := by.Open(t.Context(), to)
		switch by.Workload {
		case bank.Name, isolation.Name, smallbank.Name, tpcb.Name, tpcc.Name, script.Name:
			if err == nil || !strings.Contains(err.Error(), "--replSet") || !strings.Contains(err.Error(), "this workload needs them") {
				t.Errorf("%s on a standalone server: %v", by.Workload, err)
			}
		default:
			expect.NoError(t, err)
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			drivertest.ShortRuns(t, to, by)
		}
	}
	refusedSharding(t, address+"/?", "standalone")
	testStandaloneConcerns(t, address)
	db, err := Open(t.Context(), to, entity.Schema())
	expect.NoError(t, err)
	defer db.Close()
	product, err := db.Describe(t.Context())
	if err != nil || !slices.Contains(product.Settings, store.Setting{Name: "deployment", Value: "standalone server"}) || product.Topology.Nodes != 1 {
		t.Errorf("%+v, %v", product, err)
	}
}

// testStandaloneConcerns: of the read and write concerns that the server itself refuses none gets
// as far as loading, and with the others runs are valid.
func testStandaloneConcerns(t *testing.T, address string) {
	collection := func(query string) *mongo.Collection {
		return plainClient(t, address+"/?"+query).Database("concerns").Collection("c")
	}
	for query, served := range map[string]bool{
		"w=1": true, "w=majority": true, "w=majority&journal=false": true, "w=2": false,
		"readConcernLevel=local": true, "readConcernLevel=available": true, "readConcernLevel=majority": true,
		"readConcernLevel=linearizable": false, "readConcernLevel=snapshot": false,
	} {
		c := collection(query)
		_, written := c.InsertOne(t.Context(), bson.D{})
		if err := errors.Join(written, c.FindOne(t.Context(), bson.D{}).Err()); (err == nil) != served {
			t.Errorf("%s: the server says %v", query, err)
		}
		to := store.Target{Address: address + "/?" + query, ConnectTimeout: 20 * time.Second}
		if served {
			drivertest.ShortRuns(t, to, definition.SupportOf(availability.Definition(), Open, Lacks()))
			continue
		}
		var refused *store.OptionError
		if _, err := Open(t.Context(), to, entity.Schema()); !errors.As(err, &refused) || !strings.Contains(err.Error(), "standalone") {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestDefaultConcernsConvictNobody: what the cluster's configuration gives operations that
// name no concern is not what assay's own have.
func TestDefaultConcernsConvictNobody(t *testing.T) {
	t.Parallel()
	set := startSet(t, 1)
	err := plainClient(t, set.Address()).Database("admin").RunCommand(t.Context(), bson.D{{Key: "setDefaultRWConcern", Value: 1},
		{Key: "defaultWriteConcern", Value: bson.D{{Key: "w", Value: 1}, {Key: "j", Value: false}}},
		{Key: "defaultReadConcern", Value: bson.D{{Key: "level", Value: "available"}}}}).Err()
	expect.NoError(t, err)
	drivertest.ShortRuns(t, store.Target{Address: set.Address(), ConnectTimeout: 20 * time.Second}, supports()...)
}
