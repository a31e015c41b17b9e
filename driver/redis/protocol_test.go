package redis

import (
	"bufio"
	"errors"
	"strings"
	"testing"
)

// TestAnswers are taken for no others than they are.
func TestAnswers(t *testing.T) {
	for sent, want := range map[string]error{"$-1\r\n": errNone, "-ERR not so\r\n": errors.New("ERR not so"), "$1\r\n1\r\n": errors.New("get was answered by a string")} {
		c := newCommand("get")
		err := c.read(bufio.NewReader(strings.NewReader(sent)))
		if _, got := answerOf[int64](c); err != nil || got == nil || got.Error() != want.Error() {
			t.Errorf("%q: %v, %v, want %v", sent, got, err, want)
		}
	}
}
