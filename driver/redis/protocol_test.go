package redis

import (
	"bufio"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"assay/internal/expect"
)

// TestProtocol: the form of commands and of every kind of answer (manual, "Redis serialization
// protocol specification").
func TestProtocol(t *testing.T) {
	if got, want := string(newCommand("set", "k", "", "a\r\nb").appendTo(nil)), "*4\r\n$3\r\nset\r\n$1\r\nk\r\n$0\r\n\r\n$4\r\na\r\nb\r\n"; got != want {
		t.Errorf("sent %q, want %q", got, want)
	}
	long := strings.Repeat("long", 2000)
	for sent, want := range map[string]command{
		"+OK\r\n":          {answer: "OK"},
		"+PONG\r\n":        {answer: "PONG"},
		":-7\r\n":          {answer: int64(-7)},
		"$-1\r\n":          {err: errNone},
		"*-1\r\n":          {err: errNone},
		"$0\r\n\r\n":       {answer: ""},
		"$4\r\na\r\nb\r\n": {answer: "a\r\nb"},
		"-ERR not so\r\n":  {err: serverError("ERR not so")},
		"*0\r\n":           {answer: []any{}},
		"$" + strconv.Itoa(len(long)) + "\r\n" + long + "\r\n": {answer: long},
		"*4\r\n$1\r\na\r\n$-1\r\n-ERR no\r\n*1\r\n:1\r\n":      {answer: []any{"a", nil, serverError("ERR no"), []any{int64(1)}}},
	} {
		var c command
		in := bufio.NewReader(strings.NewReader(sent + "+NEXT\r\n"))
		if err := c.read(in); err != nil || !reflect.DeepEqual(c, want) {
			t.Errorf("%.40q: %+v, %v", sent, c, err)
		}
		expect.NoError(t, c.read(in))
		if c.answer != "NEXT" {
			t.Errorf("behind %.40q: %v", sent, c.answer)
		}
	}
	for _, sent := range []string{"", "+OK", "\r\n", "+OK\n", "HTTP/1.1 400 Bad Request\r\n", "$5\r\nabc", "$9999999999\r\n", "*2\r\n+OK\r\n", ":1x\r\n", "#t\r\n", "$-1x\r\n", "+" + long + "\r\n"} {
		var c command
		if err := c.read(bufio.NewReader(strings.NewReader(sent))); err == nil {
			t.Errorf("%.40q is taken for %+v", sent, c)
		}
	}
	if _, err := answerOf[int64](&command{words: []string{"get"}, answer: "1"}); err == nil {
		t.Error("a text is taken for a number")
	}
}
