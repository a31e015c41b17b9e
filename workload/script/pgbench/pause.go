package pgbench

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Pause is \sleep's: Units or a variable's value, times Unit.
type Pause struct {
	// Variable is empty if Units has the number.
	Variable string
	Units    int64
	Unit     time.Duration
}

// maxPause: pgbench counts microseconds in 32 bits.
const maxPause = (1<<31 - 1) * time.Microsecond

// Duration is the pause. As in pgbench, a variable's leading integer counts: 1.7 is 1.
func (p Pause) Duration(v *Variables) (time.Duration, error) {
	n := p.Units
	if p.Variable != "" {
		text, known := v.Text(p.Variable)
		if !known {
			return 0, fmt.Errorf("the variable %s is not set", p.Variable)
		}
		var err error
		if n, err = leadingInteger(text); err != nil {
			return 0, fmt.Errorf("the variable %s is %q, and no number of seconds, milliseconds or microseconds", p.Variable, text)
		}
	}
	if n > int64(maxPause/p.Unit) {
		return 0, fmt.Errorf("a pause is at most %v", maxPause)
	}
	return max(0, time.Duration(n)*p.Unit), nil
}

func leadingInteger(text string) (int64, error) {
	text = strings.TrimLeft(text, " \t\n\v\f\r")
	end := 0
	for end < len(text) && (isDigit(text[end]) || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	return strconv.ParseInt(text[:end], 10, 64)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
