package mysql

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/application/wire"
)

// within is a connection behind its login, in a transaction.
func within(can uint32) *talk {
	to := &talk{server: &Server{}, greeted: true, prepared: map[uint32]*prepared{}}
	to.ready.Store(true)
	to.capabilities.Store(can)
	to.state.Store(uint32(wire.Within))
	return to
}

// asks has all of what a client sends be read, and returns the requests, and what is more of the last one.
func asks(t *testing.T, to *talk, sent []byte) (all, rest []*wire.Request) {
	t.Helper()
	for len(sent) > 0 {
		n, r := to.Request(sent, false)
		if n == 0 || n > len(sent) {
			t.Fatalf("%d bytes pass of %d", n, len(sent))
		}
		switch {
		case r != nil && r.Rest:
			rest = append(rest, r)
		case r != nil:
			all = append(all, r)
		}
		sent = sent[n:]
	}
	return all, rest
}

// answers has all of what the server sends be read, and reports whether the answer ended with it.
func answers(t *testing.T, to *talk, r *wire.Request, packets ...[]byte) bool {
	t.Helper()
	sent, done := bytes.Join(packets, nil), false
	for len(sent) > 0 {
		if done {
			t.Fatalf("the answer has ended, and %d bytes are left", len(sent))
		}
		n := 0
		if n, done = to.Answer(sent, r); n == 0 {
			t.Fatalf("it stands still with %d bytes", len(sent))
		}
		sent = sent[n:]
	}
	return done
}

func query(text string) []byte { return packet(0, append([]byte{comQuery}, text...)) }

func prepares(text string) []byte { return packet(0, append([]byte{comPrepare}, text...)) }

// executes is an execution with one number, or with none.
func executes(id uint32, values ...byte) []byte {
	content := append(binary.LittleEndian.AppendUint32([]byte{comExecute}, id), 0, 1, 0, 0, 0)
	if len(values) > 0 {
		content = append(content, 0, 1)
		content = append(content, bytes.Repeat([]byte{1, 0}, len(values))...)
		content = append(content, values...)
	}
	return packet(0, content)
}

// hasPrepared answers that a statement is prepared.
func hasPrepared(id uint32, parameters byte) (all []byte) {
	all = packet(1, append(binary.LittleEndian.AppendUint32([]byte{0}, id), 0, 0, parameters, 0, 0, 0, 0))
	for range parameters {
		all = append(all, packet(2, []byte("\x03def"))...)
	}
	if parameters > 0 {
		all = append(all, packet(3, []byte{eofPacket, 0, 0, 1, 0})...)
	}
	return all
}

// TestFileOfManyPackets: the numbers of a file's packets begin anew with 0, and they are data all the
// same, up to the empty one. What comes at once behind that is a request.
func TestFileOfManyPackets(t *testing.T) {
	to := within(0)
	all, _ := asks(t, to, query("LOAD DATA LOCAL INFILE 'f' INTO TABLE t"))
	load := all[0]
	if answers(t, to, load, packet(1, append([]byte{infilePacket}, "f"...))) || !load.Asks {
		t.Errorf("the server asks for the file, and it is %+v", load)
	}
	var data []byte
	for i := range 600 {
		data = append(data, packet(byte(2+i), []byte("1,one\n"))...)
	}
	if all, _ = asks(t, to, data); len(all) != 0 || !to.Owes() {
		t.Errorf("%d requests, and the rest of the file is not owed", len(all))
	}
	all, _ = asks(t, to, slices.Concat(packet(90, nil), query("COMMIT")))
	if to.Owes() || len(all) != 1 || all[0].Statements[0].Kind != wire.Commit {
		t.Errorf("the file was taken for %d requests", len(all))
	}
	if !answers(t, to, load, packet(91, []byte{0, 3, 0, 1, 0, 0, 0})) || load.Statements[0].Rows != 3 || !load.Statements[0].Partial {
		t.Errorf("it is answered by %+v", load.Statements[0])
	}
}

