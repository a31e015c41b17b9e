package cluster

import (
	"errors"
	"testing"

	"assay/cluster/server"
	"assay/internal/expect"
)

// TestPrimaryWithReplicasBySpec: the servers obey the spec, and the right node takes writes.
func TestPrimaryWithReplicasBySpec(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"mariadb:2,replication=semisync,cache=32MiB", "mariadb:2,replication=async,cache=32MiB,engines=innodb+rocksdb",
	} {
		t.Run(text, func(t *testing.T) { testPrimaryWithReplicas(t, text) })
	}
}

func testPrimaryWithReplicas(t *testing.T, text string) {
	t.Helper()
	c := startCluster(t, text)
	primary, err := c.Primary(expect.Patiently(t))
	expect.NoError(t, err)
	if primary.Name() != "n1" {
		t.Errorf("%s takes writes", primary.Name())
	}
	executeSQL(t, primary, "CREATE DATABASE probe")
	executeSQL(t, primary, "CREATE TABLE probe.t (id INT PRIMARY KEY)")
	insertRow(t, primary, 1)
	wantRows(t, c, "1")
	if got := querySQL(t, c.Node("n2"), "SELECT @@global.read_only"); got != "1" {
		t.Errorf("n2 is writable: %s", got)
	}
	var fixed *server.FixedError
	if err := c.Resizable(); !errors.As(err, &fixed) {
		t.Errorf("Resizable: %v", err)
	}
}

func TestReplicationsThatNobodyCanBuild(t *testing.T) {
	for text, want := range map[string]string{
		"mysql:1,replication=async":                                       "such as mysql:3",
		"mysql:3,replication=galera":                                      "replication=group",
		"mysql:3,failover=2s":                                             "expel=DURATION",
		"mysql:3,replication=async,expel=2s":                              "in a group",
		"mysql:3,replication=semisync,failover=2s":                        "promotes no replica",
		"mariadb:3,replication=async,failover=2s":                         "replication=galera",
		"postgres:3,failover=2s":                                          "patroni:3",
		"mysql:3,expel=2500ms":                                            "whole seconds",
		"mysql:3,set.group_replication_group_seeds=a":                     "form a group",
		"mysql:3,set.rpl_semi_sync_source_enabled=ON":                     "the replicas follow",
		"mysql:3,expel=2s,set.group_replication_member_expel_timeout=5":   "both set the same",
		"mariadb:1,replication=semisync":                                  "such as mariadb:3",
		"mariadb:3,replication=group":                                     "replication=galera",
		"mariadb:3,set.server-id=5":                                       "the replicas follow",
		"mariadb:3,replication=async,set.rpl_semi_sync_master_enabled=ON": "the replicas follow",
	} {
		_, err := ParseSpec(text)
		wantRefusal(t, text, err, want)
	}
	for _, text := range []string{
		"mysql:3", "mysql:3,replication=group,expel=0s", "mysql:3,replication=semisync,set.rpl_semi_sync_source_timeout=500",
		"mariadb:3,replication=galera,failover=2s", "mariadb:3,replication=async",
		"mariadb:3,replication=semisync,set.rpl_semi_sync_master_timeout=500",
	} {
		if _, err := ParseSpec(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
