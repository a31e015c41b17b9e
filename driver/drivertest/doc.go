// Package drivertest is the conformance suite that every driver passes: what package store
// promises, tested on a real database, with cut, silent and restarted servers for those that
// have one, and a short judged run of every workload.
//
// # The test file of a new driver
//
// A driver's test says where the database is and how the driver opens it. This is
// driver/sqlite/conformance_test.go:
//
//	package sqlite_test
//
//	import (
//		"os"
//		"path/filepath"
//		"testing"
//
//		"assay/driver/drivertest"
//		"assay/driver/sqldb"
//		"assay/driver/sqlite"
//		"assay/internal/expect"
//		"assay/store"
//		"assay/workload/definition"
//		"assay/workload/script"
//	)
//
//	// TestStore runs what every driver passes.
//	func TestStore(t *testing.T) {
//		t.Parallel()
//		path := filepath.Join(t.TempDir(), "conformance.db")
//		d := drivertest.Store{
//			Open: sqlite.Open, Lacks: sqldb.Lacks(), Target: store.Target{Address: "sqlite:" + path}, Shrinks: true,
//			Others: func(workload string) []drivertest.Other { return others(path) },
//			MakeForeign: func(t *testing.T, workload string) (intact func(t *testing.T)) {
//				const content = "another program's file"
//				expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
//				t.Cleanup(func() { os.Remove(path) })
//				return func(t *testing.T) {
//					if got, err := os.ReadFile(path); err != nil || string(got) != content {
//						t.Errorf("the file holds %q, %v", got, err)
//					}
//				}
//			},
//		}
//		drivertest.RunStore(t, d)
//		for _, parameters := range []string{"?journal=delete&synchronous=off", "?journal=truncate&synchronous=normal"} {
//			t.Run(parameters, func(t *testing.T) {
//				d.Target.Address = "sqlite:" + path + parameters
//				drivertest.RunOutcomes(t, d)
//			})
//		}
//	}
//
//	// TestWorkloads does a short run of each workload.
//	func TestWorkloads(t *testing.T) {
//		supports := append(drivertest.Supports(sqlite.Open, sqldb.Lacks()), definition.SupportOf(script.Definition(), sqlite.Open, sqldb.Lacks()))
//		for _, parameters := range []string{"", "?journal=delete&synchronous=off"} {
//			t.Run(parameters, func(t *testing.T) {
//				// Characters that mean something in an address or a file: URI.
//				path := filepath.Join(t.TempDir(), "a %41#b&c é.db")
//				drivertest.ShortRuns(t, store.Target{Address: "sqlite:" + path + parameters}, supports...)
//				if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
//					t.Errorf("left behind: %v, %v", left, err)
//				}
//			})
//		}
//	}
//
// A driver whose database is a server has a TestMain that starts it, as
// driver/postgres has, and fills in these fields too:
//
//	Secret       the password, which must turn up nowhere
//	Server, Via  the server's address, and the Target by way of another one, so
//	             that the suite can put a proxy between them
//	CommitMarker what the client sends with a commit, such as "commit"
//	Restart      kills the server and starts it again
//
// # What is tested
//
// RunStore tests the contract of package store on schemas of its own: each verb and
// comparison, by a table of cases; what the end of an attempt proves when a context ends at
// any moment, when clients race, when the network breaks; statements that a user writes in
// the database's language; what only some databases have. What a database lacks is left
// out, and the log says so.
//
// It has the subtests of the life cycle: Nothing (describe, find,
// read and drop where nothing is), Create (create, load, find, read, size,
// settle), CreateAgain (another run's schema is replaced, then dropped),
// LeaseHeld, LeaseTakenOver, LeaseRace, Foreign (what carries no marker of
// assay's is refused and stays as it was) and Others (so is what others have made
// inside of what is assay's, or on it). The answers are recorded and compared with what is
// read back.
//
// RunOutcomes is the part that depends on how sessions are set: levels of isolation, engines,
// poolers. ShortRuns does a short run of each workload and has it judged; what a workload makes
// of the contract is tested once, in its own package.
//
// A database that keeps an account of its own work has it tested by RunStatistics, and one
// with transactions plays the interleavings of all anomalies (RunInterleaving). RunThroughFaults
// and Transfers are for tests of a driver's own, in which servers fail.
//
// Which errors mean which outcome is the driver's own knowledge: its tests
// provoke each of them for real, and the suite cannot.
//
// It must not know any driver: a driver's test hands it a Store.
package drivertest