// TestWritesBehindWith change rows, as the server counts them. What reads and locks rows, or keeps them in
// variables, does not.
func TestWritesBehindWith(t *testing.T) {
	ok := func(rows byte) [][]byte { return [][]byte{packet(1, []byte{0, rows, 0, 1, 0, 0, 0})} }
	end := []byte{eofPacket, 0, 0, 1, 0}
	selected := [][]byte{packet(1, []byte{1}), packet(2, []byte("\x03def")), packet(3, end), packet(4, []byte("\x017")), packet(5, end)}
	for text, c := range map[string]struct {
		answer [][]byte
		rows   int64 // 0 of one that does not write
	}{
		"WITH d AS (SELECT 7 AS id) UPDATE stock JOIN d USING (id) SET n = n - 1":              {ok(1), 1},
		"with `d` as (select 7 as id)DELETE FROM cart WHERE id IN (SELECT id FROM d)":          {ok(2), 2},
		"WITH d AS (SELECT 7 AS id) UPDATE stock JOIN d USING (id) SET n = n":                  {ok(0), 0},
		"WITH d AS (SELECT 7 AS id) SELECT id FROM d JOIN stock USING (id) FOR UPDATE":         {selected, 0},
		"WITH d AS (SELECT 7 AS id) SELECT id FROM d JOIN stock USING (id) FOR UPDATE INTO @a": {ok(1), 0},
		"WITH d AS (SELECT 7 AS id) SELECT id INTO @update FROM d":                             {ok(1), 0},
	} {
		to := within(0)
		all, _ := asks(t, to, query(text))
		if !answers(t, to, all[0], c.answer...) {
			t.Errorf("%s: the answer goes on", text)
		}
		if s := all[0].Statements[0]; s.Writes != (c.rows > 0) || s.Rows != c.rows {
			t.Errorf("%s: %+v", text, s)
		}
	}
}

// TestCalls give results before their own, and an error behind them is theirs. What comes behind a CALL in its
// text has its own.
func TestCalls(t *testing.T) {
	end := []byte{eofPacket, 0, 0, statusMore | statusWithin, 0}
	result := slices.Concat(packet(1, []byte{1}), packet(2, []byte("\x03def")), packet(3, end), packet(4, []byte("\x017")), packet(5, end))
	ok := func(rows, status byte) []byte { return packet(6, []byte{0, rows, 0, status, 0, 0, 0}) }
	deadlock := packet(6, append([]byte{errorPacket, 0xbd, 4}, "#40001deadlock"...))
	empty := packet(6, append([]byte{errorPacket, 0x29, 4}, "#42000empty"...))
	for text, c := range map[string]struct {
		answer []byte
		want   string
	}{
		"EXECUTE IMMEDIATE 'CALL p()'":     {slices.Concat(result, result, deadlock), "1213 #40001deadlock"},
		"CALL p()":                         {slices.Concat(result, deadlock), "1213 #40001deadlock"},
		"call p(); COMMIT":                 {slices.Concat(result, deadlock), "1213 #40001deadlock|"},
		"CALL p(); INSERT INTO t SELECT 1": {slices.Concat(result, result, ok(0, statusMore|statusWithin), ok(3, statusWithin)), "0|3"},
		"SELECT 1; INSERT INTO t SELECT 1": {slices.Concat(result, ok(3, statusWithin)), "0|3"},
		"INSERT INTO t SELECT 1; /* */":    {slices.Concat(ok(3, statusMore|statusWithin), empty), "3"}, // the error is of an empty statement
	} {
		to := within(0)
		all, _ := asks(t, to, query(text))
		if !answers(t, to, all[0], c.answer) {
			t.Errorf("%s: the answer goes on", text)
		}
		var got []string
		for _, s := range all[0].Statements {
			if got = append(got, s.Tag); s.Error != "" {
				got[len(got)-1] = s.Error
			}
		}
		if got := strings.Join(got, "|"); got != c.want {
			t.Errorf("%s: %s, want %s", text, got, c.want)
		}
	}
}

// TestLongRequest is of several packets, whose last one may be empty.
func TestLongRequest(t *testing.T) {
	long := append(query(""), bytes.Repeat([]byte("x"), maxPacket-1)...)
	long[0], long[1], long[2] = 0xff, 0xff, 0xff
	for _, last := range []string{"", "y"} {
		all, rest := asks(t, within(0), slices.Concat(long, packet(1, []byte(last)), query("COMMIT")))
		if len(all) != 2 || len(rest) != 1 {
			t.Errorf("it is %d requests, and more of them %d times", len(all), len(rest))
		}
	}
}

