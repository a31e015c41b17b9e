package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"assay/internal/expect"
)

// action is a composite action as GitHub's "Metadata syntax for GitHub Actions" has it: what
// is not named here is refused.
type action struct {
	Name        string                 `yaml:"name"`
	Description string                 `yaml:"description"`
	Inputs      map[string]actionInput `yaml:"inputs"`
	Outputs     map[string]struct {
		Description string `yaml:"description"`
		Value       string `yaml:"value"`
	} `yaml:"outputs"`
	Runs struct {
		Using string       `yaml:"using"`
		Steps []actionStep `yaml:"steps"`
	} `yaml:"runs"`
}

type actionInput struct {
	Description string  `yaml:"description"`
	Required    bool    `yaml:"required"`
	Default     *string `yaml:"default"`
}

type actionStep struct {
	ID               string            `yaml:"id"`
	Name             string            `yaml:"name"`
	If               string            `yaml:"if"`
	Uses             string            `yaml:"uses"`
	With             map[string]string `yaml:"with"`
	Run              string            `yaml:"run"`
	Shell            string            `yaml:"shell"`
	Env              map[string]string `yaml:"env"`
	WorkingDirectory string            `yaml:"working-directory"`
}

func readAction(t *testing.T) (a action, text string) {
	t.Helper()
	text = readFile(t, "..", "..", ".github", "actions", "assay", "action.yml")
	expect.NoError(t, yaml.UnmarshalWithOptions([]byte(text), &a, yaml.Strict()))
	return a, text
}

// TestAction: the action keeps the documented syntax, and names no input or step that it does
// not have.
func TestAction(t *testing.T) {
	t.Parallel()
	a, text := readAction(t)
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" || len(a.Runs.Steps) < 3 {
		t.Fatalf("the action is %+v", a)
	}
	for name, input := range a.Inputs {
		if input.Description == "" || input.Required == (input.Default != nil) {
			t.Errorf("input %s: %+v", name, input)
		}
		if !strings.Contains(text, "inputs."+name) {
			t.Errorf("input %s is used nowhere", name)
		}
	}
	expect.Text(t, "the action", text, `TARGET: ${{ runner.temp }}/assay-program`, `run: go build -trimpath -o "$TARGET/assay" ./cmd/assay`)
	ids := []string{}
	for _, s := range a.Runs.Steps {
		ids = append(ids, s.ID)
		if (s.Run == "") == (s.Uses == "") || (s.Run == "") != (s.Shell == "") || s.Uses != "" && !regexp.MustCompile(`^actions/[a-z-]+@v\d+$`).MatchString(s.Uses) {
			t.Errorf("a step runs a script in a shell, or uses an action of a version: %+v", s)
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("an expression in a script takes in whatever it holds: %s", s.Run)
		}
	}
	used := regexp.MustCompile(`\b(inputs|steps|github|runner)\.([a-z_-]+)`).FindAllStringSubmatch(strings.ReplaceAll(text, "steps.assay.outputs", "steps.assay"), -1)
	for _, u := range used {
		_, input := a.Inputs[u[2]]
		known := map[string]bool{"inputs": input, "steps": slices.Contains(ids, u[2]), "github": u[2] == "action_path", "runner": u[2] == "temp"}
		if !known[u[1]] {
			t.Errorf("%s is none", u[0])
		}
	}
	for name, o := range a.Outputs {
		if written := "steps.assay.outputs." + name; !strings.Contains(o.Value, written+" ") || !strings.Contains(text, name+"=$") || o.Description == "" {
			t.Errorf("output %s: %+v", name, o)
		}
	}
}

// TestActionRuns carries out the action's own step with bash in an empty folder, as GitHub does.
func TestActionRuns(t *testing.T) {
	t.Parallel()
	a, _ := readAction(t)
	temp := t.TempDir()
	program := filepath.Join(temp, "assay-program", "assay") // TestAction has the step that builds it
	expect.NoError(t, os.Mkdir(filepath.Dir(program), 0o755), os.Symlink(binary, program))
	for _, c := range []struct {
		command, database string
		code              int
		folder            bool
	}{
		{"run bank --ops 200 --option 'bug=lost-ack:0.1'", "", exitViolated, true},
		{"run bank --ops 200", "mem://", exitValid, true},
		{"check missing.edn", "", exitUsage, false},
	} {
		dir, said := t.TempDir(), t.TempDir()
		files := map[string]string{"GITHUB_OUTPUT": filepath.Join(said, "output"), stepSummary: filepath.Join(said, "summary")}
		values := map[string]string{"runner.temp": temp}
		for name, input := range a.Inputs {
			if input.Default != nil {
				values["inputs."+name] = *input.Default
			}
		}
		values["inputs.command"], values["inputs.database"], values["inputs.working-directory"] = c.command, c.database, dir
		code := 0
		for _, s := range a.Runs.Steps {
			if s.ID == "assay" {
				code = runStep(t, s, values, files)
			}
		}
		if code != c.code {
			t.Errorf("%s ended with %d, want %d", c.command, code, c.code)
		}
		output := readFile(t, files["GITHUB_OUTPUT"])
		if strings.Contains(output, "folder="+dir+"/assay\n") != c.folder {
			t.Errorf("the output of %s is %s", c.command, output)
		}
		if c.code == exitUsage {
			continue // nothing was carried out
		}
		expect.Text(t, "the output", output, "junit="+dir+"/assay.xml\n", "exit-code=")
		expect.Text(t, "the summary", readFile(t, files[stepSummary]), "## bank on ")
		if _, all := testReport(t, dir, "assay.xml"); (all.Failed > 0) != (c.code == exitViolated) {
			t.Errorf("%s counts %+v", c.command, all)
		}
	}
}

// runStep is a step as GitHub carries it out: bash with errexit and pipefail.
func runStep(t *testing.T, s actionStep, values, files map[string]string) int {
	t.Helper()
	evaluate := func(text string) string {
		return regexp.MustCompile(`\$\{\{ (\S+) \}\}`).ReplaceAllStringFunc(text, func(e string) string { return values[strings.Fields(e)[1]] })
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", s.Run)
	cmd.Dir, cmd.Env = evaluate(s.WorkingDirectory), os.Environ()
	env := maps.Clone(s.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, files)
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+evaluate(value))
	}
	output, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v: %s", s.Name, err, output)
	}
	return cmd.ProcessState.ExitCode()
}
