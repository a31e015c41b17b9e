package cluster

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.mongodb.org/mongo-driver/v2/bson"

	"assay/internal/expect"
)

func TestParametersOfServers(t *testing.T) {
	const text = `postgres:2,cpu=0.5,set.max_connections=500,set.DateStyle='ISO, DMY',set.search_path='"a", it''s',set.application_name=a b=c,set.cluster_name=''`
	s, err := ParseSpec(text)
	expect.NoError(t, err)
	want := []Parameter{{"max_connections", "500"}, {"DateStyle", "ISO, DMY"}, {"search_path", `"a", it's`}, {"application_name", "a b=c"}, {"cluster_name", ""}}
	if !slices.Equal(s.Parameters, want) {
		t.Errorf("%q", s.Parameters)
	}
	if s.String() != text {
		t.Errorf("%s is written %s", text, s)
	}
}

func TestParametersThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"postgres:1,set.port=1":                                       "by them it reaches the server",
		"postgres:1,set.Unix-Socket-Directories=/tmp":                 "by them it reaches the server",
		"postgres:2,set.recovery_target_time=now":                     "the standbys follow",
		"postgres:2,standby=sync,set.synchronous_standby_names=n2":    "both set the same",
		"postgres:1,fsync=on,set.FSYNC=off":                           "both set the same",
		"postgres:1,set.work_mem=1MB,set.work-mem=2MB":                "once",
		"postgres:1,set.=1":                                           "such as set.max_connections",
		"postgres:1,set.a b=1":                                        "such as set.max_connections",
		"postgres:1,set.work_mem":                                     "has no value",
		"postgres:1,set.work_mem='1":                                  "single quotes",
		"postgres:1,set.work_mem='1'MB":                               "single quotes",
		"postgres:1,set.work_mem=1\nport=2":                           "one line",
		"postgres:1,max_connections=5":                                "set.NAME",
		"mariadb:1,set.datadir=/tmp":                                  "folder of its own",
		"mariadb:1,set.skip-grant-tables=1":                           "makes its user",
		"mariadb:3,set.wsrep_cluster_address=gcomm://":                "Galera",
		"mariadb:1,cache=8MiB,set.innodb_buffer_pool_size=8M":         "both set the same",
		"mongodb:1,set.net.port=1":                                    "by them it reaches the server",
		"mongodb:1,set.storage.dbPath=/tmp":                           "folder of its own",
		"mongodb:1,set.storage.wiredTiger.engineConfig.cacheSizeGB=1": "cache=SIZE",
		"mongodb:1,set.setParameter.x=1":                              "without setParameter",
		"cassandra:1,set.cluster_name=x":                              "makes the ring",
		"cassandra:1,set.listen_interface=lo":                         "by them it reaches the server",
		"etcd:3,set.initial-cluster=x":                                "makes the cluster",
		"etcd:1,set.data-dir=/tmp":                                    "folder of its own",
		"etcd:1,set.max-txn-ops=1000":                                 "limits of a request",
		"sqlite:1,set.cache_size=1":                                   "no parameters",
	} {
		_, err := ParseSpec(text)
		wantRefusal(t, text, err, want)
	}
	if _, err := ParseSpec("postgres:1,set.synchronous_commit=off"); err != nil {
		t.Errorf("a single server without standbys: %v", err)
	}
}

// TestParametersReachTheServers asks each server for the parameters of its spec.
func TestParametersReachTheServers(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		c := startCluster(t, "postgres:2,memory=400MiB,set.max_connections=77,set.shared_buffers=24MB,set.DateStyle='SQL, DMY'")
		for _, n := range c.Nodes() {
			config, err := pgx.ParseConfig(c.Address())
			expect.NoError(t, err)
			config.Host, config.Port, config.Fallbacks, config.ValidateConnect = n.machine.Address().String(), uint16(n.Port()), nil, nil
			conn, err := pgx.ConnectConfig(expect.Patiently(t), config)
			expect.NoError(t, err)
			for name, want := range map[string]string{"max_connections": "77", "shared_buffers": "24MB", "DateStyle": "SQL, DMY"} {
				var got string
				if err := conn.QueryRow(expect.Patiently(t), "SHOW "+name).Scan(&got); err != nil || got != want {
					t.Errorf("%s: %s is %s, %v; want %s", n.Name(), name, got, err, want)
				}
			}
			expect.NoError(t, conn.Close(expect.Patiently(t)))
		}
	})
	t.Run("MariaDB", func(t *testing.T) {
		c := startCluster(t, "mariadb:1,set.innodb_flush_log_at_trx_commit=2,set.max-connections=77,set.sql_mode='ANSI_QUOTES,STRICT_ALL_TABLES'")
		want := "2 77 ANSI_QUOTES,STRICT_ALL_TABLES"
		if got := querySQL(t, c.Node("n1"), "SELECT concat_ws(' ', @@innodb_flush_log_at_trx_commit, @@max_connections, @@global.sql_mode)"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
	t.Run("MongoDB", func(t *testing.T) {
		c := startCluster(t, "mongodb:1,shutdown=100ms,set.wiredTigerConcurrentWriteTransactions=17,set.storage.wiredTiger.collectionConfig.blockCompressor=zstd")
		admin := documents(t, c.Address()).Database().Client().Database("admin")
		var parameter struct {
			Tickets int `bson:"wiredTigerConcurrentWriteTransactions"`
		}
		err := admin.RunCommand(expect.Patiently(t), bson.D{{Key: "getParameter", Value: 1}, {Key: "wiredTigerConcurrentWriteTransactions", Value: 1}}).Decode(&parameter)
		if err != nil || parameter.Tickets != 17 {
			t.Errorf("%d tickets, %v", parameter.Tickets, err)
		}
		var options struct {
			Parsed bson.Raw `bson:"parsed"`
		}
		err = admin.RunCommand(expect.Patiently(t), bson.D{{Key: "getCmdLineOpts", Value: 1}}).Decode(&options)
		if value, is := options.Parsed.Lookup("storage", "wiredTiger", "collectionConfig", "blockCompressor").StringValueOK(); err != nil || value != "zstd" {
			t.Errorf("compressor %s, %v, %v", value, is, err)
		}
	})
}

// TestParametersThatServersRefuse: the start fails at once, in the server's own words.
func TestParametersThatServersRefuse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"postgres:1,set.max_connectoins=5":                      `unrecognized configuration parameter "max_connectoins"`,
		"postgres:2,set.work_mem=lots":                          `invalid value for parameter "work_mem": "lots"`,
		"mariadb:1,set.innodb_nonsense=1":                       "unknown variable 'innodb_nonsense=1'",
		"mariadb:1,set.innodb_flush_log_at_trx_commit=7":        "unsigned value 7 adjusted to 3",
		"mariadb:1,set.innodb_file_per_table=perhaps":           "due to invalid value 'perhaps'",
		"mariadb:1,set.performance_schema=perhaps":              "boolean value 'perhaps' wasn't recognized",
		"mongodb:1,set.nonsense=1":                              "Unknown --setParameter 'nonsense'",
		"mongodb:1,set.transactionLifetimeLimitSeconds=forever": `Bad value for parameter "transactionLifetimeLimitSeconds"`,
		"mongodb:1,set.storage.nonsense=1":                      "Unrecognized option: storage.nonsense",
	} {
		t.Run(text, func(t *testing.T) {
			spec, err := ParseSpec(text)
			expect.NoError(t, err)
			began := time.Now()
			c, err := Start(expect.Patiently(t), spec, Options{})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, %v after %v; want it to speak of %s", c, err, time.Since(began), want)
			}
		})
	}
}