// TestFetchedRows of a cursor begin as an OK does, and neither end a transaction nor the answer.
func TestFetchedRows(t *testing.T) {
	for _, can := range []uint32{0, capNoEOF} {
		to := within(can)
		all, _ := asks(t, to, packet(0, []byte{comFetch, 1, 0, 0, 0, 2, 0, 0, 0}))
		row := []byte{0, 0, 7, 0, 0, 0}
		if answers(t, to, all[0], packet(1, row), packet(2, row)) || to.State() != wire.Within {
			t.Errorf("rows end the answer, and the state is %d", to.State())
		}
		last := []byte{eofPacket, 0, 0, 1, 0}
		if can != 0 {
			last = []byte{eofPacket, 0, 0, 1, 0, 0, 0}
		}
		if !answers(t, to, all[0], packet(3, last)) || to.State() != wire.Within {
			t.Errorf("the end of the rows does not end the answer, or the state is %d", to.State())
		}
	}
}

// TestCursorBegins a transaction, where the connection has it so.
func TestCursorBegins(t *testing.T) {
	to := within(0)
	to.state.Store(uint32(wire.Idle))
	all, _ := asks(t, to, slices.Concat(prepares("SELECT 1"), executes(1)))
	answers(t, to, all[0], hasPrepared(1, 0))
	all[1].Statements[0].Answer = &wire.Answer{}
	done := answers(t, to, all[1], packet(1, []byte{1}), packet(2, []byte("\x03def")), packet(3, []byte{eofPacket, 0, 0, statusWithin | statusCursor, 0}))
	if !done || to.State() != wire.Within || !all[1].Statements[0].Answer.Cut {
		t.Errorf("done %v, state %d, and the rows that are to come: %+v", done, to.State(), all[1].Statements[0].Answer)
	}
}

