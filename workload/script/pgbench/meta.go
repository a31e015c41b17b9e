package pgbench

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

type word struct {
	text string
	at   int
}

// meta reads a line that begins with a backslash.
func (r *reader) meta() error {
	start := r.at
	r.at++
	name, found := r.word()
	if !found {
		return nil // a backslash alone is nothing, as in pgbench
	}
	switch command := strings.ToLower(name.text); command {
	case "set":
		return r.set(start)
	case "if", "elif", "else", "endif":
		return r.condition(start, command)
	case "sleep", "gset", "aset", "startpipeline", "syncpipeline", "endpipeline":
		var words []word
		for {
			w, found := r.word()
			if !found {
				break
			}
			words = append(words, w)
		}
		return r.plain(start, command, words)
	case "setshell", "shell":
		return r.fail(start, "\\"+command+" runs a program of this machine, which is not done",
			"compute the value with \\set, take it from the database with \\gset, or give it with --define")
	}
	return r.fail(start, fmt.Sprintf("\\%s is no command of pgbench", name.text),
		"the commands are \\set, \\sleep, \\if, \\elif, \\else, \\endif, \\gset, \\aset, \\startpipeline, \\syncpipeline and \\endpipeline")
}

// word reads a word; found is false at the line's end, which it consumes.
func (r *reader) word() (w word, found bool) {
	r.skipSpace()
	if r.at == len(r.text) {
		return w, false
	}
	if r.text[r.at] == '\n' {
		r.at++
		return w, false
	}
	w.at = r.at
	for r.at < len(r.text) && !isSpace(r.text[r.at]) && r.continuation() == 0 {
		r.at++
	}
	w.text = r.text[w.at:r.at]
	return w, true
}

// skipSpace skips spaces in a line. A backslash at the line's end continues it.
func (r *reader) skipSpace() {
	for r.at < len(r.text) {
		n := r.continuation()
		if n == 0 && isSpace(r.text[r.at]) && r.text[r.at] != '\n' {
			n = 1
		}
		if n == 0 {
			return
		}
		r.at += n
	}
}

// continuation is the length of a backslash with the line end; 0 for none.
func (r *reader) continuation() int {
	for _, mark := range [...]string{"\\\n", "\\\r\n"} {
		if strings.HasPrefix(r.text[r.at:], mark) {
			return len(mark)
		}
	}
	return 0
}

// plain enters a command of words without an expression.
func (r *reader) plain(start int, command string, words []word) error {
	switch command {
	case "gset", "aset":
		return r.store(start, command, words)
	case "sleep":
		return r.sleep(start, words)
	}
	if len(words) > 0 {
		return r.fail(words[0].at, fmt.Sprintf("\\%s takes nothing behind it", command), "")
	}
	kinds := map[string]Kind{"startpipeline": StartPipeline, "syncpipeline": SyncPipeline, "endpipeline": EndPipeline}
	r.add(start, Command{Kind: kinds[command]})
	return nil
}

// store makes the statement before store its answer.
func (r *reader) store(start int, command string, words []word) error {
	last := len(r.script.Commands) - 1
	if last < 0 || r.script.Commands[last].Kind != SQL || r.script.Commands[last].Statement.End != Semicolon {
		return r.fail(start, "\\"+command+" does not come behind a statement", "write the statement before it, without a semicolon")
	}
	of := r.script.Commands[last].Statement
	if of.End = Gset; command == "aset" {
		of.End = Aset
	}
	switch {
	case len(words) > 1:
		return r.fail(words[1].at, "\\"+command+" takes a prefix at most", "")
	case len(words) == 1:
		if of.Prefix = words[0].text; !isName(of.Prefix) {
			return r.fail(words[0].at, fmt.Sprintf("%q begins no name of a variable", of.Prefix), "use letters, digits and _")
		}
	}
	return nil
}

