package wire

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestStatements takes texts apart into shapes and values.
func TestStatements(t *testing.T) {
	for _, c := range []struct {
		text   string
		shapes []string
		values []string // of all
		kinds  []Kind
	}{
		{"SELECT * FROM t WHERE id = 17", []string{"SELECT * FROM t WHERE id = ?"}, []string{"17"}, []Kind{Other}},
		{"insert into t2 values ('it''s; so', 1.5e3, $1) -- comment; 'x'\n", []string{"insert into t2 values (? ..., $1)"}, []string{"'it''s; so'", "1.5e3"}, []Kind{Other}},
		{"BEGIN; UPDATE a SET b=b+1;COMMIT", []string{"BEGIN", "UPDATE a SET b=b+?", "COMMIT"}, []string{"1"}, []Kind{Begin, Other, Commit}},
		{"SELECT 1 WHERE x IN (1,2, 3)", []string{"SELECT ? WHERE x IN (? ...)"}, []string{"1", "1", "2", "3"}, []Kind{Other}},
		{`SELECT E'a\'b;' , "od;d 1", $$ x ; 'y' $$, $q$ $$ $q$`, []string{`SELECT E? , "od;d 1", ? ...`}, []string{`'a\'b;'`, "$$ x ; 'y' $$", "$q$ $$ $q$"}, []Kind{Other}},
		{"/* a;b */ start transaction read only", []string{"start transaction read only"}, nil, []Kind{Begin}},
		{"ROLLBACK TO SAVEPOINT s1", []string{"ROLLBACK TO SAVEPOINT ?"}, nil, []Kind{Other}},
		{"START REPLICA; start slave; BEGIN NOT ATOMIC SELECT 1; BEGIN WORK; BEGIN NOT DEFERRABLE; START", []string{"START REPLICA", "start slave", "BEGIN NOT ATOMIC SELECT ?", "BEGIN WORK", "BEGIN NOT DEFERRABLE", "START"}, []string{"1"}, []Kind{Other, Other, Other, Begin, Begin, Other}},
		{"abort", []string{"abort"}, nil, []Kind{Rollback}},
		{"ALTER ROLE me PASSWORD 'hunter2'", []string{"ALTER ROLE me PASSWORD ?"}, []string{"'hunter2'"}, []Kind{Other}},
		{`DECLARE "_django_curs_1_sync_2" NO SCROLL CURSOR FOR SELECT 1; declare c_1f_2 CURSOR FOR SELECT a; DECLARE "a b"" c" BINARY CURSOR FOR SELECT a; DECLARE c`,
			[]string{"DECLARE ? NO SCROLL CURSOR FOR SELECT ?", "DECLARE ? CURSOR FOR SELECT a", "DECLARE ? BINARY CURSOR FOR SELECT a", "DECLARE c"}, []string{"1"}, []Kind{Other, Other, Other, Other}},
		{`FETCH FORWARD 50 FROM "c 1"; FETCH ALL FROM c1; FETCH NEXT IN c; MOVE 7 c; FETCH c1`,
			[]string{"FETCH FORWARD ? FROM ?", "FETCH ALL FROM ?", "FETCH NEXT IN ?", "MOVE ? ?", "FETCH ?"}, []string{"50", "7"}, []Kind{Other, Other, Other, Other, Other}},
		{`CLOSE "c 1"; close all; DEALLOCATE _pg3_7; DEALLOCATE PREPARE s; DEALLOCATE ALL; DEALLOCATE PREPARE all`,
			[]string{"CLOSE ?", "close all", "DEALLOCATE ?", "DEALLOCATE PREPARE ?", "DEALLOCATE ALL", "DEALLOCATE PREPARE all"}, nil, []Kind{Other, Other, Other, Other, Other, Other}},
		{`DELETE FROM t WHERE CURRENT OF "c ""1"; update t set a = b where current of c1 returning a`,
			[]string{"DELETE FROM t WHERE CURRENT OF ?", "update t set a = b where current of ? returning a"}, nil, []Kind{Other, Other}},
		{" ; ; ", nil, nil, nil}, {"'never ends", []string{"?"}, []string{"'never ends"}, []Kind{Other}},
	} {
		var shapes, values []string
		var kinds []Kind
		for _, s := range Statements(c.text) {
			shapes, values, kinds = append(shapes, s.Shape), append(values, s.Values...), append(kinds, s.Kind)
		}
		if !slices.Equal(shapes, c.shapes) || !slices.Equal(values, c.values) || !slices.Equal(kinds, c.kinds) {
			t.Errorf("%q: %q %q %v, want %q %q %v", c.text, shapes, values, kinds, c.shapes, c.values, c.kinds)
		}
	}
}

// TestEscapedStatements have texts in which a backslash escapes, and in double quotes.
func TestEscapedStatements(t *testing.T) {
	for text, want := range map[string][]string{
		`INSERT INTO t VALUES ('it\'s; so', "x", 7); COMMIT`:     {"INSERT INTO t VALUES (? ...)", `'it\'s; so'`, "'x'", "7", "COMMIT"},
		`UPDATE t SET a = "say ""it's""" WHERE b = "\""`:         {"UPDATE t SET a = ? WHERE b = ?", `'say "it''s"'`, `'\"'`},
		`CREATE USER me IDENTIFIED BY "hunter2"`:                 {"CREATE USER me IDENTIFIED BY ?", "'hunter2'"},
		"# it's\nUPDATE t SET a = 5--3 -- so's this\n, b = c--d": {"UPDATE t SET a = ?--? , b = c--d", "5", "3"},
		`SELECT a$$b FROM t WHERE c = 'ends never\'`:             {"SELECT a$$b FROM t WHERE c = ?", `'ends never\'`},
	} {
		var got []string
		for _, s := range EscapedStatements(text) {
			got = append(append(got, s.Shape), s.Values...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestEvents are written and read.
func TestEvents(t *testing.T) {
	for _, text := range []string{"answer-lost@0123abcd:3", "late-10s@0123abcd:1", "silent@connect:1", "too-many-connections@connect:2"} {
		f, err := ParseFault(text)
		if err != nil || f.String() != text {
			t.Errorf("%s: %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", "answer-lost", "smash@0123abcd:1", "late-@connect:1", "reset@connect:0", "reset@connect:x"} {
		if f, err := ParseFault(text); err == nil {
			t.Errorf("%q is taken for %v", text, f)
		}
	}
	for text, want := range map[string]string{
		"late-10s@connect:1": "too-many-connections, reset, silent", "answer-lost@connect:1": "too-many-connections, reset, silent",
		"too-many-connections@commit:1": "reset, cut-all, answer-lost",
	} {
		_, err := ParseFault(text)
		if wrong, is := errors.AsType[*PlaceError](err); !is || !strings.Contains(wrong.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