// TestExecutedAtOnce: what is executed before the server has said its number is what was prepared last.
func TestExecutedAtOnce(t *testing.T) {
	to := within(0)
	first, _ := asks(t, to, slices.Concat(prepares("INSERT INTO orders VALUES (?, '?', 'it''s', ?) -- ?\n"), executes(lastPrepared, 7, 8)))
	answers(t, to, first[0], hasPrepared(1, 2))
	second, _ := asks(t, to, slices.Concat(prepares("SELECT 'x' FROM orders WHERE id = ? /* ? */"), executes(lastPrepared, 9), executes(1, 5, 6)))
	for i, want := range []string{"INSERT INTO orders VALUES (? ..., ?)['?' 'it''s' 7 8]", "SELECT ? FROM orders WHERE id = ?['x' 9]", "INSERT INTO orders VALUES (? ..., ?)['?' 'it''s' 5 6]"} {
		s := []*wire.Request{first[1], second[1], second[2]}[i].Statements[0]
		if got := fmt.Sprint(s.Shape, s.Values); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	answers(t, to, second[0], packet(1, append([]byte{errorPacket, 0x7a, 4}, "#42S02no such table"...)))
	if len(to.prepared) != 1 {
		t.Errorf("the server has refused one of 2 statements, and %d are kept", len(to.prepared))
	}
}

// TestAttributes come before a query, and behind the parameters of a statement.
func TestAttributes(t *testing.T) {
	text := func(s string) string { return string(rune(len(s))) + s }
	traced := "\x02\x01" + "\x02\x01" + "\xfe\x00" + text("traceparent") + "\x06\x00" + text("none") + text("00-4bf92f-01")
	to := within(capAttributes)
	all, _ := asks(t, to, slices.Concat(query(traced+"COMMIT"), query("\x00\x01COMMIT"), query("\x02\x01"), prepares("UPDATE t SET a = ? WHERE b = ?")))
	for i, want := range []int{1, 1, 0} {
		if got := all[i].Statements; len(got) != want || want == 1 && got[0].Kind != wire.Commit {
			t.Errorf("query %d is %+v", i, got)
		}
	}
	answers(t, to, all[3], hasPrepared(1, 2))
	head := "\x17\x01\x00\x00\x00\x08\x01\x00\x00\x00"
	traced = "\x03" + "\x02\x01" + "\x01\x00\x00" + "\x01\x00\x00" + "\xfe\x00" + text("traceparent") + "\x07" + text("00-4bf92f-01")
	again := "\x03" + "\x00\x00" + "\x08\x09" + text("00-4bf92f-02")
	all, _ = asks(t, to, slices.Concat(packet(0, []byte(head+traced)), packet(0, []byte(head+again))))
	for i, want := range []string{"7 NULL", "8 9"} {
		if got := strings.Join(all[i].Statements[0].Values, " "); got != want {
			t.Errorf("the parameters are %q, want %q", got, want)
		}
	}
}

// TestNoPassword is an empty packet, whose number the server expects to be lower than that of an
// encrypted application.
func TestNoPassword(t *testing.T) {
	to := within(1)
	to.ready.Store(false)
	to.shift.Store(1)
	empty := packet(4, nil)
	if n, r := to.Request(empty, false); n != headerSize || r != nil || empty[3] != 3 {
		t.Errorf("%d bytes pass, number %d", n, empty[3])
	}
}

// TestAnotherUser has no transaction of the one before, unless the server refuses the change.
func TestAnotherUser(t *testing.T) {
	for content, want := range map[string]wire.State{"\x00\x00\x00\x02\x00\x00\x00": wire.Idle, "\xff\x15\x04#28000no": wire.Within} {
		to := within(0)
		all, _ := asks(t, to, packet(0, []byte("\x11other\x00")))
		if !answers(t, to, all[0], packet(1, []byte(content))) || to.State() != want {
			t.Errorf("%q: the state is %d", content, to.State())
		}
	}
}

// TestLongParameters are sent before the execution, in pieces, and not in it: the others are read as they
// are, and what begins alike is not the same.
func TestLongParameters(t *testing.T) {
	to := within(0)
	all, _ := asks(t, to, prepares("INSERT INTO doc VALUES (?, ?, ?)"))
	answers(t, to, all[0], hasPrepared(1, 3))
	piece := func(id byte, text string) []byte {
		return packet(0, append([]byte{comLongData, id, 0, 0, 0, 1, 0}, text...))
	}
	execute := func() []byte {
		content := append(binary.LittleEndian.AppendUint32([]byte{comExecute}, 1), 0, 1, 0, 0, 0, 0, 1)
		return packet(0, append(append(content, 1, 0, 252, 0, 1, 0), 7, 9))
	}
	values := func(sent ...[]byte) string {
		t.Helper()
		all, _ := asks(t, to, slices.Concat(append(sent, execute())...))
		last := all[len(all)-1]
		if answers(t, to, last, packet(1, []byte{0, 1, 0, 1, 0, 0, 0})); last.Statements[0].Rows != 1 {
			t.Errorf("%+v", last.Statements[0])
		}
		return strings.Join(last.Statements[0].Values, "|")
	}
	expect := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("the parameters are %q, want %q", got, want)
		}
	}
	expect(values(piece(1, "one, "), piece(2, "of no statement"), piece(1, "two")), "7|one, two|9")
	expect(values(piece(1, "")), "7||9")
	expect(values(piece(1, "given up"), packet(0, []byte{comResetStmt, 1, 0, 0, 0}), piece(1, "x")), "7|x|9")
	same := strings.Repeat("a", 100_000)
	one, two := values(piece(1, same), piece(1, "b")), values(piece(1, same), piece(1, "c"))
	if one == two || one != values(piece(1, same), piece(1, "b")) || !strings.HasSuffix(strings.Split(one, "|")[1], "...") {
		t.Errorf("%q and %q", one, two)
	}
}

// TestStreamOfTheLog has no end that an event's bytes could be taken for, and what the application says
// meanwhile is no request.
func TestStreamOfTheLog(t *testing.T) {
	to := within(0)
	all, _ := asks(t, to, packet(0, []byte{comBinlogDump, 4, 0, 0, 0, 0, 0, 7, 0, 0, 0}))
	dump := all[0]
	event := append([]byte{0, 0, 0, 0}, bytes.Repeat([]byte{0xfe}, 40)...)
	if !dump.Quiet || answers(t, to, dump, packet(1, event), packet(2, event)) || to.State() != wire.Within {
		t.Errorf("quiet %v, state %d", dump.Quiet, to.State())
	}
	if said, _ := asks(t, to, packet(0, []byte("\xefread so far"))); len(said) > 0 {
		t.Errorf("it is %d requests", len(said))
	}
	if !answers(t, to, dump, packet(3, event), packet(4, []byte{eofPacket, 0, 0, 2, 0})) {
		t.Error("the end does not end it")
	}
	if all, _ = asks(t, to, query("COMMIT")); len(all) != 1 {
		t.Error("nothing comes behind it")
	}
	all, _ = asks(t, to, packet(0, []byte{comBinlogGTID, 0, 0}))
	if !answers(t, to, all[0], packet(1, []byte("\xff\xd4\x04#HY000no log"))) || to.follows.Load() {
		t.Error("an error does not end it")
	}
}
