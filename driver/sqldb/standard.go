package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strconv"
	"strings"

	"assay/store"
)

// Users' texts, by libraries of the standard library's kind.

// Prepared is a library's statement.
type Prepared interface {
	driver.StmtExecContext
	driver.StmtQueryContext
}

// PreparedTexts are a session's prepared texts.
type PreparedTexts struct {
	Connection driver.ConnPrepareContext
	known      map[string]driver.Stmt
}

// Prepare prepares a text the first time.
func (p *PreparedTexts) Prepare(ctx context.Context, text *store.UserText) (Prepared, error) {
	of := p.known[text.Text]
	if of == nil {
		var err error
		if of, err = p.Connection.PrepareContext(ctx, marked(text)); err != nil {
			return nil, err
		}
		if p.known == nil {
			p.known = map[string]driver.Stmt{}
		}
		p.known[text.Text] = of
	}
	prepared, is := of.(Prepared)
	if !is {
		return nil, errors.New("the library does not take a context")
	}
	return prepared, nil
}

// Close closes the statements.
func (p *PreparedTexts) Close() (err error) {
	for _, of := range p.known {
		err = errors.Join(err, of.Close())
	}
	p.known = nil
	return err
}

// TextOnly is an unprepared text on a connection.
type TextOnly struct {
	On interface {
		driver.ExecerContext
		driver.QueryerContext
	}
	Text string
}

// ExecContext implements Prepared.
func (t TextOnly) ExecContext(ctx context.Context, _ []driver.NamedValue) (driver.Result, error) {
	return t.On.ExecContext(ctx, t.Text, nil)
}

// QueryContext implements Prepared.
func (t TextOnly) QueryContext(ctx context.Context, _ []driver.NamedValue) (driver.Rows, error) {
	return t.On.QueryContext(ctx, t.Text, nil)
}

// marked replaces the parameters by ?.
func marked(text *store.UserText) string {
	var b strings.Builder
	copied := 0
	for i, at := range text.At {
		b.WriteString(text.Text[copied:at] + "?")
		copied = at + len("$"+strconv.Itoa(i+1))
	}
	return b.String() + text.Text[copied:]
}

// arguments are a text's parameters. A parameter that looks like a number becomes a number, since
// these databases do not infer types.
func arguments(text *store.UserText, decimals bool) []driver.NamedValue {
	all := make([]driver.NamedValue, len(text.Parameters))
	for i, p := range text.Parameters {
		all[i].Ordinal = i + 1
		if p != nil {
			all[i].Value = typed(*p, decimals)
		}
	}
	return all
}

// exactDigits is how many digits of a decimal a float64 keeps (C standard, DBL_DIG).
const exactDigits = 15

// typed is a parameter's value. If the database has exact decimals, one that a float64 would change
// stays a text: too many digits, or zeros at its end.
func typed(text string, decimals bool) driver.Value {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && strconv.FormatInt(n, 10) == text {
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	padded := len(text) > 1 && text[0] == '0' && text[1] != '.'
	if err != nil || padded || strings.Trim(text, "-.0123456789e+") != "" {
		return text
	}
	plain := strings.Trim(text, "-.0123456789") == ""
	if decimals && plain && (strconv.FormatFloat(f, 'f', -1, 64) != text || len(strings.Trim(text, "-.0")) > exactDigits) {
		return text
	}
	return f
}

// SendBy sends a text and reads all its results. decimals says that the database has exact
// decimals. next goes on to the next result, like driver.RowsNextResultSet.
func SendBy(ctx context.Context, of Prepared, text *store.UserText, decimals bool, next func(driver.Rows) error) (results []store.Result, err error) {
	if !text.Keep && text.Kind == store.Writes {
		done, err := of.ExecContext(ctx, arguments(text, decimals))
		if err != nil {
			return nil, err
		}
		changed, err := done.RowsAffected()
		return []store.Result{{Rows: changed}}, err
	}
	rows, err := of.QueryContext(ctx, arguments(text, decimals))
	if err != nil {
		return nil, err
	}
	for err == nil {
		var r store.Result
		if r, err = resultOf(rows, text.Keep); err == nil {
			results = append(results, r)
			err = next(rows)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if closed := rows.Close(); err == nil {
		err = closed
	}
	return results, err
}

func resultOf(rows driver.Rows, keep bool) (r store.Result, err error) {
	columns := rows.Columns()
	if keep {
		r.Columns = columns
	}
	values := make([]driver.Value, len(columns))
	for {
		err := rows.Next(values)
		switch {
		case errors.Is(err, io.EOF):
			return r, nil
		case err != nil:
			return r, err
		}
		if r.Rows++; !keep {
			continue
		}
		r.Last = r.Last[:0]
		for _, v := range values {
			text := TextOf(v)
			if v == nil {
				r.Last = append(r.Last, nil)
				continue
			}
			r.Last = append(r.Last, &text)
		}
	}
}
