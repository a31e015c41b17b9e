package script

import (
	"errors"
	"maps"
	"time"

	"assay/internal/wait"
)

// command is one line of a script, or one statement.
type command struct {
	// line and column are where it begins in the text.
	line, column int
	// variable gets the value, of \set; sleep has the unit, of \sleep.
	variable string
	value    expression
	sleep    time.Duration
	// text is a statement with parameters, and variables their values.
	text      string
	variables []string
}

// wrong is an error of the command. What the database or the context says is wrapped.
func (c *command) wrong(path string, err error) error {
	var at *Error
	if errors.As(err, &at) {
		return err
	}
	return &Error{File: path, Line: c.line, Column: c.column, Reason: err.Error(), Err: err}
}

// operationID is the variable with the identifier of the operation, which pgbench has not.
const operationID = "operation_id"

func runCommands(path string, commands []command, constants map[string]scalar, c *call) error {
	variables := make(map[string]scalar, len(constants)+len(commands))
	maps.Copy(variables, constants)
	variables["client_id"] = scalar{whole: int64(c.client)}
	variables[operationID] = scalar{whole: firstID(c.client, c.seq)}
	var parameters []any
	for i := range commands {
		of := &commands[i]
		var err error
		switch {
		case of.variable != "":
			var v scalar
			v, err = of.value(variables, &c.random)
			variables[of.variable] = v
		case of.sleep != 0:
			var v scalar
			if v, err = of.value(variables, &c.random); err == nil {
				err = wait.Pause(c.ctx, time.Duration(v.float()*float64(of.sleep)))
			}
		default:
			parameters = make([]any, 0, len(of.variables)) // a driver may read them for a moment longer
			for _, name := range of.variables {
				parameters = append(parameters, variables[name].any())
			}
			if err = c.send(of.text, parameters); err == nil {
				continue
			}
		}
		if err != nil {
			return of.wrong(path, err)
		}
	}
	return nil
}

// send runs a statement whose answer nobody wants.
func (c *call) send(text string, parameters []any) error {
	s, err := c.prepare(text, parameters)
	if err != nil {
		return err
	}
	if s.Reads {
		err = c.tx.Query(c.ctx, s, nil)
	} else {
		_, err = c.tx.Execute(c.ctx, s)
	}
	if err != nil {
		return &databaseError{err}
	}
	return nil
}
