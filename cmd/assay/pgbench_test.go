package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
)

// operations is how often each script of the corpus is run.
const operations = 12

// TestScriptsLeaveWhatPgbenchLeaves: for every script of the corpus, pgbench on one database
// and assay on another leave the same rows in all tables. What a script draws follows from
// its variables alone.
func TestScriptsLeaveWhatPgbenchLeaves(t *testing.T) {
	t.Parallel()
	corpus, err := filepath.Abs(filepath.Join("..", "..", "workload", "script", "testdata", "pgbench"))
	expect.NoError(t, err)
	setup := filepath.Join(corpus, "setup.sql")
	conn := connect(t, databaseOf(t, "pgbench_base"))
	_, err = conn.PgConn().Exec(patiently(t), readFile(t, setup)).ReadAll()
	expect.NoError(t, err, conn.Close(patiently(t)))
	for i, script := range corpusScripts(t, corpus) {
		t.Run(strings.Join(script.names, "+"), func(t *testing.T) {
			t.Parallel()
			theirs := databaseOf(t, fmt.Sprintf("pgbench_%d TEMPLATE pgbench_base", i))
			ours := databaseOf(t, fmt.Sprintf("assay_%d", i))
			file := filepath.Join(t.TempDir(), "script.sql")
			writeFile(t, script.text, file)
			runPgbench(t, theirs, file, script.protocol)
			folder := filepath.Join(t.TempDir(), "run")
			assay(t, ".", "run", "script", file, "--setup", setup, "--allow-foreign", "--protocol", script.protocol, "--define", "i=0,word=green,base=100",
				"--clients", "1", "--ops", fmt.Sprint(operations), "--db", ours, "--out", folder, "--quiet").want(t, exitValid) // nothing is declared
			if r := resultOf(t, folder); r.Outcomes.Committed != operations {
				t.Errorf("%d operations are committed", r.Outcomes.Committed)
			}
			sameContents(t, contents(t, theirs, "public"), contents(t, ours, "assay_script"))
		})
	}
}

// corpusScript is several scripts of the corpus of one protocol, one after the other.
type corpusScript struct {
	names    []string
	protocol string
	text     string
}

// together is how many scripts of the corpus are run as one.
const together = 6

// corpusScripts joins scripts that are far from each other in the alphabet: neighbors are about
// the same. Each counts its operations, which is done once. Those that take away what others have
// left stay alone, and so does one that ends without a semicolon.
func corpusScripts(t *testing.T, corpus string) (all []corpusScript) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpus, "*.sql"))
	expect.NoError(t, err)
	protocols := map[string][]string{}
	for _, file := range files {
		switch name := filepath.Base(file); name {
		case "setup.sql":
		case "bulk.sql", "truncate.sql", "select_only.sql":
			protocols[name] = []string{file}
		default:
			protocol := protocolOf(readFile(t, file))
			protocols[protocol] = append(protocols[protocol], file)
		}
	}
	const counting = "\\set i :i + 1\n"
	for _, of := range protocols {
		n := (len(of) + together - 1) / together
		for first := range n {
			script := corpusScript{protocol: protocolOf(readFile(t, of[0]))}
			for i := first; i < len(of); i += n {
				text := readFile(t, of[i])
				if script.text != "" {
					text = strings.Replace(text, counting, "", 1)
				}
				script.text += text
				script.names = append(script.names, strings.TrimSuffix(filepath.Base(of[i]), ".sql"))
			}
			all = append(all, script)
		}
	}
	return all
}

// protocolOf is the protocol that a script asks for in its first line.
func protocolOf(script string) string {
	if line, _, _ := strings.Cut(script, "\n"); strings.HasPrefix(line, "-- protocol: ") {
		return strings.TrimPrefix(line, "-- protocol: ")
	}
	return "simple"
}

// runPgbench runs a script by pgbench itself. \syncpipeline came with PostgreSQL 17; before,
// a pipeline that ends and another that begins are the same.
func runPgbench(t *testing.T, address, script, protocol string) {
	t.Helper()
	text := strings.ReplaceAll(readFile(t, script), "\\syncpipeline", "\\endpipeline\n\\startpipeline")
	file := filepath.Join(t.TempDir(), filepath.Base(script))
	expect.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "pgbench", "-n", "-c", "1", "-t", fmt.Sprint(operations), "-M", protocol, "-D", "i=0", "-D", "word=green", "-D", "base=100", "-f", file, address)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("pgbench: %v: %s", err, said.String())
	}
}

// contents are the rows of each table of a schema, sorted. Tables of assay's own are left out.
func contents(t *testing.T, address, schema string) map[string]string {
	t.Helper()
	conn := connect(t, address)
	rows, err := conn.Query(patiently(t), `SELECT relname, (xpath('/row/of/text()', query_to_xml(format(
		'SELECT coalesce(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C"), ''nothing'') AS of FROM %I.%I AS t', nspname, relname), false, true, '')))[1]::text
		FROM pg_class JOIN pg_namespace AS n ON n.oid = relnamespace WHERE nspname = $1 AND relkind IN ('r', 'p') AND relname NOT LIKE 'assay%'`, schema)
	expect.NoError(t, err)
	all := map[string]string{}
	for rows.Next() {
		var name, text string
		expect.NoError(t, rows.Scan(&name, &text))
		all[name] = text
	}
	expect.NoError(t, rows.Err())
	return all
}

func sameContents(t *testing.T, theirs, ours map[string]string) {
	t.Helper()
	tables := slices.Sorted(maps.Keys(theirs))
	if len(tables) < 14 || !slices.Equal(tables, slices.Sorted(maps.Keys(ours))) {
		t.Fatalf("the tables are %v, of pgbench %v", slices.Sorted(maps.Keys(ours)), tables)
	}
	for _, table := range tables {
		if theirs[table] != ours[table] {
			t.Errorf("%s has after pgbench:\n%.2000s\nand after assay:\n%.2000s", table, theirs[table], ours[table])
		}
	}
}
