package redis

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// command is a command and later its answer (manual, "Redis serialization protocol specification",
// RESP2, in which servers send nothing unasked).
type command struct {
	words []string
	// answer is a string, an int64 or a []any of answers; within it nil means none, and an error
	// is the server's.
	answer any
	// err is the server's error, or errNone.
	err error
}

func newCommand(words ...string) *command { return &command{words: words} }

func asking(name string, keys []string) *command {
	return newCommand(append(append(make([]string, 0, 1+len(keys)), name), keys...)...)
}

type serverError string

func (e serverError) Error() string { return string(e) }

// errNone is a null answer.
const errNone = serverError("there is nothing")

func answerOf[T any](c *command) (T, error) {
	as, is := c.answer.(T)
	if c.err == nil && !is {
		return as, fmt.Errorf("%s was answered by a %T", c.words[0], c.answer)
	}
	return as, c.err
}

func (c *command) texts() (texts []string, err error) {
	all, err := answerOf[[]any](c)
	for _, one := range all {
		text, is := one.(string)
		if !is {
			return nil, fmt.Errorf("%s was answered by a list with a %T", c.words[0], one)
		}
		texts = append(texts, text)
	}
	return texts, err
}

func (c *command) appendTo(out []byte) []byte {
	out = appendHead(out, '*', len(c.words))
	for _, word := range c.words {
		out = appendHead(out, '$', len(word))
		out = append(append(out, word...), "\r\n"...)
	}
	return out
}

func appendHead(out []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(out, kind), int64(n), 10), "\r\n"...)
}

// read reads the answer. Its error is the connection's.
func (c *command) read(in *bufio.Reader) (err error) {
	c.answer, err = readAnswer(in)
	switch answer := c.answer.(type) {
	case serverError:
		c.answer, c.err = nil, answer
	case nil:
		c.err = errNone
	}
	return err
}

// longest bounds a text in bytes (redis.conf, proto-max-bulk-len).
const longest = 512 << 20

func readAnswer(in *bufio.Reader) (any, error) {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	end := len(line) - len("\r\n")
	if end < 1 || line[end] != '\r' {
		return nil, notRedis(line)
	}
	kind, text := line[0], line[1:end]
	switch kind {
	case '+':
		return word(text), nil
	case '-':
		return serverError(text), nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil:
	case kind == ':':
		return n, nil
	case n < 0 && (kind == '$' || kind == '*'):
		return nil, nil
	case kind == '$' && n <= longest:
		return readText(in, int(n))
	case kind == '*':
		return readList(in, n)
	}
	return nil, notRedis(line)
}

func notRedis(line []byte) error {
	return fmt.Errorf("an answer begins with %.20q, as none of Redis does", line)
}

// word avoids an allocation for common simple strings.
func word(text []byte) any {
	switch string(text) {
	case "OK":
		return "OK"
	case "QUEUED":
		return "QUEUED"
	}
	return string(text)
}

func readText(in *bufio.Reader, n int) (any, error) {
	end := len("\r\n")
	if n+end > in.Size() {
		text := make([]byte, n)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		_, err := in.Discard(end)
		return string(text), err
	}
	text, err := in.Peek(n + end)
	if err != nil {
		return nil, err
	}
	of := string(text[:n])
	_, err = in.Discard(n + end)
	return of, err
}

func readList(in *bufio.Reader, n int64) (any, error) {
	list := make([]any, 0, min(n, 1024))
	for range n {
		one, err := readAnswer(in)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
