package resp

import (
	"bufio"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// TestProtocol has the form of commands and of every kind of answer.
func TestProtocol(t *testing.T) {
	if got, want := string(Append(nil, "set", "k", "", "a\r\nb")), "*4\r\n$3\r\nset\r\n$1\r\nk\r\n$0\r\n\r\n$4\r\na\r\nb\r\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	long := strings.Repeat("long", 2000)
	for sent, want := range map[string]any{
		"+OK\r\n":          "OK",
		"+PONG\r\n":        "PONG",
		":-7\r\n":          int64(-7),
		"$-1\r\n":          nil,
		"*-1\r\n":          nil,
		"$0\r\n\r\n":       "",
		"$4\r\na\r\nb\r\n": "a\r\nb",
		"-ERR not so\r\n":  Error("ERR not so"),
		"*0\r\n":           []any{},
		"$" + strconv.Itoa(len(long)) + "\r\n" + long + "\r\n": long,
		"*4\r\n$1\r\na\r\n$-1\r\n-ERR no\r\n*1\r\n:1\r\n":      []any{"a", nil, Error("ERR no"), []any{int64(1)}},
	} {
		in := bufio.NewReader(strings.NewReader(sent + "+NEXT\r\n"))
		if got, err := Read(in); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%.40q: %v, %v", sent, got, err)
		}
		if got, err := Read(in); err != nil || got != "NEXT" {
			t.Errorf("behind %.40q: %v, %v", sent, got, err)
		}
	}
	for _, sent := range []string{"", "+OK", "\r\n", "+OK\n", "HTTP/1.1 400 Bad Request\r\n", "$5\r\nabc", "$3\r\nabcde\r\n", "$8000\r\n" + long + "xy",
		"$9999999999\r\n", "*2\r\n+OK\r\n", ":1x\r\n", "#t\r\n", "$-1x\r\n", "+" + long + "\r\n", strings.Repeat("*1\r\n", 1<<23)} {
		if got, err := Read(bufio.NewReader(strings.NewReader(sent))); err == nil {
			t.Errorf("%.40q is taken for %v", sent, got)
		}
	}
}
