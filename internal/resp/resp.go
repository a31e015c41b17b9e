// Package resp is the protocol of Redis (manual, "Redis serialization protocol specification",
// RESP2, in which servers send nothing unasked).
//
// It imports no other package of assay.
package resp

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// Error is a server's.
type Error string

func (e Error) Error() string { return string(e) }

// Append appends a command.
func Append(out []byte, words ...string) []byte {
	out = appendHead(out, '*', len(words))
	for _, word := range words {
		out = appendHead(out, '$', len(word))
		out = append(append(out, word...), "\r\n"...)
	}
	return out
}

func appendHead(out []byte, kind byte, n int) []byte {
	return append(strconv.AppendInt(append(out, kind), int64(n), 10), "\r\n"...)
}

// Bounds of an answer: of a text in bytes (redis.conf, proto-max-bulk-len), and of lists within lists.
const (
	longest = 512 << 20
	deepest = 32
)

// Read reads an answer: a string, an int64, an Error, nil for none, or a []any of these. After an error
// the connection is of no use any more.
func Read(in *bufio.Reader) (any, error) { return read(in, deepest) }

func read(in *bufio.Reader, deep int) (any, error) {
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
		return Error(text), nil
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
	case kind == '*' && deep > 0:
		return readList(in, n, deep-1)
	}
	return nil, notRedis(line)
}

func notRedis(line []byte) error {
	return fmt.Errorf("an answer has %.20q, as none of Redis does", line)
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
	size := n + len("\r\n")
	if size > in.Size() {
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return nil, err
		}
		return within(text)
	}
	text, err := in.Peek(size)
	if err != nil {
		return nil, err
	}
	of, err := within(text)
	_, _ = in.Discard(size) // which is there
	return of, err
}

// within is a text without the end of its line.
func within(text []byte) (any, error) {
	n := len(text) - len("\r\n")
	if string(text[n:]) != "\r\n" {
		return nil, notRedis(text[n:])
	}
	return string(text[:n]), nil
}

func readList(in *bufio.Reader, n int64, deep int) (any, error) {
	list := make([]any, 0, min(n, 1024))
	for range n {
		one, err := read(in, deep)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}
