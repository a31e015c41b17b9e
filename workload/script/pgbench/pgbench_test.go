package pgbench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/cluster/postgres"
	"assay/internal/expect"
	"assay/workload"
)

// program runs pgbench itself on a server of the test's own.
type program struct{ address string }

func startProgram(t *testing.T) program {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	server, err := postgres.Start(ctx, postgres.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, server.Close)
	return program{server.Address()}
}

// run runs a script once, and returns what pgbench says of it.
func (p program) run(t *testing.T, script string, arguments ...string) (said string, failed bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.sql")
	expect.NoError(t, os.WriteFile(file, []byte(script), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pgbench", append([]string{"-n", "-c", "1", "-t", "1", "-f", file}, append(arguments, p.address)...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	expect.NoError(t, ctx.Err())
	return out.String(), err != nil
}

// inventor invents expressions.
type inventor struct{ random workload.Random }

func (i *inventor) pick(all ...string) string { return all[i.random.Below(uint64(len(all)))] }

// expression is one of a depth; its operands are often of a type that fits.
func (i *inventor) expression(depth int) string {
	if depth == 0 || i.random.Below(8) == 0 {
		return i.pick("0", "1", "2", "-3", "7", "63", "1000000007", "9223372036854775807", "-9223372036854775808", "0.5", "2.5", "-1.5", ".25", "1e3", "3.",
			"1.7976931348623157e308", "null", "true", "false", ":whole", ":fraction", ":truth", ":nothing", ":default_seed", ":negative", ":long")
	}
	x := func() string { return i.expression(depth - 1) }
	spaced := func(operators ...string) string { return x() + " " + i.pick(operators...) + " " + x() }
	switch i.random.Below(16) {
	case 0, 1:
		return spaced("+", "-", "*", "/", "%")
	case 2:
		return spaced("<", "<=", ">", ">=", "=", "<>", "!=")
	case 3:
		return spaced("&", "|", "#", "<<", ">>")
	case 4:
		return spaced("AND", "or")
	case 5:
		return i.pick("-", "+", "~", "NOT ", "- ~") + x()
	case 6:
		return x() + i.pick(" IS NULL", " is not null", " IS TRUE", " IS NOT TRUE", " IS FALSE", " ISNULL", " notnull")
	case 7, 8, 9:
		return "(" + x() + ")"
	case 10:
		return "CASE WHEN " + x() + " THEN " + x() + i.pick("", " WHEN "+x()+" THEN "+x()) + i.pick("", " ELSE "+x()) + " END"
	case 11:
		return i.pick("abs", "double", "exp", "int", "ln", "sqrt", "Hash", "hash_fnv1a", "hash_murmur2") + "(" + x() + ")"
	case 12:
		return i.pick("greatest", "least") + "(" + x() + i.pick("", ", "+x(), ", "+x()+", "+x()) + ")"
	case 13:
		return i.pick("mod", "pow", "power", "hash", "hash_fnv1a", "permute") + "(" + x() + ", " + x() + ")"
	case 14:
		return "permute(" + x() + ", " + i.pick("1", "2", "3", "10", "1000", "1000000000000") + ", " + x() + ")"
	}
	return i.pick("pi()", "debug("+x()+")")
}

// defined are the variables of the expressions.
var defined = map[string]string{
	"whole": "42", "fraction": "0.1", "truth": "yes", "nothing": "NULL", "default_seed": "5432", "negative": "-17", "long": " 123456789012",
}

// shown is a value as debug() writes it.
func shown(v Value) string {
	switch v.kind {
	case null:
		return "null"
	case boolean:
		return "boolean " + v.String()
	case integer:
		return "int " + v.String()
	}
	return "double " + v.String()
}

// TestExpressionsAsPgbench: what pgbench reads and computes is read and computed to the same
// values, and what it refuses is refused.
func TestExpressionsAsPgbench(t *testing.T) {
	t.Parallel()
	p := startProgram(t)
	var flags []string
	variables := &Variables{}
	for name, text := range defined {
		flags = append(flags, "-D", name+"="+text)
		variables.SetText(name, text)
	}
	i := &inventor{workload.NewRandom(20, 26)}
	var good, wrong, unread []string
	var wanted []string
	for len(good) < 1500 {
		text := i.expression(1 + int(i.random.Below(4)))
		s, err := Parse("x.sql", "\\set v debug("+text+")\n")
		if err != nil {
			unread = append(unread, text)
			continue
		}
		var debugged []string
		_, err = s.Commands[0].Expression.Evaluate(&Scope{Variables: variables, Debug: func(v Value) { debugged = append(debugged, shown(v)) }})
		if err != nil {
			if !strings.Contains(text, "abs") { // of a boolean it is undefined in pgbench
				wrong = append(wrong, text)
			}
			continue
		}
		good, wanted = append(good, text), append(wanted, strings.Join(debugged, "\n"))
	}
	p.same(t, good, wanted, flags)
	p.refuses(t, "aborted", wrong[:60], flags)
	p.refuses(t, "syntax error", unread[:min(len(unread), 20)], flags)
	if len(unread) < 5 {
		t.Errorf("%d expressions of %d are not read, which tries little", len(unread), len(good)+len(wrong)+len(unread))
	}
}

// same has pgbench compute expressions in one script.
func (p program) same(t *testing.T, expressions, wanted, flags []string) {
	t.Helper()
	var script strings.Builder
	for _, text := range expressions {
		fmt.Fprintf(&script, "\\set v debug(%s)\n", text)
	}
	said, failed := p.run(t, script.String(), flags...)
	if failed {
		t.Errorf("pgbench has failed: %s", said[max(0, len(said)-2000):])
	}
	got := make([][]string, len(expressions))
	for line := range strings.Lines(said) {
		place, value, is := strings.Cut(strings.TrimPrefix(line, "debug(script=0,command="), "): ")
		if n, err := strconv.Atoi(place); is && err == nil && n <= len(got) {
			got[n-1] = append(got[n-1], strings.TrimSpace(value))
		}
	}
	for i, text := range expressions {
		if of := strings.Join(got[i], "\n"); !alike(of, wanted[i]) {
			t.Errorf("%s\nis of pgbench %q\nand here       %q", text, of, wanted[i])
		}
	}
}

// alike compares what debug() has written. A double may differ in its last digit, since
// each library has its own logarithm.
func alike(a, b string) bool {
	left, right := strings.Fields(a), strings.Fields(b)
	if len(left) != len(right) {
		return false
	}
	for i := range left {
		x, err := strconv.ParseFloat(left[i], 64)
		y, err2 := strconv.ParseFloat(right[i], 64)
		close := err == nil && err2 == nil && left[i-1] == "double" && math.Abs(x-y) <= 1e-13*math.Abs(x)
		if left[i] != right[i] && !close {
			return false
		}
	}
	return true
}

// refuses has pgbench fail at each of the expressions.
func (p program) refuses(t *testing.T, why string, expressions, flags []string) {
	t.Helper()
	for _, text := range expressions {
		said, failed := p.run(t, fmt.Sprintf("\\set v %s\n", text), flags...)
		if !failed || !strings.Contains(said, why) {
			t.Errorf("%s: pgbench does not say %q: %s", text, why, said)
		}
	}
}
