package postgres

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/cluster/postgres"
	"assay/driver/drivertest"
	"assay/internal/expect"
)

// encoded are messages of either side as they are sent.
func encoded[Message pgproto3.Message](t *testing.T, messages ...Message) (out []byte) {
	t.Helper()
	for _, m := range messages {
		var err error
		out, err = m.Encode(out)
		expect.NoError(t, err)
	}
	return out
}

// sent is what a client sends: a text, a prepared statement twice, and data of COPY.
func sent(t *testing.T) []byte {
	t.Helper()
	return encoded[pgproto3.FrontendMessage](t,
		&pgproto3.Query{String: "BEGIN"},
		&pgproto3.Parse{Name: "s", Query: "INSERT INTO t VALUES ($1, $2)", ParameterOIDs: []uint32{typeInt4}}, &pgproto3.Sync{},
		&pgproto3.Bind{PreparedStatement: "s", ParameterFormatCodes: []int16{1, 0}, Parameters: [][]byte{{0, 0, 0, 7}, []byte("seven")}}, &pgproto3.Execute{},
		&pgproto3.Bind{PreparedStatement: "s", Parameters: [][]byte{nil, []byte("none")}}, &pgproto3.Execute{}, &pgproto3.Sync{},
		&pgproto3.Query{String: "COPY t FROM STDIN"}, &pgproto3.CopyData{Data: bytes.Repeat([]byte("x"), 3*1024)}, &pgproto3.CopyDone{},
		&pgproto3.Query{String: "COMMIT"}, &pgproto3.Terminate{},
	)
}

