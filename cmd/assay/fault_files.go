package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"assay/cluster/kubernetes"
	"assay/fault/chaosmesh"
	"assay/internal/spelling"
	"assay/runner"
)

// faultFile matches a --fault that names a file, and when its objects without a schedule happen.
var faultFile = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\S.*\.ya?ml)(?:\s+(.*))?$`)
})

// translated replaces files of Chaos Mesh by the faults in them, and prints a note of each.
func translated(cmd *cobra.Command, s runner.Scenario, texts []string) ([]string, error) {
	var all []string
	for _, text := range texts {
		found := faultFile().FindStringSubmatch(strings.TrimSpace(text))
		if found == nil || strings.Contains(text, alternativesMark) {
			all = append(all, text)
			continue
		}
		faults, err := faultsOfFile(found[1], found[2], s.Kubernetes)
		if err != nil {
			return nil, &flagProblem{"fault", err}
		}
		for _, t := range faults {
			fmt.Fprintln(cmd.ErrOrStderr(), "note: "+t.String())
			all = append(all, t.Fault.String())
		}
	}
	return all, nil
}

// faultsOfFile reads a Chaos Mesh file for the selected pods or for assay's own nodes.
func faultsOfFile(path, rest, pods string) ([]chaosmesh.Translation, error) {
	var where chaosmesh.Where
	if target, err := kubernetes.ParseTarget(pods); err == nil { // what is wrong is told later
		where.Namespace = target.Namespace
	}
	if words := strings.Fields(rest); len(words) == 2 && words[0] == "at" {
		where.At = words[1]
	} else if rest != "" {
		return nil, usageError{fmt.Errorf("--fault %q: behind a file only at T can stand, for objects without a schedule%s", path+" "+rest, spelling.Hint(words[0], "", []string{"at"}))}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("--fault %s: a file of Chaos Mesh: %w", path, err)}
	}
	return chaosmesh.Read(path, text, where)
}

// firstTime writes each text once, since the configurations of an experiment have the same notes.
type firstTime struct {
	to   io.Writer
	seen map[string]bool
}

func (w *firstTime) Write(text []byte) (int, error) {
	if w.seen[string(text)] {
		return len(text), nil
	}
	w.seen[string(text)] = true
	return w.to.Write(text)
}
