package mysql

import (
	"database/sql"
	"encoding/binary"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assay/application/wire"
	"assay/internal/expect"
)

// typed is a parameter: its column, its type and flag, its bytes, and how it reads.
type typed struct {
	column      string
	code, flags byte
	bytes       []byte
	want        string
}

// parameters are of each type that has a form of its own; NULL has no bytes.
func parameters() []typed {
	le := binary.LittleEndian
	text := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	long := strings.Repeat("x", 1000)
	return []typed{
		{"TINYINT UNSIGNED", typeTiny, parameterUnsigned, []byte{200}, "200"}, {"TINYINT", typeTiny, 0, []byte{156}, "-100"},
		{"SMALLINT UNSIGNED", typeShort, parameterUnsigned, []byte{255, 255}, "65535"}, {"SMALLINT", typeShort, 0, []byte{255, 255}, "-1"},
		{"MEDIUMINT UNSIGNED", typeLong, parameterUnsigned, []byte{255, 255, 255, 0}, "16777215"}, {"MEDIUMINT", typeLong, 0, []byte{0, 0, 128, 255}, "-8388608"},
		{"INT UNSIGNED", typeLong, parameterUnsigned, []byte{255, 255, 255, 255}, "4294967295"}, {"INT", typeLong, 0, []byte{255, 255, 255, 255}, "-1"},
		{"BIGINT UNSIGNED", typeLongLong, parameterUnsigned, le.AppendUint64(nil, math.MaxUint64), "18446744073709551615"}, {"BIGINT", typeLongLong, 0, le.AppendUint64(nil, math.MaxUint64), "-1"},
		{"FLOAT", typeFloat, 0, le.AppendUint32(nil, math.Float32bits(1)), "1"}, {"FLOAT", typeFloat, 0, le.AppendUint32(nil, math.Float32bits(-0.1)), "-0.1"},
		{"DOUBLE", typeDouble, 0, le.AppendUint64(nil, math.Float64bits(0.1)), "0.1"}, {"DOUBLE", typeDouble, 0, le.AppendUint64(nil, math.Float64bits(12345.125)), "12345.125"},
		{"YEAR", typeShort, 0, []byte{0xea, 7}, "2026"}, {"DATE", typeDate, 0, []byte{4, 0xea, 7, 11, 30}, "2026-11-30"}, {"INT", typeLong, 0, nil, "NULL"},
		{"DATETIME(6)", typeDateTime, 0, []byte{11, 0xea, 7, 11, 30, 11, 42, 7, 0x40, 0xe2, 1, 0}, "2026-11-30 11:42:07.123456"}, {"DATETIME", typeDateTime, 0, []byte{7, 0xea, 7, 11, 30, 11, 42, 7}, "2026-11-30 11:42:07"},
		{"DATETIME", typeDateTime, 0, []byte{4, 0xea, 7, 11, 30}, "2026-11-30 00:00:00"}, {"TIMESTAMP NULL", typeTimestamp, 0, []byte{7, 0xea, 7, 11, 30, 0, 0, 1}, "2026-11-30 00:00:01"},
		{"TIME(6)", typeTime, 0, []byte{12, 1, 5, 0, 0, 0, 3, 4, 5, 6, 0, 0, 0}, "-123:04:05.000006"}, {"TIME", typeTime, 0, []byte{8, 0, 0, 0, 0, 0, 23, 59, 58}, "23:59:58"}, {"TIME", typeTime, 0, []byte{0}, "00:00:00"},
		{"DECIMAL(20, 3)", 246, 0, text("12345678901234567.890"), "12345678901234567.890"}, {"VARCHAR(20)", 254, 0, text("it's"), "it's"}, {"VARCHAR(20)", 254, 0, text("NULL"), "'NULL'"}, {"VARCHAR(20)", 254, 0, nil, "NULL"},
		{"VARBINARY(9)", 252, 0, text("\x00\xff"), `\x00ff (length 2)`}, {"TEXT", 252, 0, append([]byte{0xfc, 232, 3}, long...), wire.Text([]byte(long))}, {"BIT(8)", typeLongLong, 0, le.AppendUint64(nil, 65), "65"},
	}
}

// TestBinaryValues: what is sent in binary form, and what comes so, reads as the server has it.
func TestBinaryValues(t *testing.T) {
	t.Parallel()
	binaryValues(t, onMariaDB(t))
}

