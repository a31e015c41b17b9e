package script

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assay/workload"
)

// scalar is a value of an expression: an integer or, with real, a number. A text is only
// what --define gives.
type scalar struct {
	whole    int64
	fraction float64
	real     bool
	text     string
	isText   bool
}

func (s scalar) float() float64 {
	if s.real {
		return s.fraction
	}
	return float64(s.whole)
}

func (s scalar) any() any {
	switch {
	case s.isText:
		return s.text
	case s.real:
		return s.fraction
	}
	return s.whole
}

// scalarOf is a text as an integer, a number, or a text.
func scalarOf(text string) scalar {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return scalar{whole: n}
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return scalar{fraction: f, real: true}
	}
	return scalar{text: text, isText: true}
}

// expression computes a value from variables and by chance.
type expression func(variables map[string]scalar, r *workload.Random) (scalar, error)

// expressions reads the expressions of one line. Division of integers gives an integer, as
// in pgbench.
type expressions struct {
	*reader
	// start is where the line begins in the text of the reader.
	start int
	lexer lexer
	ahead *token
	depth int
}

// maxDepth bounds how deep an expression is nested.
const maxDepth = 100

// fail is an error at a token; the zero token is the end.
func (e *expressions) fail(t token, reason, advice string) error {
	at := t.start
	if t.kind == 0 {
		at = len(strings.TrimRight(e.lexer.text, " \t\r"))
	}
	return e.reader.fail(e.start+at, reason, advice)
}

// peek is the next token, the zero token at the end.
func (e *expressions) peek() (token, error) {
	if e.ahead == nil {
		t, _, err := e.lexer.next()
		if bad := (*sqlError)(nil); errors.As(err, &bad) {
			return token{}, e.reader.fail(e.start+bad.at, bad.reason, "")
		}
		e.ahead = &t
	}
	return *e.ahead, nil
}

func (e *expressions) take() (token, error) {
	t, err := e.peek()
	e.ahead = nil
	return t, err
}

// whole is the expression up to the end of the line.
func (e *expressions) whole() (expression, error) {
	x, err := e.sum()
	if err != nil {
		return nil, err
	}
	t, err := e.take()
	if err == nil && t.kind != 0 {
		err = e.fail(t, fmt.Sprintf("%q is not understood here", t.text), advicePart)
	}
	return x, err
}

func (e *expressions) sum() (expression, error)     { return e.chain("+-", e.product) }
func (e *expressions) product() (expression, error) { return e.chain("*/%", e.unary) }

// chain is operands with these operators between them, from left to right.
func (e *expressions) chain(operators string, operand func() (expression, error)) (expression, error) {
	left, err := operand()
	for err == nil {
		var t token
		if t, err = e.peek(); err != nil || t.kind != sign || !strings.Contains(operators, t.text) {
			break
		}
		e.ahead = nil
		var right expression
		if right, err = operand(); err == nil {
			left = operation(t.text, left, right)
		}
	}
	return left, err
}

func (e *expressions) unary() (expression, error) {
	t, err := e.take()
	if err != nil {
		return nil, err
	}
	if e.depth++; e.depth > maxDepth {
		return nil, e.fail(t, "the expression is nested too deep", "")
	}
	defer func() { e.depth-- }()
	switch {
	case t.kind == sign && (t.text == "-" || t.text == "+"):
		x, err := e.unary()
		if err != nil || t.text == "+" {
			return x, err
		}
		return operation("-", constant(scalar{}), x), nil
	case t.kind == sign && t.text == "(":
		x, err := e.sum()
		if err != nil {
			return nil, err
		}
		return x, e.want(")")
	case t.kind == variable:
		if !e.known[t.text] {
			return nil, e.fail(t, fmt.Sprintf("the variable %s is not set", t.text), fmt.Sprintf("write \\set %s before, or give --define %s=VALUE", t.text, t.text))
		}
		return func(variables map[string]scalar, _ *workload.Random) (scalar, error) {
			v := variables[t.text]
			if v.isText {
				return v, fmt.Errorf("the variable %s is %q, and no number", t.text, v.text)
			}
			return v, nil
		}, nil
	case t.kind == literal && t.text[0] != '\'':
		if v := scalarOf(t.text); !v.isText {
			return constant(v), nil
		}
	case t.kind == word:
		return e.function(t)
	}
	if t.kind == 0 {
		return nil, e.fail(t, "an expression is missing", advicePart)
	}
	return nil, e.fail(t, fmt.Sprintf("%q is not understood here", t.text), advicePart)
}

func (e *expressions) want(text string) error {
	t, err := e.take()
	if err == nil && (t.kind != sign || t.text != text) {
		err = e.fail(t, fmt.Sprintf("%q is missing", text), "")
	}
	return err
}

func constant(v scalar) expression {
	return func(map[string]scalar, *workload.Random) (scalar, error) { return v, nil }
}

func operation(operator string, left, right expression) expression {
	return func(variables map[string]scalar, r *workload.Random) (scalar, error) {
		a, err := left(variables, r)
		if err != nil {
			return a, err
		}
		b, err := right(variables, r)
		if err != nil {
			return b, err
		}
		if a.real || b.real {
			return realOperation(operator, a.float(), b.float())
		}
		return wholeOperation(operator, a.whole, b.whole)
	}
}

func realOperation(operator string, a, b float64) (scalar, error) {
	var v float64
	switch operator {
	case "+":
		v = a + b
	case "-":
		v = a - b
	case "*":
		v = a * b
	case "/":
		if b == 0 {
			return scalar{}, errors.New("division by zero")
		}
		v = a / b
	default:
		return scalar{}, errors.New("% is for integers")
	}
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return scalar{}, errors.New("the number is out of range")
	}
	return scalar{fraction: v, real: true}, nil
}

func wholeOperation(operator string, a, b int64) (scalar, error) {
	var (
		v    int64
		fits bool
	)
	switch operator {
	case "+":
		v = a + b
		fits = (v > a) == (b > 0) || b == 0
	case "-":
		v = a - b
		fits = (v < a) == (b > 0) || b == 0
	case "*":
		v = a * b
		fits = a == 0 || v/a == b && !(a == -1 && b == math.MinInt64)
	default:
		if b == 0 {
			return scalar{}, errors.New("division by zero")
		}
		if fits = a != math.MinInt64 || b != -1; fits && operator == "/" {
			v = a / b
		} else if fits {
			v = a % b
		}
	}
	if !fits {
		return scalar{}, errors.New("the integer is out of range")
	}
	return scalar{whole: v}, nil
}

// sleep reads the argument of \sleep.
func (e *expressions) sleep(of *command) error {
	var err error
	if of.value, err = e.unary(); err != nil {
		return err
	}
	unit, err := e.take()
	if err != nil {
		return err
	}
	switch {
	case unit.kind == 0 || unit.is("s"):
		of.sleep = time.Second
	case unit.is("ms"):
		of.sleep = time.Millisecond
	case unit.is("us"):
		of.sleep = time.Microsecond
	default:
		return e.fail(unit, fmt.Sprintf("%q is no unit", unit.text), "write us, ms or s")
	}
	if t, err := e.take(); err != nil || t.kind != 0 {
		return errors.Join(err, e.fail(t, "there is more behind \\sleep", ""))
	}
	return nil
}
