// Package drivertest is the conformance suite for every driver. It tests the promises of
// package store on a real database, with cut, silent and restarted servers, and judges a short
// run of every workload.
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
//	func TestWorkloads(t *testing.T) {
//		supports := append(drivertest.Supports(sqlite.Open, sqldb.Lacks()), definition.SupportOf(script.Definition(), sqlite.Open, sqldb.Lacks()))
//		for _, parameters := range []string{"", "?journal=delete&synchronous=off"} {
//			t.Run(parameters, func(t *testing.T) {
//				// Characters with a meaning in an address or a file: URI.
//				path := filepath.Join(t.TempDir(), "a %41#b&c é.db")
//				drivertest.ShortRuns(t, store.Target{Address: "sqlite:" + path + parameters}, supports...)
//				if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
//					t.Errorf("left behind: %v, %v", left, err)
//				}
//			})
//		}
//	}
//
// If the database is a server, a TestMain starts it (see driver/postgres). The test also sets:
//
//	Secret       the password, which must appear nowhere
//	Server, Via  the server's address, and the Target behind a proxy's address
//	CommitMarker the bytes that the client sends with a commit, such as "commit"
//	Restart      kills the server and starts it again
//
// # What is tested
//
// RunStore tests the contract of package store on schemas of its own: the life cycle and the
// lease, each verb and comparison, and the outcomes of attempts. Contexts end at any moment,
// clients race, and the network breaks. It also tests statements in the database's language and
// optional parts. The answers are recorded and compared with the rows that are read back. Tests
// that need a missing capability are left out, and the log says so.
//
// RunOutcomes is the part that depends on the settings of sessions: isolation levels, engines,
// poolers. ShortRuns judges a short run of each workload.
//
// RunStatistics tests the server's account of its own work. RunInterleaving plays the
// interleavings of all anomalies. RunThroughFaults and Transfers serve a driver's own tests in
// which servers fail.
//
// The suite cannot know which errors prove which outcome. The driver's own tests must provoke
// each error for real.
//
// It must not know any driver: a driver's test hands it a Store.
package drivertest
