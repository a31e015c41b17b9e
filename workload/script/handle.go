package script

import (
	"errors"
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"assay/internal/wait"
)

// handle is the script's tx.
type handle struct{ *call }

func handleMembers() map[string]member[handle] {
	return map[string]member[handle]{
		"exec": method(handle.exec), "query": method(handle.queryRows), "row": method(handle.row), "value": method(handle.value),
		"expect": method(handle.expectation), "sleep": method(handle.sleep),
		"find":      documentMethod("tx.query", handle.find),
		"find_one":  documentMethod("tx.row or tx.value", handle.findOne),
		"aggregate": documentMethod("tx.query", handle.aggregate),
		"insert":    documentMethod("tx.exec", handle.insert),
		"update":    documentMethod("tx.exec", handle.update),
		"delete":    documentMethod("tx.exec", handle.remove),
	}
}

// statement reads an SQL statement and its parameters; instead is the counterpart for documents.
func (h handle) statement(instead string, a arguments) (Statement, error) {
	if err := h.program.statements.inLanguage(SQL, "tx."+a.name, instead); err != nil {
		return Statement{}, err
	}
	h.at = int(a.thread.CallFrame(1).Pos.Line)
	if len(a.args) == 0 || len(a.kwargs) > 0 {
		return Statement{}, fmt.Errorf("%s takes a statement, and then the values of $1, $2 and so on", a.name)
	}
	statement, is := a.args[0].(starlark.String)
	if !is {
		return Statement{}, fmt.Errorf("%s takes a statement as a string, not a %s", a.name, a.args[0].Type())
	}
	parameters := make([]any, 0, len(a.args)-1)
	for i, arg := range a.args[1:] {
		v, err := plain(arg)
		if err != nil {
			return Statement{}, fmt.Errorf("the value of $%d: %w", i+1, err)
		}
		parameters = append(parameters, v)
	}
	return h.prepare(string(statement), parameters)
}

func (h handle) exec(a arguments) (starlark.Value, error) {
	s, err := h.statement("tx.insert, tx.update or tx.delete", a)
	if err != nil {
		return nil, err
	}
	changed, err := h.execute(s)
	return starlark.MakeInt64(changed), err
}

func (h handle) rows(a arguments) ([]starlark.Value, error) {
	s, err := h.statement("tx.find, tx.find_one or tx.aggregate", a)
	if err != nil {
		return nil, err
	}
	rows, err := h.query(s)
	if err != nil {
		return nil, err
	}
	all := make([]starlark.Value, len(rows))
	for i, row := range rows {
		tuple := make(starlark.Tuple, len(row))
		for n, v := range row {
			tuple[n] = valueOf(v)
		}
		all[i] = tuple
	}
	return all, nil
}

func (h handle) queryRows(a arguments) (starlark.Value, error) {
	rows, err := h.rows(a)
	return starlark.NewList(rows), err
}

// row is the only row, None if there is none.
func (h handle) row(a arguments) (starlark.Value, error) {
	rows, err := h.rows(a)
	switch {
	case err != nil:
		return nil, err
	case len(rows) > 1:
		return nil, fmt.Errorf("%s is for one row, and %d came; use tx.query", a.name, len(rows))
	case len(rows) == 0:
		return starlark.None, nil
	}
	return rows[0], nil
}

// value is the only column of the only row, None if there is no row.
func (h handle) value(a arguments) (starlark.Value, error) {
	row, err := h.row(a)
	columns, is := row.(starlark.Tuple)
	switch {
	case err != nil || !is:
		return row, err
	case len(columns) != 1:
		return nil, fmt.Errorf("value is for one column, and %d came; use tx.row", len(columns))
	}
	return columns[0], nil
}

func (h handle) expectation(a arguments) (starlark.Value, error) {
	var got starlark.Value
	what := "the value"
	var b bounds
	if err := a.unpack(append([]any{"got", &got, "what?", &what}, b.pairs()...)...); err != nil {
		return nil, err
	}
	wanted, err := b.expectation()
	if err == nil && len(wanted) == 0 {
		err = errors.New("expect takes equals, at_least or at_most")
	}
	if err != nil {
		return nil, err
	}
	v, err := plain(got)
	if err != nil {
		return nil, err
	}
	h.expect(what, v, wanted)
	return starlark.None, nil
}

func (h handle) sleep(a arguments) (starlark.Value, error) {
	var seconds starlark.Value
	if err := a.unpack("seconds", &seconds); err != nil {
		return nil, err
	}
	n, is := starlark.AsFloat(seconds)
	if !is || !(n >= 0 && n <= 3600) {
		return nil, fmt.Errorf("sleep takes 0 to 3600 seconds, not %v", seconds)
	}
	return starlark.None, wait.Pause(h.ctx, time.Duration(n*float64(time.Second)))
}
