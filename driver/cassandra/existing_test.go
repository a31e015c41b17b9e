package cassandra

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

func testExisting(t *testing.T, address string) {
	admin(t, address, `CREATE KEYSPACE theirs WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}`,
		`CREATE TABLE theirs.usertable (y_id varchar PRIMARY KEY, field0 varchar, field1 varchar)`,
		`CREATE TABLE theirs.crooked (y_id varchar PRIMARY KEY, field0 int)`,
		`CREATE TABLE theirs."order" (y_id varchar PRIMARY KEY, field0 varchar, field1 varchar)`,
		`CREATE TABLE theirs.passing (y_id varchar PRIMARY KEY, field0 varchar, field1 varchar) WITH default_time_to_live = 60`,
		`INSERT INTO theirs."order" (y_id, field0, field1) VALUES ('user1', 'one', 'two')`,
		`INSERT INTO theirs.usertable (y_id, field0, field1) VALUES ('user1', 'one', 'two')`)
	t.Cleanup(func() { admin(t, address, `DROP KEYSPACE theirs`) })
	to := store.Target{Address: strings.TrimRight(address, "/") + "/theirs", ConnectTimeout: time.Minute}
	drivertest.RunExisting(t, drivertest.Existing{Open: Open, Target: to, Key: "y_id", Altered: map[string]string{"passing": "default_time_to_live"}, Others: func(t *testing.T) (all string) {
		s, err := parse(to)
		expect.NoError(t, err)
		c, err := connect(t.Context(), s)
		expect.NoError(t, err)
		defer c.Close()
		for _, query := range []string{`SELECT keyspace_name, replication FROM system_schema.keyspaces`,
			`SELECT * FROM system_schema.tables WHERE keyspace_name = 'theirs'`, `SELECT * FROM system_schema.columns WHERE keyspace_name = 'theirs'`} {
			rows, err := c.session.Query(query).IterContext(t.Context()).SliceMap()
			expect.NoError(t, err)
			all += fmt.Sprintln(rows)
		}
		return all
	}})
}
