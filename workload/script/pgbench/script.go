// Package pgbench reads scripts in the language of pgbench (PostgreSQL manual, page
// pgbench, "Custom Scripts"): statements of SQL, variables, expressions and meta commands.
// It splits statements as pgbench does, renders them for each of pgbench's protocols, and
// computes expressions to the values that pgbench computes.
//
// It must not know any database, any driver, nor who runs a script.
package pgbench

import "fmt"

// Script is a script that was read. It does not change, and may be used by many clients.
type Script struct {
	Commands []Command
	// Comments are those that begin with --, wherever they stand outside of quotes.
	Comments []Comment
}

// Position is where something begins in a script: line and column, in characters from 1.
type Position struct{ Line, Column int }

// Comment is the text of a comment behind its --, up to the end of the line.
type Comment struct {
	Position
	Text string
}

// Kind is what a command is.
type Kind uint8

const (
	// SQL sends a statement.
	SQL Kind = iota + 1
	// Set gives a variable the value of an expression.
	Set
	// Sleep pauses.
	Sleep
	// Branch goes on behind itself if its expression is true, and at Target if not.
	// It is \if, or the condition of \elif.
	Branch
	// Jump goes on at Target: the end of a branch that was taken, before \elif or \else.
	Jump
	// StartPipeline, SyncPipeline and EndPipeline bound statements that are sent without
	// waiting for the answers of those before.
	StartPipeline
	SyncPipeline
	EndPipeline
)

// Command is one step of a script. Execution begins at the first, and ends behind the last.
type Command struct {
	Position
	Kind Kind
	// Statement is what SQL sends.
	Statement *Statement
	// Variable gets the value of Expression, of Set.
	Variable string
	// Expression is the value of Set, and the condition of Branch.
	Expression *Expression
	// Target is the number of the command at which execution goes on after Jump, and after
	// Branch if its condition is not true. It may be len(Commands): the end.
	Target int
	// Pause is how long Sleep pauses.
	Pause Pause
}

// End is how a statement ends, which says what becomes of its answer.
type End uint8

const (
	// Semicolon drops the answer.
	Semicolon End = iota
	// Gset stores the columns of the only row of the last answer in variables. Another
	// number of rows is an error that ends the client.
	Gset
	// Aset stores the columns of the last row of each answer of combined statements in
	// variables; an answer without rows stores nothing.
	Aset
)

// Statement is what is sent at once: one statement of SQL, or several that \; combines.
type Statement struct {
	// Text is as in the script, without comments that come before it and without its end.
	// \; is a semicolon.
	Text string
	// References are the places of :name in Text, in quotes and comments too, in order.
	References []Reference
	End        End
	// Prefix begins the names of the variables of Gset and Aset.
	Prefix string
	// Parts are the single statements of Text, without semicolons: one, unless several are
	// combined.
	Parts []string
}

// Reference is a place where a statement names a variable: Text[Start:End] is its colon
// and its name.
type Reference struct {
	Name       string
	Start, End int
	// Hidden is true in quotes and comments, where a server knows no parameter.
	Hidden bool
}

// MaxParameters is how many references a statement has at most, as in pgbench.
const MaxParameters = 255

// Error says what is wrong with a script, and where.
type Error struct {
	Path string
	Position
	Reason string
	// Advice says what to do; it may be empty.
	Advice string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Reason)
	if e.Advice != "" {
		text += "; " + e.Advice
	}
	return text
}
