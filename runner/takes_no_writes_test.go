package runner

import (
	"database/sql"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/check"
	"assay/internal/expect"
	"assay/runner/lease"
)

// TestADatabaseThatTakesNoWritesIsRead: a full or read-only server is read back, although its lease
// cannot be renewed, and by a later check.
func TestADatabaseThatTakesNoWritesIsRead(t *testing.T) {
	t.Parallel()
	for spec, shut := range map[string]func(t *testing.T, address string){
		"redis:1":                                shutRedis,
		"postgres:1":                             shutPostgres,
		"mariadb:1":                              shutMariaDB,
		"mongodb:1":                              shutMongoDB,
		"etcd:1,set.quota-backend-bytes=1200000": shutEtcd,
	} {
		t.Run(spec, func(t *testing.T) {
			c := onServers(t, spec)
			s := small(c.Address(), 1, 0)
			s.Load.Clients, s.Load.Duration, s.Load.Timeout = 2, 3*time.Second, 2*time.Second
			out := carryOutBy(t, s, Options{Progress: &intruder{act: func() { shut(t, c.Address()) }}})
			mustBeReadWithoutWriting(t, out)
			if spec != "redis:1" {
				return
			}
			// The lease could not be released; without it the reading is the same.
			configureRedis(t, c.Address(), "min-replicas-to-write", "0")
			expect.NoError(t, forgetLease(t.Context(), s, c.Address()))
			shutRedis(t, c.Address())
			expect.NoError(t, os.RemoveAll(out.Folder+"/state.bin"))
			again, err := Recheck(t.Context(), out.Folder, RecheckOptions{Version: "test", Database: c.Address(), Progress: &diary{}})
			expect.NoError(t, err)
			mustBeReadWithoutWriting(t, again)
		})
	}
}

// TestAFullRedisIsRead: it takes the lease even without memory, because a script that deleted
// something may write.
func TestAFullRedisIsRead(t *testing.T) {
	t.Parallel()
	c := onServers(t, "redis:1")
	s := small(c.Address(), 1, 0)
	s.Load.Clients, s.Load.Duration, s.Load.Timeout = 2, 3*time.Second, 2*time.Second
	r := carryOutBy(t, s, Options{Progress: &intruder{act: func() { configureRedis(t, c.Address(), "maxmemory", "1kb") }}}).Result
	if r.Verdict != check.Valid || r.Outcomes.Committed == 0 || r.Outcomes.Failed == 0 {
		t.Errorf("%v: %s; %+v", r.Verdict, details(r), r.Outcomes)
	}
}

func mustBeReadWithoutWriting(t *testing.T, out Outcome) {
	t.Helper()
	r := out.Result
	if r.Verdict != check.Valid || r.Outcomes.Committed == 0 || !strings.Contains(strings.Join(r.Notes, "\n"), lease.NoteTakesNoWrites) {
		t.Errorf("%v: %s; %d committed, notes %q", r.Verdict, details(r), r.Outcomes.Committed, r.Notes)
	}
}

// shutRedis makes it refuse writes for want of a replica.
func shutRedis(t *testing.T, address string) {
	configureRedis(t, address, "min-replicas-to-write", "1")
}

func configureRedis(t *testing.T, address, name, value string) {
	o, err := goredis.ParseURL(address)
	expect.NoError(t, err)
	client := goredis.NewClient(o)
	defer client.Close()
	expect.NoError(t, client.ConfigSet(t.Context(), name, value).Err())
}

// shutEtcd fills it to its quota through its JSON gateway.
func shutEtcd(t *testing.T, address string) {
	t.Helper()
	at, err := url.Parse(address)
	expect.NoError(t, err)
	value := base64.StdEncoding.EncodeToString(make([]byte, 200_000))
	answer := ""
	for range 20 {
		put := strings.NewReader(`{"key": "ZmlsbGVy", "value": "` + value + `"}`)
		r, err := http.Post("http://"+at.Host+"/v3/kv/put", "application/json", put)
		expect.NoError(t, err)
		text, err := io.ReadAll(r.Body)
		expect.NoError(t, errors.Join(err, r.Body.Close()))
		if answer = string(text); r.StatusCode != http.StatusOK {
			break
		}
	}
	if !strings.Contains(answer, "space exceeded") {
		t.Errorf("it is not full: %s", answer)
	}
}

// shutPostgres does what managed services do when the disk is full.
func shutPostgres(t *testing.T, address string) {
	conn, err := pgx.Connect(t.Context(), address)
	expect.NoError(t, err)
	defer conn.Close(t.Context())
	for _, statement := range []string{"ALTER SYSTEM SET default_transaction_read_only = on", "SELECT pg_reload_conf()"} {
		_, err := conn.Exec(t.Context(), statement)
		expect.NoError(t, err)
	}
}

func shutMariaDB(t *testing.T, address string) {
	user, host, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(address, "mysql://"), "/"), "@")
	db, err := sql.Open("mysql", user+"@tcp("+host+")/")
	expect.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "SET GLOBAL read_only = 1")
	expect.NoError(t, err)
}

func shutMongoDB(t *testing.T, address string) {
	client, err := mongo.Connect(options.Client().ApplyURI(address))
	expect.NoError(t, err)
	defer func() { expect.NoError(t, client.Disconnect(t.Context())) }()
	block := bson.D{{Key: "setUserWriteBlockMode", Value: 1}, {Key: "global", Value: true}}
	expect.NoError(t, client.Database("admin").RunCommand(t.Context(), block).Err())
}
