package postgres

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"assay/application/wire"
	"assay/application/wire/wiretest"
	"assay/cluster/postgres"
	"assay/internal/expect"
)

// literals are values of the types that are read, as text.
func literals() map[string][]string {
	all := map[string][]string{
		"bool": {"t", "f"}, "int2": {"0", "-32768", "32767"}, "int4": {"7", "-2147483648", "2147483647"}, "int8": {"-1", "-9223372036854775808", "9223372036854775807"},
		"float4": {"1", "0.1", "1e+06", "123456.7", "1e-05", "0.0001", "NaN", "Infinity", "-Infinity", "-0", "3.4028235e+38", "1e-45"},
		"float8": {"1", "0.1", "1e15", "123456789012345.6", "1e-5", "0.0001", "NaN", "Infinity", "-Infinity", "-0", "1.7976931348623157e+308", "5e-324"},
		"numeric": {"0", "0.00", "7", "-0.001", "0.0001", "0.00001", "12345678901234567890.123456789", "NaN", "Infinity", "-Infinity", "10000", "99999999", "1e100", "100000000.5",
			"0.00000000000000000001", "1000000.0010", "-1e-30", strings.Repeat("9", 300)},
		"text": {"", "it's", "NULL", `\x00`, "wait...", "'", "two\nlines", strings.Repeat("long ", 100)}, "varchar": {"it's"}, "name": {"me"}, "json": {`{"a": 1}`}, "char(3)": {"x"},
		"bytea":     {`\x`, `\x00`, `\xdeadbeef`, `\x` + strings.Repeat("ab", 300)},
		"uuid":      {"01234567-89ab-cdef-0123-456789abcdef", "00000000-0000-0000-0000-000000000000"},
		"date":      {"2026-11-30", "2000-02-29", "1999-12-31", "0001-01-01", "0001-12-31 BC", "4713-01-01 BC", "5874897-12-31", "infinity", "-infinity"},
		"timestamp": {"2026-11-30 11:42:07", "1999-12-31 23:59:59.999999", "2000-01-01", "0044-03-15 12:00:00.5 BC", "294276-12-31 23:59:59.999999", "infinity", "-infinity"},
	}
	all["timestamptz"] = append(all["timestamp"], "2026-11-30 11:42:07.123456+05:30")
	random := rand.New(rand.NewPCG(7, 7))
	for range 50 {
		all["float4"] = append(all["float4"], fmt.Sprint(math.Float32frombits(random.Uint32())))
		all["float8"] = append(all["float8"], fmt.Sprint(math.Float64frombits(random.Uint64())))
		all["numeric"] = append(all["numeric"], fmt.Sprintf("%de%d", random.Int64(), random.IntN(40)-30))
		all["timestamp"] = append(all["timestamp"], fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d.%06d", 1+random.IntN(9999), 1+random.IntN(12), 1+random.IntN(28), random.IntN(24), random.IntN(60), random.IntN(60), random.IntN(1_000_000)))
	}
	return all
}

// connected is a client of a server through assay, whose answers are kept.
func connected(t *testing.T) (*pgconn.PgConn, *wire.Proxy) {
	t.Helper()
	server := expect.Started(t, postgres.Start, postgres.Options{})
	u, err := url.Parse(server.Address())
	expect.NoError(t, err)
	product, err := New(u.String())
	expect.NoError(t, err)
	proxy := wiretest.Listen(t, product)
	proxy.Recorder().KeepAnswers()
	u.Host = proxy.Address()
	conn, err := pgconn.Connect(t.Context(), u.String())
	expect.NoError(t, err)
	expect.NoError(t, conn.Exec(t.Context(), "SET TimeZone = UTC; SET DateStyle = ISO").Close())
	return conn, proxy
}

// statements are those that were recorded once the client has left, but for the first ones.
func recordedStatements(t *testing.T, conn *pgconn.PgConn, proxy *wire.Proxy) (all []*wire.Statement) {
	t.Helper()
	expect.NoError(t, conn.Close(t.Context()), proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	transactions, left := proxy.Recorder().Transactions()
	for _, x := range transactions {
		for _, s := range x.Statements {
			if !strings.HasPrefix(s.Shape, "SET ") {
				all = append(all, s)
			}
		}
	}
	if left > 0 {
		t.Fatalf("%d transactions were not kept", left)
	}
	return all
}

// TestBinaryValues: what is sent in binary form, and what comes so, reads as the server writes it. The types
// of columns are in the description of the portal, and those of parameters in the statement's.
func TestBinaryValues(t *testing.T) {
	t.Parallel()
	conn, proxy := connected(t)
	binary := []int16{formatBinary}
	var want, about []string
	for kind, all := range literals() {
		for _, literal := range all {
			got := conn.ExecParams(t.Context(), "SELECT $1::text::"+kind, [][]byte{[]byte(literal)}, nil, nil, binary).Read()
			expect.NoError(t, got.Err)
			sent := got.Rows[0][0]
			_, err := conn.Prepare(t.Context(), "", "SELECT format('%s', $1::"+kind+")", nil)
			expect.NoError(t, err)
			back := conn.ExecPrepared(t.Context(), "", [][]byte{sent}, binary, nil).Read()
			expect.NoError(t, back.Err)
			text := wire.Text(back.Rows[0][0])
			if kind == "bytea" {
				text = wire.Bytes(sent, "")
			}
			want, about = append(want, text), append(about, kind+" "+literal)
		}
	}
	all := recordedStatements(t, conn, proxy)
	if len(all) != 2*len(want) {
		t.Fatalf("%d statements of %d were recorded", len(all), 2*len(want))
	}
	for i, text := range want {
		row, values := all[2*i].Answer.First[0], all[2*i+1].Values
		if shown := "(" + text + ")"; len(shown) <= 200 && row != shown {
			t.Errorf("%s comes as %s, want %s", about[i], row, text)
		}
		if parameter := values[len(values)-1]; parameter != text {
			t.Errorf("%s is sent as %s, want %s", about[i], parameter, text)
		}
	}
	if len(want) < 250 {
		t.Errorf("%d values were compared", len(want))
	}
}

// TestValuesThatAreNotRead are shown as they are: of a type that is not read, and of one that nobody has told.
func TestValuesThatAreNotRead(t *testing.T) {
	t.Parallel()
	conn, proxy := connected(t)
	binary, seven, one := []int16{formatBinary}, [][]byte{{0, 0, 0, 7}}, [][]byte{{0x3f, 0x80, 0, 0}}
	ask := func(text string, values [][]byte, types []uint32) {
		t.Helper()
		expect.NoError(t, conn.ExecParams(t.Context(), text, values, types, binary, binary).Read().Err)
	}
	ask("SELECT $1::int4", seven, nil)                                                  // told behind it
	ask("SELECT $1::int4", seven, []uint32{typeInt4})                                   // told with it
	ask("SELECT $1::float4", one, []uint32{typeFloat4})                                 // of as many bytes
	ask("SELECT $1::jsonb", [][]byte{append([]byte{1}, `{"a": 1}`...)}, []uint32{3802}) // not read
	ask("SELECT $1::int4", [][]byte{nil}, nil)                                          // none
	expect.NoError(t, conn.Exec(t.Context(), "BEGIN; DECLARE c BINARY CURSOR FOR SELECT 7; FETCH ALL FROM c; COMMIT").Close())
	_, err := conn.Prepare(t.Context(), "kept", "SELECT $1::int8 + 1", nil)
	expect.NoError(t, err)
	expect.NoError(t, conn.Exec(t.Context(), "SELECT 'between'").Close())
	batch := &pgconn.Batch{}
	for range 2 {
		batch.ExecPrepared("kept", [][]byte{{0, 0, 0, 0, 0, 0, 0, 8}}, binary, binary)
		batch.ExecPrepared("kept", [][]byte{[]byte("8")}, nil, nil)
	}
	expect.NoError(t, conn.ExecBatch(t.Context(), batch).Close())
	var got []string
	for _, s := range recordedStatements(t, conn, proxy) {
		line := strings.Join(s.Values, "|")
		if s.Answer != nil {
			line += " -> " + strings.Join(s.Answer.First, "|")
		}
		if s.Kind == wire.Other && !strings.HasPrefix(s.Shape, "DECLARE") {
			got = append(got, line)
		}
	}
	want := []string{`\x00000007 (length 4, type not known) -> (7)`, "7 -> (7)", "1 -> (1)", `\x017b2261223a20317d (length 9, type 3802) -> (\x017b2261223a20317d (length 9, type 3802))`, "NULL -> (NULL)",
		" -> (7)", "'between' -> (between)", "1|8 -> (9)", "1|8 -> (9)", "1|8 -> (9)", "1|8 -> (9)"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("they read\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestValuesDiffer: what is compared of two transactions tells any two values of a type apart.
func TestValuesDiffer(t *testing.T) {
	t.Parallel()
	conn, proxy := connected(t)
	expect.NoError(t, conn.Exec(t.Context(), "CREATE TABLE note (body text)").Close())
	long := strings.Repeat("x", 1000)
	bodies := [][]byte{nil, []byte("NULL"), []byte("'NULL'"), []byte(""), []byte(long + "a"), []byte(long + "b"), []byte(long[:200] + "..."), []byte(`\x61`), []byte(`\x61 (length 1)`), []byte("a"), []byte("b")}
	for _, body := range bodies {
		expect.NoError(t, conn.ExecParams(t.Context(), "INSERT INTO note VALUES ($1)", [][]byte{body}, nil, nil, nil).Read().Err)
	}
	for _, last := range []string{"a", "b"} {
		text := strings.Repeat("($1), ", 2*wire.MaxValues) + "($" + strconv.Itoa(2) + ")"
		expect.NoError(t, conn.ExecParams(t.Context(), "INSERT INTO note VALUES "+text, [][]byte{[]byte("x"), []byte(last)}, nil, nil, nil).Read().Err)
		text = strings.Repeat("('x'), ", 2*wire.MaxValues) + "('" + last + "')"
		expect.NoError(t, conn.Exec(t.Context(), "INSERT INTO note VALUES "+text).Close())
		huge := [][]byte{[]byte(strings.Repeat("y", 100_000) + last)} // of which assay sees the beginning
		expect.NoError(t, conn.ExecParams(t.Context(), "INSERT INTO note VALUES ($1)", huge, nil, nil, nil).Read().Err)
	}
	recordedStatements(t, conn, proxy)
	seen, partial, changed := map[string]bool{}, 0, 0
	all, _ := proxy.Recorder().Transactions()
	for _, x := range all {
		switch {
		case !x.Changed():
			continue
		case x.Partial():
			partial++
		case seen[x.Values()]:
			t.Errorf("two read %.200q", x.Values())
		}
		seen[x.Values()] = true
		changed++
	}
	if changed != len(bodies)+6 || partial != 2 {
		t.Errorf("%d changed something, and of %d not all was seen", changed, partial)
	}
}
