// Package pgbench reads scripts in pgbench's language (PostgreSQL manual, page pgbench, "Custom
// Scripts"). It splits statements as pgbench does, renders them for each of pgbench's protocols,
// and computes expressions to pgbench's values.
//
// It must not know any database, any driver, nor who runs a script.
package pgbench

import "fmt"

// Script is a parsed script. It is immutable and safe for concurrent use.
type Script struct {
	Commands []Command
	// Comments begin with -- outside quotes.
	Comments []Comment
}

// Position is a line and column, in characters from 1.
type Position struct{ Line, Column int }

// Comment is the text behind --, up to the end of the line.
type Comment struct {
	Position
	Text string
}

// Kind is the kind of a command.
type Kind uint8

const (
	// SQL sends Statement.
	SQL Kind = iota + 1
	// Set sets Variable to Expression.
	Set
	// Sleep pauses for Pause.
	Sleep
	// Branch, of \if or \elif, goes on at Target if its expression is not true.
	Branch
	// Jump goes on at Target. It ends a branch, before \elif or \else.
	Jump
	// StartPipeline, SyncPipeline and EndPipeline bound statements sent before any answer.
	StartPipeline
	SyncPipeline
	EndPipeline
)

// Command is one step of a script.
type Command struct {
	Position
	Kind       Kind
	Statement  *Statement
	Variable   string
	Expression *Expression
	// Target is the command at which Jump or Branch goes on; len(Commands) is the end.
	Target int
	Pause  Pause
}

// End says how a statement ends and what becomes of its answer.
type End uint8

const (
	// Semicolon drops the answer.
	Semicolon End = iota
	// Gset stores the only row of the last answer; another number of rows ends the client.
	Gset
	// Aset stores the last row of each answer in variables, and nothing of an empty answer.
	Aset
)

// Statement is sent at once: one SQL statement, or several combined by \;.
type Statement struct {
	// Text lacks comments before it and its end. \; is a semicolon.
	Text string
	// References are the places of :name in Text in order, in quotes and comments too.
	References []Reference
	End        End
	// Prefix begins the names of Gset's and Aset's variables.
	Prefix string
	// Parts are the single statements of Text, without semicolons.
	Parts []string
}

// Reference is a :name in a statement: Text[Start:End].
type Reference struct {
	Name       string
	Start, End int
	// Hidden is true in quotes and comments, where a server knows no parameter.
	Hidden bool
}

// MaxParameters bounds a statement's references, as in pgbench.
const MaxParameters = 255

// Error says what is wrong with a script, and where.
type Error struct {
	Path string
	Position
	Reason string
	// Advice may be empty.
	Advice string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}