func isName(text string) bool {
	return text != "" && beginsName(text[0]) && nameLength(text, false) == len(text)
}

// sleep reads a number or a variable, and a unit.
func (r *reader) sleep(start int, words []word) error {
	if len(words) == 0 {
		return r.fail(start, "\\sleep has no time", "write \\sleep 10 ms")
	}
	if len(words) > 2 {
		return r.fail(words[2].at, "\\sleep takes a number and a unit", "write \\sleep 10 ms")
	}
	p := Pause{Unit: time.Second}
	number := words[0]
	unit := word{at: number.at + len(number.text)}
	if len(words) == 2 {
		unit = words[1]
	}
	if name, is := strings.CutPrefix(number.text, ":"); is {
		if p.Variable = name; !isName(name) {
			return r.fail(number.at, fmt.Sprintf("%q is no variable", number.text), "")
		}
	} else {
		digits := len(strings.TrimRight(number.text, "usmUSM"))
		if len(words) == 1 { // 10ms
			unit.text, unit.at = number.text[digits:], number.at+digits
			number.text = number.text[:digits]
		}
		n, err := strconv.ParseInt(number.text, 10, 64)
		if err != nil || n > math.MaxInt32 {
			return r.fail(number.at, fmt.Sprintf("%q is no time to sleep", number.text), "write an integer and us, ms or s: \\sleep 500 ms")
		}
		p.Units = n
	}
	switch strings.ToLower(unit.text) {
	case "", "s":
	case "ms":
		p.Unit = time.Millisecond
	case "us":
		p.Unit = time.Microsecond
	default:
		return r.fail(unit.at, fmt.Sprintf("%q is no unit", unit.text), "write us, ms or s")
	}
	if p.Variable == "" {
		if _, err := p.Duration(nil); err != nil {
			return r.fail(number.at, err.Error(), "")
		}
	}
	r.add(start, Command{Kind: Sleep, Pause: p})
	return nil
}

func (r *reader) set(start int) error {
	name, found := r.word()
	if !found {
		return r.fail(start, "\\set has no variable", "write \\set name expression")
	}
	if !isName(name.text) {
		return r.fail(name.at, fmt.Sprintf("%q is no name of a variable", name.text), "a name has letters, digits and _, and begins with no digit")
	}
	x, err := r.expression()
	if err != nil {
		return err
	}
	r.add(start, Command{Kind: Set, Variable: name.text, Expression: x})
	return nil
}

// condition is an \if without its \endif yet.
type condition struct {
	at int
	// branch is the command to be given a target; -1 behind \else.
	branch int
	// jumps are the commands that end a branch.
	jumps []int
}

func (r *reader) condition(start int, command string) error {
	if command == "if" {
		x, err := r.expression()
		if err != nil {
			return err
		}
		r.open = append(r.open, &condition{at: start, branch: r.add(start, Command{Kind: Branch, Expression: x})})
		return nil
	}
	if len(r.open) == 0 {
		return r.fail(start, "\\"+command+" has no \\if", "write \\if and a condition before it")
	}
	of := r.open[len(r.open)-1]
	if command != "endif" {
		if of.branch < 0 {
			return r.fail(start, "\\"+command+" comes behind \\else", "\\else is the last branch before \\endif")
		}
		of.jumps = append(of.jumps, r.add(start, Command{Kind: Jump}))
	}
	commands := r.script.Commands
	if of.branch >= 0 {
		commands[of.branch].Target = len(commands)
		of.branch = -1
	}
	if command == "elif" {
		x, err := r.expression()
		of.branch = r.add(start, Command{Kind: Branch, Expression: x})
		return err
	}
	if command == "endif" {
		for _, jump := range of.jumps {
			commands[jump].Target = len(commands)
		}
		r.open = r.open[:len(r.open)-1]
	}
	if w, found := r.word(); found {
		return r.fail(w.at, "\\"+command+" takes nothing behind it", "")
	}
	return nil
}