// TestOnMySQLBinaryValues is that on MySQL; `make mysql` runs it.
func TestOnMySQLBinaryValues(t *testing.T) {
	binaryValues(t, onMySQL(t))
}

func binaryValues(t *testing.T, address string) {
	t.Helper()
	proxy, connector := through(t, address, true)
	proxy.Recorder().KeepAnswers()
	db := sql.OpenDB(connector)
	var names, columns, marks, want, shown []string
	all := parameters()
	for i, p := range all {
		names, marks, want = append(names, "c"+strconv.Itoa(i)), append(marks, "?"), append(want, p.want)
		columns = append(columns, names[i]+" "+p.column)
	}
	_, err := db.Exec("SET GLOBAL time_zone = '+00:00'; CREATE DATABASE shop; CREATE TABLE shop.v (" + strings.Join(columns, ", ") + "); CREATE USER raw IDENTIFIED BY ''; GRANT ALL ON shop.* TO raw")
	expect.NoError(t, err)
	raw := rawClient(t, proxy.Address())
	id := raw.prepare("INSERT INTO shop.v VALUES (" + strings.Join(marks, ", ") + ")")
	raw.execute(id, all, true)
	raw.execute(id, all, false) // with the types of before
	expect.NoError(t, raw.Close())
	rows, err := db.Query("SELECT * FROM shop.v")
	expect.NoError(t, err)
	for rows.Next() {
		compare(t, rows, all)
	}
	expect.NoError(t, rows.Err(), rows.Close())
	for _, part := range []string{strings.Join(names[:17], ", "), strings.Join(names[17:29], ", "), strings.Join(names[29:], ", ")} { // a row is shown up to a length
		prepared, err := db.Query("SELECT "+part+" FROM shop.v WHERE 1 = ?", uint64(1))
		expect.NoError(t, err, prepared.Close())
	}
	_, err = db.Exec("DO ?, ?, ?, ?", uint64(math.MaxUint64), -0.25, nil, true)
	expect.NoError(t, err, db.Close(), proxy.Quiet(t.Context()), proxy.Recorder().Problem())
	transactions, _ := proxy.Recorder().Transactions()
	seen := map[string]int{}
	for _, x := range transactions {
		for _, s := range x.Statements {
			word, _, _ := strings.Cut(s.Shape, " ")
			switch {
			case word == "INSERT" && s.Kind == wire.Other:
				if !slices.Equal(s.Values, want) || s.Rows != 1 {
					t.Errorf("the parameters are %q, want %q", s.Values, want)
				}
			case word == "SELECT" && len(s.Values) == 2 && s.Answer != nil:
				shown = append(shown, s.Answer.First...)
			case word == "DO":
				if got := strings.Join(s.Values, " "); got != "18446744073709551615 -0.25 NULL 1" {
					t.Errorf("the library's are %s", got)
				}
			}
			seen[word]++
		}
	}
	for i, row := range shown {
		part := [][]string{want[:17], want[17:29], {want[29], "A"}}[i/2]
		if !strings.HasPrefix("("+strings.Join(part, ", ")+")", strings.TrimSuffix(row, "...")) || len(row) < 90 {
			t.Errorf("a row is %q, want %q", row, part)
		}
	}
	if seen["INSERT"] != 2 || seen["DO"] != 1 || len(shown) != 6 {
		t.Errorf("%v were recorded, and %d rows", seen, len(shown))
	}
}

