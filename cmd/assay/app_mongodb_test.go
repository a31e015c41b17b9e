package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/application"
	"assay/check"
	"assay/cluster/mongodb"
	"assay/cluster/server"
	"assay/internal/expect"
)

// TestLostDocuments has an application, of which somebody else removes what was acknowledged to it:
// documents are found by their identities, of any type.
func TestLostDocuments(t *testing.T) {
	t.Parallel()
	set, err := mongodb.Start(patiently(t), mongodb.Options{Layout: server.Layout{Nodes: 1}})
	expect.NoError(t, err)
	expect.AtEnd(t, set.Close)
	address := strings.Replace(set.Address(), "/?", "/shop?", 1)
	for removes, happens := range map[string]string{"": application.Survived, "[rows[0]['_id'], rows[1]['_id']]": application.Lost} {
		dir := t.TempDir()
		e := start(t, command{dir: dir, env: []string{"ASSAY_DB=" + address, "BEHIND=" + address}, args: []string{"app", "--tries", "1", "--seed", "5", "--out", "out",
			"--reset", `/usr/bin/python3 -c 'import os, pymongo; pymongo.MongoClient(os.environ["BEHIND"]).shop.sale.delete_many({})'`, "--", "/usr/bin/python3", "-c", `
import bson, os, pymongo, sys
sale = pymongo.MongoClient(os.environ["MONGODB_URI"], retryWrites=False).shop.sale
rows = [{"_id": one} for one in (bson.ObjectId(), "7", 7, {"of": "a", "n": 2.5}, bson.Int64(8))]
failed = False
for row in rows:
    try:
        sale.insert_one(row)
    except pymongo.errors.PyMongoError:
        failed = True
if failed:
    pymongo.MongoClient(os.environ["BEHIND"]).shop.sale.delete_many({"_id": {"$in": eval(sys.argv[1] or "[]")}})
`, removes}}).wait()
		var r application.Report
		text, err := os.ReadFile(filepath.Join(dir, "out", "app.json"))
		expect.NoError(t, err, json.Unmarshal(text, &r))
		if len(r.Tries) != 2 || r.Tries[1].Happens != happens || len(r.Tries[1].Lost) < map[string]int{application.Lost: 1}[happens] {
			t.Errorf("%v: %+v", e, r.Tries)
		}
		judged := ends(t, command{dir: dir, args: []string{"check", filepath.Join("out", "run-003.edn")}}).want(t, map[string]int{application.Lost: exitViolated}[happens])
		expect.Text(t, "the history", judged.stdout, map[string]string{application.Lost: "lost", application.Survived: "5 elements"}[happens])
	}
}

// TestFaultsOfAReplicaSetReachApplications kills the primary: the application stays on assay's address,
// waits there for the next primary, and finds all that was acknowledged.
func TestFaultsOfAReplicaSetReachApplications(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := start(t, command{dir: dir, env: []string{"PYTHONDONTWRITEBYTECODE=1"}, args: []string{"app", "--cluster", "mongodb:3,election=2s", "--fault", "kill primary for 5s",
		"--reset", "/usr/bin/python3 '" + sample(t, "shop_mongodb.py") + "'", "--patience", "60s", "--out", "out", "--", "/usr/bin/python3", sample(t, "orders_mongodb.py"), "mended"}}).wait()
	var r application.Report
	text, err := os.ReadFile(filepath.Join(dir, "out", "app.json"))
	expect.NoError(t, err, json.Unmarshal(text, &r))
	if e.want(t, exitValid); len(r.Tries) != 2 || r.Tries[1].Verdict != check.Valid {
		t.Errorf("%v: %+v", e, r.Tries)
	}
}
