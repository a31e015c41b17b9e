package pgbench

import (
	"fmt"
	"math"
	"strconv"
)

// Precedences of operators as in SQL, from the loosest.
const (
	orLevel = iota + 1
	andLevel
	notLevel
	isLevel
	comparisonLevel
	bitLevel
	sumLevel
	productLevel
	signLevel
)

// Bounds on an expression's nesting and operators.
const (
	maxDepth      = 1000
	maxOperations = 10_000
)

// grammar reads one expression, which ends with its line.
type grammar struct {
	*reader
	// ahead is the next token.
	ahead      token
	depth      int
	operations int
}

func (r *reader) expression() (*Expression, error) {
	g := &grammar{reader: r}
	err := g.advance()
	if err != nil {
		return nil, err
	}
	root, err := g.operators(orLevel)
	if err != nil {
		return nil, err
	}
	if g.ahead.kind != nothing {
		return nil, g.unexpected()
	}
	return &Expression{root}, nil
}

func (g *grammar) advance() (err error) {
	g.ahead, err = g.reader.next()
	return err
}

func (g *grammar) unexpected() error {
	if g.ahead.kind == nothing {
		return g.fail(g.ahead.at, "the expression is not complete", "")
	}
	return g.fail(g.ahead.at, fmt.Sprintf("%q is not understood here", g.ahead.text), "")
}

// want takes a required token.
func (g *grammar) want(kind tokenKind, text string) error {
	if !g.ahead.is(kind, text) {
		if g.ahead.kind == nothing {
			return g.fail(g.ahead.at, fmt.Sprintf("%q is missing", text), "")
		}
		return g.fail(g.ahead.at, fmt.Sprintf("%q is not understood here, where %q is missing", g.ahead.text, text), "")
	}
	return g.advance()
}

// level is the precedence of the next operator; 0 if there is none.
func (g *grammar) level() int {
	if g.ahead.kind != sign && g.ahead.kind != name {
		return 0
	}
	switch g.ahead.text {
	case "or":
		return orLevel
	case "and":
		return andLevel
	case "is", "isnull", "notnull":
		return isLevel
	case "<", "<=", ">", ">=", "=", "<>", "!=":
		return comparisonLevel
	case "|", "#", "&", "<<", ">>":
		return bitLevel
	case "+", "-":
		return sumLevel
	case "*", "/", "%":
		return productLevel
	}
	return 0
}

// operators reads operands joined by operators of at least a level.
func (g *grammar) operators(least int) (node, error) {
	left, err := g.operand()
	compared := false
	for err == nil {
		operator, level := g.ahead, g.level()
		if level < least || level == 0 {
			return left, nil
		}
		if level == comparisonLevel && compared {
			return nil, g.unexpected() // 1 < 2 < 3 is none of SQL
		}
		compared = level == comparisonLevel
		if g.operations++; g.operations > maxOperations {
			return nil, g.fail(operator.at, "the expression is too long", "compute it in several \\set")
		}
		if err = g.advance(); err != nil {
			break
		}
		if level == isLevel {
			left, err = g.test(operator.text, left)
			continue
		}
		var right node
		if right, err = g.operators(level + 1); err == nil {
			left = binary(operator.text, left, right)
		}
	}
	return nil, err
}

func binary(operator string, left, right node) node {
	switch operator {
	case "and":
		return lazy{left, right, false}
	case "or":
		return lazy{left, right, true}
	case "!=":
		operator = "<>"
	case ">", ">=":
		operator = map[string]string{">": "<", ">=": "<="}[operator]
		left, right = right, left
	}
	return &application{apply: operatorOf(operator), arguments: []node{left, right}}
}

// test reads the rest of IS, ISNULL or NOTNULL.
func (g *grammar) test(operator string, left node) (node, error) {
	wanted, not := Value{}, operator == "notnull"
	if operator == "is" {
		if not = g.ahead.is(name, "not"); not {
			if err := g.advance(); err != nil {
				return nil, err
			}
		}
		switch {
		case g.ahead.is(name, "null"):
		case g.ahead.is(name, "true"), g.ahead.is(name, "false"):
			wanted = Bool(g.ahead.text == "true")
		default:
			return nil, g.unexpected()
		}
		if err := g.advance(); err != nil {
			return nil, err
		}
	}
	return &application{takesNull: true, arguments: []node{left}, apply: func(_ *Scope, a []Value) (Value, error) {
		return Bool((a[0] == wanted) != not), nil
	}}, nil
}