// TestColumnsThatAreLeftOut: a client of MariaDB's that has the columns of a statement gets none with the rows,
// and those of before are theirs. Rows whose columns assay has not seen are shown as bytes.
func TestColumnsThatAreLeftOut(t *testing.T) {
	defined := func(code, flags byte) []byte {
		return packet(1, append([]byte("\x03def\x00\x00\x00\x01n\x00"), definitionTail, 63, 0, 4, 0, 0, 0, code, flags, 0, 0, 0, 0))
	}
	row := packet(1, []byte{0, 1 << 3, 200, 0xea, 7}) // the second is NULL
	rows := func(to *talk, behind ...[]byte) string {
		t.Helper()
		all, _ := asks(t, to, executes(1))
		all[0].Statements[0].Answer = &wire.Answer{}
		if !answers(t, to, all[0], append(behind, row, packet(1, []byte{eofPacket, 0, 0, 0, 0, 0, 0}))...) {
			t.Error("the answer has not ended")
		}
		return strings.Join(all[0].Statements[0].Answer.First, "|")
	}
	to := within(capNoEOF)
	to.cached.Store(true)
	all, _ := asks(t, to, prepares("SELECT a, b, c FROM t"))
	all[0].Statements[0].Answer = &wire.Answer{}
	answers(t, to, all[0], packet(1, []byte{0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0}), defined(typeTiny, columnUnsigned), defined(typeDouble, 0), defined(typeShort, 0))
	leftOut := packet(1, []byte{3, 0})
	if got := rows(to, leftOut); got != "(200, NULL, 2026)" {
		t.Errorf("the columns of its preparation: %s", got)
	}
	if got := rows(to, packet(1, []byte{3, 1}), defined(typeTiny, 0), defined(typeDouble, 0), defined(typeYear, columnUnsigned)); got != "(-56, NULL, 2026)" {
		t.Errorf("columns that come: %s", got)
	}
	if got := rows(to, leftOut); got != "(-56, NULL, 2026)" {
		t.Errorf("the columns of the last time: %s", got)
	}
	to.prepared[1].columns = nil
	if got := rows(to, leftOut); got != `(\x0008c8ea07 (length 5, type not known))` {
		t.Errorf("columns that nobody has seen: %s", got)
	}
}

// compare compares a row of a text with what was sent.
func compare(t *testing.T, rows *sql.Rows, all []typed) {
	t.Helper()
	values := make([]sql.RawBytes, len(all))
	var into []any
	for i := range values {
		into = append(into, &values[i])
	}
	expect.NoError(t, rows.Scan(into...))
	for i, v := range values {
		text := wire.Null
		if v != nil {
			text = wire.Text(v)
		}
		if bits := strings.HasPrefix(all[i].column, "BIT"); text != all[i].want && !bits {
			t.Errorf("the server has %s, and %s was sent, a %s", text, all[i].want, all[i].column)
		}
	}
}

// client speaks as much of the protocol as sends parameters of types that the library does not send.
type client struct {
	net.Conn
	t *testing.T
}

// rawClient logs a user in that has no password.
func rawClient(t *testing.T, address string) client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	expect.NoError(t, err)
	c := client{conn, t}
	c.answer()
	const protocol41, secure, plugins = 1 << 9, 1 << 15, 1 << 19
	content := binary.LittleEndian.AppendUint32(nil, capMySQL|protocol41|secure|plugins)
	content = append(binary.LittleEndian.AppendUint32(content, maxPacket), 45)
	content = append(content, make([]byte, loginHead-len(content))...)
	_, err = conn.Write(packet(1, append(content, "raw\x00\x00mysql_native_password\x00"...)))
	expect.NoError(t, err)
	for answer := c.answer(); answer[0] != 0; answer = c.answer() { // another method, or more of it: an empty password is empty by each
		_, err = conn.Write(packet(3, nil))
		expect.NoError(t, err)
	}
	return c
}

// answer is what one packet has.
func (c client) answer() []byte {
	c.t.Helper()
	b, err := readPacket(c)
	expect.NoError(c.t, err)
	if b[headerSize] == errorPacket {
		c.t.Fatalf("the server answers %q", b)
	}
	return b[headerSize:]
}

func (c client) prepare(text string) (id uint32) {
	c.t.Helper()
	_, err := c.Write(prepares(text))
	expect.NoError(c.t, err)
	b := c.answer()
	for range binary.LittleEndian.Uint16(b[7:]) + 1 { // the parameters, and an end
		c.answer()
	}
	return binary.LittleEndian.Uint32(b[1:])
}

// execute sends parameters, with their types or by those of before.
func (c client) execute(id uint32, all []typed, types bool) {
	c.t.Helper()
	nulls, kinds, values := make([]byte, (len(all)+7)/8), []byte{0}, []byte(nil)
	for i, p := range all {
		if p.bytes == nil {
			nulls[i/8] |= 1 << (i % 8)
		}
		kinds, values = append(kinds, p.code, p.flags), append(values, p.bytes...)
	}
	if kinds[0] = 1; !types {
		kinds = []byte{0}
	}
	content := append(binary.LittleEndian.AppendUint32([]byte{comExecute}, id), 0, 1, 0, 0, 0)
	_, err := c.Write(packet(0, slices.Concat(content, nulls, kinds, values)))
	expect.NoError(c.t, err)
	c.answer()
}
