package exchange

import (
	"bytes"
	"fmt"
	"io"
)

// Format is the format of a history.
type Format uint8

const (
	// EDN is one map for each operation, in sequence or in one vector.
	EDN Format = iota + 1
	// JSON is one object for each operation, each on its own line or all in one array.
	JSON
	// Log is the text of Jepsen's log and history.txt: a process, a type, a function and a value
	// on each line.
	Log
)

// String returns the format's name.
func (f Format) String() string {
	switch f {
	case EDN:
		return "EDN"
	case JSON:
		return "JSON"
	case Log:
		return "Jepsen log"
	default:
		return fmt.Sprintf("format(%d)", uint8(f))
	}
}

// detect finds the format from a file's beginning. An empty file has no operations.
func detect(in *input) (Format, error) {
	head := in.ahead(len(in.buf))
	if in.err != nil && in.err != io.EOF {
		in.pos = in.end // what was read is of no use
		return 0, in.broken()
	}
	head = trimBlank(head)
	if len(head) > 0 && (head[0] == '[' || head[0] == '(') {
		head = trimBlank(head[1:])
		if len(head) > 0 && (head[0] == ']' || head[0] == ')') {
			return EDN, nil
		}
	}
	switch {
	case len(head) == 0 || head[0] == '#':
		return EDN, nil
	case head[0] != '{':
		return Log, nil
	}
	if head = trimBlank(head[1:]); len(head) > 0 && head[0] == '"' {
		return JSON, nil
	}
	return EDN, nil
}

// trimBlank cuts off white space and EDN's comments.
func trimBlank(b []byte) []byte {
	for len(b) > 0 {
		switch {
		case ednSpace(b[0]):
			b = b[1:]
		case b[0] == ';':
			end := bytes.IndexByte(b, '\n')
			if end < 0 {
				return nil
			}
			b = b[end:]
		default:
			return b
		}
	}
	return nil
}