// TestRequestsInPieces reads the same requests however the bytes come, and passes all of them.
func TestRequestsInPieces(t *testing.T) {
	whole := sent(t)
	want := []string{"BEGIN[]", "prepare: INSERT INTO t VALUES ($1, $2)[]", "INSERT INTO t VALUES ($1, $2)[7 seven] INSERT INTO t VALUES ($1, $2)[NULL none]", "COPY t FROM STDIN[]", "COMMIT[]"}
	for _, piece := range []int{1, 2, 7, 100, len(whole)} {
		for _, room := range []int{512, 64 << 10} {
			var q requests
			var held, passed []byte
			var got, parts []string
			coming := 0
			for at := 0; at < len(whole) || len(held) > 0; {
				more := min(piece, len(whole)-at, room-len(held))
				held = append(held, whole[at:at+more]...)
				at += more
				n, r := coming, (*wire.Request)(nil)
				if coming == 0 {
					n, r = q.next(held, len(held) == room)
				}
				coming = max(0, n-len(held))
				n -= coming
				if n == 0 && more == 0 {
					t.Fatalf("in pieces of %d it stands still with %d bytes", piece, len(held))
				}
				passed, held = append(passed, held[:n]...), held[n:]
				if r != nil {
					for _, s := range r.Statements {
						parts = append(parts, fmt.Sprint(s.Shape, s.Values))
					}
					if !r.Open {
						got, parts = append(got, strings.Join(parts, " ")), nil
					}
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("in pieces of %d with room for %d: %q", piece, room, got)
			}
			if !bytes.Equal(passed, whole) {
				t.Errorf("in pieces of %d with room for %d: other bytes were passed on", piece, room)
			}
		}
	}
}

// TestLibrarysOwnTests pass through assay, and what they send and read passes unchanged. Those are left
// out that want types which the library's own server has, that take longest, and that stop within a
// pipeline, which assay passes on when it is whole.
func TestLibrarysOwnTests(t *testing.T) {
	t.Parallel()
	server := expect.Started(t, postgres.Start, postgres.Options{})
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	wiretest.Between(t, u.Host, func(address string) wire.Protocol {
		own := *u
		own.Host = address
		product, err := New(own.String())
		expect.NoError(t, err)
		return product
	}, 0, func(address string, _ wire.Protocol) {
		u.Host = address
		passed := wiretest.Library(t, []string{"github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn"},
			"TestDomainType|TestUnregisteredType|TimeoutBetweenParseAndDescribe|TestListenNotifyWhileBusyIsSafe|TestConnQueryErrorWhileReturningRows|TestConnExecBatchWriteError|TestConnExecBatchHuge|TestConnStress", "PGX_TEST_DATABASE="+u.String())
		if passed < 1000 {
			t.Errorf("%d tests passed", passed)
		}
	})
}

// TestAbandonedReplication: what the server commits without its synchronous standby is doubtful. It says
// so before it tells what was done, or behind that.
func TestAbandonedReplication(t *testing.T) {
	notice, ready := &pgproto3.NoticeResponse{Severity: "WARNING", Code: "01000", Routine: "SyncRepWaitForLSN"}, &pgproto3.ReadyForQuery{TxStatus: 'I'}
	other := &pgproto3.NoticeResponse{Severity: "WARNING", Code: "01000", Routine: "another"}
	done := &pgproto3.CommandComplete{CommandTag: []byte("INSERT 0 1")}
	for _, c := range []struct {
		messages []pgproto3.BackendMessage
		doubtful bool
	}{
		{[]pgproto3.BackendMessage{notice, done, ready}, true}, {[]pgproto3.BackendMessage{done, notice, ready}, true}, {[]pgproto3.BackendMessage{other, done, ready}, false},
	} {
		out := encoded(t, c.messages...)
		r := &wire.Request{Statements: wire.Statements("INSERT INTO t VALUES (1)")}
		n, complete := new(answers).next(out, r)
		if s := r.Statements[0]; n != len(out) || !complete || s.Doubtful != c.doubtful || s.Rows != 1 {
			t.Errorf("%T %T: %+v", c.messages[0], c.messages[1], s)
		}
	}
}

// TestDoubtfulErrors are those by which a pooler says that it does not know.
func TestDoubtfulErrors(t *testing.T) {
	for code, doubtful := range map[string]bool{"40003": true, "08006": true, "40001": false, "23505": false} {
		r := &wire.Request{Statements: wire.Statements("COMMIT")}
		new(answers).next(encoded(t, &pgproto3.ErrorResponse{Severity: "ERROR", Code: code, Message: "so"}), r)
		if s := r.Statements[0]; s.Doubtful != doubtful || s.Error != code+" so" {
			t.Errorf("%s: %+v", code, s)
		}
	}
}

// TestSameBytes has pgbench and psql work through assay: what leaves the client reaches the server,
// and back, byte for byte.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	server := expect.Started(t, postgres.Start, postgres.Options{Settings: []string{"synchronous_commit=off"}})
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	environment := func(address string) []string {
		product, err := New(u.String())
		expect.NoError(t, err)
		return append(os.Environ(), product.Reach().Environment(address, "")...)
	}
	recorder, passed := wiretest.Between(t, u.Host, func(address string) wire.Protocol {
		u.Host = address
		product, err := New(u.String())
		expect.NoError(t, err)
		return product
	}, 0, func(address string, _ wire.Protocol) {
		for _, args := range [][]string{
			{"pgbench", "-i", "-q", "-s", "1"}, {"psql", "-q", "-c", "COPY pgbench_accounts TO STDOUT", "-o", os.DevNull},
			{"pgbench", "-n", "-t", "500", "-c", "4", "-M", "simple"}, {"pgbench", "-n", "-S", "-t", "15000", "-c", "4", "-M", "prepared"}, {"pgbench", "-n", "-t", "500", "-c", "4", "-M", "extended"}, {"pgbench", "-n", "-t", "500", "-c", "4", "-M", "prepared"},
		} {
			cmd := exec.Command(program(t, args[0]), args[1:]...)
			cmd.Env = environment(address)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, said)
			}
		}
	})
	all, left := recorder.Transactions()
	committed := map[int]int{} // by how many statements they have
	for _, x := range all {
		if x.Outcome == wire.Committed && x.Writes() {
			prepared := func(s *wire.Statement) bool { return s.Kind == wire.Prepare }
			committed[len(slices.DeleteFunc(slices.Clone(x.Statements), prepared))]++
		}
		if x.Outcome == wire.Refused || x.Outcome == wire.Unknown {
			t.Errorf("a transaction was %s: %q", x.Outcome, x.Shapes())
		}
	}
	if committed[7] != 6_000 || left != 0 || passed < 10<<20 {
		t.Errorf("%d transactions of pgbench were recorded, not 6000: %v, %d bytes", committed[7], committed, passed)
	}
}

// program finds a program of PostgreSQL's.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		t.Fatalf("%s is not there", name)
	}
	return found[len(found)-1]
}