func (g *grammar) operand() (node, error) {
	t := g.ahead
	if g.depth++; g.depth > maxDepth {
		return nil, g.fail(t.at, "the expression is nested too deep", "compute it in several \\set")
	}
	defer func() { g.depth-- }()
	if t.kind == nothing {
		return nil, g.unexpected()
	}
	if err := g.advance(); err != nil {
		return nil, err
	}
	switch t.kind {
	case number:
		return g.number(t)
	case variableName:
		return reference(t.text), nil
	case sign:
		return g.prefix(t)
	}
	switch t.text {
	case "null":
		return constant{}, nil
	case "true", "false":
		return constant{Bool(t.text == "true")}, nil
	case "not":
		x, err := g.operators(notLevel)
		return &application{apply: negation, arguments: []node{x}}, err
	case "case":
		return g.choice()
	case "and", "or", "is", "isnull", "notnull", "when", "then", "else", "end":
		g.ahead = t
		return nil, g.unexpected()
	}
	return g.function(t)
}

// prefix reads the operand of a prefix operator, or parentheses. -x is 0 - x, and ~x is -1 # x.
func (g *grammar) prefix(t token) (node, error) {
	switch t.text {
	case "(":
		x, err := g.operators(orLevel)
		if err != nil {
			return nil, err
		}
		return x, g.want(sign, ")")
	case "+":
		return g.operators(signLevel)
	case "-":
		if g.ahead.is(number, "9223372036854775808") {
			return constant{Int(math.MinInt64)}, g.advance()
		}
		x, err := g.operators(signLevel)
		return binary("-", constant{Int(0)}, x), err
	case "~":
		x, err := g.operators(bitLevel + 1)
		return binary("#", constant{Int(-1)}, x), err
	}
	g.ahead = t
	return nil, g.unexpected()
}

func (g *grammar) number(t token) (node, error) {
	if numberIsWhole(t.text) {
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, g.fail(t.at, fmt.Sprintf("the integer %s does not fit into 64 bits", t.text), "write it with a point to have a double")
		}
		return constant{Int(n)}, nil
	}
	n, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		return nil, g.fail(t.at, fmt.Sprintf("the number %s is out of range", t.text), "")
	}
	return constant{Double(n)}, nil
}

func numberIsWhole(text string) bool {
	for i := range len(text) {
		if !isDigit(text[i]) {
			return false
		}
	}
	return true
}

func (g *grammar) choice() (node, error) {
	c := choice{otherwise: constant{}}
	for first := true; first || g.ahead.is(name, "when"); first = false {
		if err := g.want(name, "when"); err != nil {
			return nil, err
		}
		condition, err := g.operators(orLevel)
		if err != nil {
			return nil, err
		}
		if err := g.want(name, "then"); err != nil {
			return nil, err
		}
		result, err := g.operators(orLevel)
		if err != nil {
			return nil, err
		}
		c.conditions, c.results = append(c.conditions, condition), append(c.results, result)
	}
	if g.ahead.is(name, "else") {
		err := g.advance()
		if err == nil {
			c.otherwise, err = g.operators(orLevel)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, g.want(name, "end")
}

func (g *grammar) function(t token) (node, error) {
	of, known := functionOf(t.text)
	if !known {
		return nil, g.fail(t.at, fmt.Sprintf("%q is no function of pgbench", t.text), "a variable is written as :"+t.text)
	}
	if err := g.want(sign, "("); err != nil {
		return nil, err
	}
	a := &application{apply: of.apply, takesNull: of.takesNull}
	for !g.ahead.is(sign, ")") {
		if len(a.arguments) > 0 {
			if err := g.want(sign, ","); err != nil {
				return nil, err
			}
		}
		x, err := g.operators(orLevel)
		if err != nil {
			return nil, err
		}
		a.arguments = append(a.arguments, x)
	}
	if n := len(a.arguments); n < of.least || n > of.most {
		wanted := strconv.Itoa(of.least)
		if of.most > of.least {
			wanted += " to " + strconv.Itoa(of.most)
		}
		return nil, g.fail(t.at, fmt.Sprintf("%s has %d arguments, and takes %s", t.text, n, wanted), "")
	}
	if of.seeded && len(a.arguments) < of.most {
		a.arguments = append(a.arguments, reference(DefaultSeed))
	}
	return a, g.advance()
}
