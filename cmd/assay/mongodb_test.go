package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/cluster/mongodb"
	"assay/internal/expect"
)

// TestMongoDB uses one replica set of three for all that comes, the death of
// its primary last.
func TestMongoDB(t *testing.T) {
	t.Parallel()
	set, err := mongodb.Start(patiently(t), mongodb.Options{
		ElectionTimeout: 2 * time.Second, Heartbeat: 500 * time.Millisecond,
		// What a killed assay leaves in flight is not waited for as long.
		Args: []string{"--setParameter", "transactionLifetimeLimitSeconds=5"},
	})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	client, err := mongo.Connect(options.Client().ApplyURI(set.Address()))
	expect.NoError(t, err)
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) }) // half of the set is gone
	database := client.Database("assay_bank")
	t.Run("foreign-database", func(t *testing.T) { testForeignDatabase(t, set, database) })
	t.Run("killed", func(t *testing.T) {
		dir := t.TempDir()
		at := killed(t, dir, set.Address())
		judgeKilled(t, dir, set.Address(), at, func() map[int64]bool { return inMongoDB(t, database) })
	})
	t.Run("two-runs", func(t *testing.T) { testTwoRuns(t, set.Address()) })
	t.Run("interrupted-loading", func(t *testing.T) {
		dir := t.TempDir()
		interruptLoading(t, dir, set.Address())
		afterInterruptedLoading(t, dir, set.Address())
	})
	t.Run("primary-killed", func(t *testing.T) { testPrimaryKilled(t, set) })
}

func testForeignDatabase(t *testing.T, set *mongodb.ReplicaSet, database *mongo.Database) {
	letters := database.Collection("letters")
	if _, err := letters.InsertOne(patiently(t), bson.D{{Key: "_id", Value: "precious"}}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	e := assay(t, dir, "run", "bank", "--db", set.Address(), "--drop", "--out", "run").want(t, exitCannotRun)
	said := e.complaint(t)
	expect.Text(t, "the complaint", said, "assay_bank", "not made by assay", "untouched")
	names, err := database.ListCollectionNames(patiently(t), bson.D{})
	if err != nil || len(names) != 1 || names[0] != "letters" {
		t.Errorf("there are now the collections %v: %v", names, err)
	}
	if n, err := letters.CountDocuments(patiently(t), bson.D{}); err != nil || n != 1 {
		t.Errorf("there are now %d letters: %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "run")); err == nil {
		t.Error("a folder was left")
	}
	expect.NoError(t, database.Drop(patiently(t)))
}

// inMongoDB asks the database itself for the ids of its transfers.
func inMongoDB(t *testing.T, database *mongo.Database) map[int64]bool {
	t.Helper()
	cursor, err := database.Collection("transfer").Find(patiently(t), bson.D{}, options.Find().SetProjection(bson.D{{Key: "_id", Value: 1}}))
	expect.NoError(t, err)
	var rows []struct {
		ID int64 `bson:"_id"`
	}
	expect.NoError(t, cursor.All(patiently(t), &rows))
	ids := map[int64]bool{}
	for _, row := range rows {
		ids[row.ID] = true
	}
	return ids
}

func testPrimaryKilled(t *testing.T, set *mongodb.ReplicaSet) {
	dir := t.TempDir()
	p := start(t, command{dir: dir, args: []string{"run", "bank", "--db", set.Address(), "--clients", "8", "--accounts", "1000",
		"--warmup", "500ms", "--duration", "5m", "--timeout", "5s", "--out", "run"}})
	p.until(working)
	primary, err := set.Primary(patiently(t))
	expect.NoError(t, err)
	expect.NoError(t, set.Node(primary).Kill())
	dead := time.Now()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(choiceOfSource(t, set, dead))
		}
	})
	// A member that found no source to copy from does not ask the same one again for up to
	// a minute ("Denylisting candidate due to error"), and no majority acknowledges until then.
	p.committing(7)
	p.signal(syscall.SIGINT)
	survived(t, p.wait().want(t, exitValid, exitNoVerdict), filepath.Join(dir, "run"), 8, dead)
}

// choiceOfSource is what the members that are left logged since then about elections and
// about whom they copy from.
func choiceOfSource(t *testing.T, set *mongodb.ReplicaSet, since time.Time) string {
	var told strings.Builder
	for _, node := range set.Nodes() {
		if !node.Running() {
			continue
		}
		content, err := os.ReadFile(node.Log)
		expect.NoError(t, err)
		fmt.Fprintf(&told, "%s:\n", node.Address())
		for line := range strings.Lines(string(content)) {
			var entry struct {
				T struct {
					Date time.Time `json:"$date"`
				} `json:"t"`
				C    string          `json:"c"`
				Msg  string          `json:"msg"`
				Attr json.RawMessage `json:"attr"`
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.T.Date.After(since) && (entry.C == "REPL" || entry.C == "ELECTION" || entry.C == "ROLLBACK") {
				fmt.Fprintf(&told, "  %s %s %.300s\n", entry.T.Date.Format("15:04:05.000"), entry.Msg, entry.Attr)
			}
		}
	}
	return told.String()
}

// TestClusterOfItsOwn is the README's: servers for one run, gone afterwards.
func TestClusterOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"postgres:1", "mongodb:1"} {
		dir := t.TempDir()
		e := assay(t, dir, "run", "bank", "--cluster", spec, "--accounts", "100", "--duration", "1s", "--out", "run").sound(t, filepath.Join(dir, "run"))
		narrow(t, e.stdout)
		assay(t, dir, "check", "run", "--quiet").want(t, e.code)
		if scenario := readFile(t, dir, "run", "scenario.yaml"); !strings.Contains(scenario, "cluster: "+spec) || strings.Contains(scenario, "database:") {
			t.Errorf("the scenario is\n%s", scenario)
		}
	}
}

// TestClusterEndsWithItsRun, however that ends.
func TestClusterEndsWithItsRun(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		p := start(t, command{messy: s == syscall.SIGKILL,
			args: []string{"run", "bank", "--cluster", "postgres:1", "--duration", "1h", "--accounts", "100", "--out", "run"}})
		p.until(working)
		if len(startedBy(p.temp)) < 2 {
			t.Errorf("the server is not seen: %v", startedBy(p.temp))
		}
		p.signal(s)
		if e := p.wait(); s == syscall.SIGINT {
			e.want(t, exitNoVerdict)
		}
		deadline := time.Now().Add(patience)
		for len(startedBy(p.temp)) > 0 && time.Now().Before(deadline) {
			time.Sleep(20 * time.Millisecond)
		}
		if left := startedBy(p.temp); len(left) > 0 {
			t.Errorf("%v: processes were left behind: %v", s, left)
		}
	}
}