// TestEncryptedServer logs in by SCRAM at a server that is encrypted and verified, by a client that
// is encrypted or not; and says why where the certificate is not the server's.
func TestEncryptedServer(t *testing.T) {
	t.Parallel()
	server := expect.Started(t, postgres.Start, postgres.Options{})
	ours, theirs := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	shown := ours.Server("127.0.0.1")
	conn, err := pgconn.Connect(t.Context(), server.Address())
	expect.NoError(t, err)
	for name, path := range map[string]string{"our-cert.pem": shown.Certificate, "our-key.pem": shown.Key} {
		text, err := os.ReadFile(path)
		expect.NoError(t, err)
		lines := "'" + strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "'), ('") + "'"
		expect.NoError(t, conn.Exec(t.Context(), "COPY (VALUES ("+lines+")) TO PROGRAM 'umask 077; cat > "+name+"'").Close())
	}
	for _, setting := range []string{"ssl_cert_file = 'our-cert.pem'", "ssl_key_file = 'our-key.pem'", "ssl = on"} {
		expect.NoError(t, conn.Exec(t.Context(), "ALTER SYSTEM SET "+setting).Close())
	}
	expect.NoError(t, conn.Close(t.Context()), server.Restart(t.Context()))
	for _, c := range []struct{ authority, client, says, problem string }{{ours.File, "", "t|TLSv1.3", ""}, {ours.File, "sslmode=verify-full", "t|TLSv1.3", ""}, {theirs.File, "", "", "certificate"}} {
		product, err := New(strings.Replace(server.Address(), "sslmode=disable", "sslmode=verify-full&sslrootcert="+c.authority, 1))
		expect.NoError(t, err)
		proxy := wiretest.Listen(t, product)
		cmd := exec.Command(program(t, "psql"), c.client, "-Atc", "SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
		cmd.Env = append(os.Environ(), product.Reach().Environment(proxy.Address(), wiretest.Authority(t, proxy))...)
		said, err := cmd.CombinedOutput()
		problem := fmt.Sprint(proxy.Recorder().Problem())
		if (err == nil) != (c.problem == "") || !strings.Contains(string(said), c.says) || !strings.Contains(problem, c.problem) {
			t.Errorf("it says %q, and the problem is %s", said, problem)
		}
	}
}

// TestEncryptedApplication has clients insist on encryption, and on the certificate, towards a server
// that knows neither; and says why where they trust another authority.
func TestEncryptedApplication(t *testing.T) {
	t.Parallel()
	server := expect.Started(t, postgres.Start, postgres.Options{})
	product, err := New(server.Address())
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, product)
	authority := wiretest.Authority(t, proxy)
	for client, problem := range map[string]string{
		"sslmode=require": "", "sslmode=verify-full": "", "sslmode=verify-full host=localhost": "",
		"sslmode=verify-full sslrootcert=" + drivertest.NewAuthority(t, "theirs").File: "the application refuses assay's certificate",
	} {
		recorder := proxy.Record(nil)
		cmd := exec.Command(program(t, "psql"), client, "-At", "-c", `\conninfo`, "-c", "SELECT length(repeat('x', 3000000))", "-c", "SELECT repeat('y', 3000000)")
		cmd.Env = append(os.Environ(), product.Reach().Environment(proxy.Address(), authority)...)
		said, err := cmd.CombinedOutput()
		expect.NoError(t, proxy.Quiet(t.Context()))
		all, _ := recorder.Transactions()
		whole := strings.Contains(string(said), "SSL connection (protocol: TLSv1.3") && bytes.Count(said, []byte("y")) >= 3_000_000 && len(all) == 2
		if got := fmt.Sprint(recorder.Problem()); (err == nil) != (problem == "") || whole != (problem == "") || !strings.Contains(got, problem) {
			t.Errorf("%s: %v, %d bytes, %d transactions, and the problem is %s: %.200s", client, err, len(said), len(all), got, said)
		}
	}
	u, err := url.Parse(product.Reach().Address(proxy.Address()))
	expect.NoError(t, err)
	u.User, u.RawQuery = url.UserPassword(product.Reach().User, product.Reach().Password), "sslmode=verify-full&sslnegotiation=direct&sslrootcert="+authority
	conn, err := pgconn.Connect(t.Context(), u.String())
	expect.NoError(t, err)
	expect.NoError(t, conn.Exec(t.Context(), "SELECT 1").Close(), conn.Close(t.Context()))
}
