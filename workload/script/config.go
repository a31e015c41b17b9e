// Package script is the workload of a user's transactions. A file in Starlark, or scripts in
// pgbench's language, declare transactions and what must hold. The package runs the transactions
// and judges the declarations by what the database acknowledged.
//
// Seed and operation decide what a transaction draws at random.
//
// It must not know any driver.
package script

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"assay/store"
	"assay/workload/definition"
)

// Config is a definition.Config.
type Config struct {
	// More are further scripts, in pgbench's language.
	Script   `yaml:",inline"`
	More     []Script       `yaml:"more,omitempty" json:"more,omitempty"`
	Language ScriptLanguage `yaml:"language,omitempty" json:"language,omitempty"`
	Protocol store.Protocol `yaml:"protocol,omitempty" json:"protocol,omitempty"`
	// Setup and SetupText are the SQL before scripts in SQL.
	Setup        string  `yaml:"setup,omitempty" json:"setup,omitempty"`
	SetupText    source  `yaml:"setup_text,omitempty" json:"setup_text,omitempty"`
	Define       string  `yaml:"define,omitempty" json:"define,omitempty"`
	AllowForeign bool    `yaml:"allow_foreign,omitempty" json:"allow_foreign,omitempty"`
	Observe      float64 `yaml:"observe" json:"observe"`
	// Pause is the longest pause; the seed decides each one.
	Pause float64 `yaml:"pause,omitempty" json:"pause,omitempty"`
	Mend  Mend    `yaml:"mend,omitempty" json:"mend"`
	// Existing is true if the tables were there before and are not assay's.
	Existing bool `yaml:"existing,omitempty" json:"existing,omitempty"`
	Loaders  int  `yaml:"loaders" json:"loaders"`
}

// Script is a script file.
type Script struct {
	// Text alone decides; File is its origin.
	File string `yaml:"file" json:"file"`
	Text source `yaml:"text" json:"text"`
	// Weight is relative to the other scripts; nil for 1.
	Weight *int64 `yaml:"weight,omitempty" json:"weight,omitempty"`
}

func (s Script) weight() int64 {
	if s.Weight == nil {
		return 1
	}
	return *s.Weight
}

func (c *Config) scripts() []Script { return append([]Script{c.Script}, c.More...) }

// Files are the scripts as given, FILE or FILE@WEIGHT.
func (c *Config) Files() (all []string) {
	for _, s := range c.scripts() {
		name := s.File
		if s.Weight != nil {
			name += "@" + strconv.FormatInt(*s.Weight, 10)
		}
		all = append(all, name)
	}
	return all
}

// protocol is for statements in pgbench's language.
func (c *Config) protocol() store.Protocol { return cmp.Or(c.Protocol, store.Simple) }

// Defaults returns the default configuration, without a script.
func Defaults() Config { return Config{Observe: 5, Loaders: 4} }

// source is a file's text, which passes through YAML unchanged.
type source string

// MarshalYAML writes JSON, which is YAML: one line, whatever the text.
func (s source) MarshalYAML() ([]byte, error) { return json.Marshal(string(s)) }

// maxSource is in bytes.
const maxSource = 1 << 20

// file is a flag's value that reads the named file.
type file struct {
	path *string
	text *source
}

func (f file) String() string {
	if f.path == nil {
		return ""
	}
	return *f.path
}

func (f file) Type() string { return "file" }

func (f file) Set(path string) (err error) {
	*f.text, err = readSource(path)
	*f.path = path
	return err
}

// readSource drops a byte order mark, which would become part of the first statement.
func readSource(path string) (source, error) {
	text, err := os.ReadFile(path)
	switch {
	case err != nil:
		return "", fmt.Errorf("read the script: %w", err)
	case len(text) > maxSource:
		return "", fmt.Errorf("%s has %d bytes; a script has at most %d", path, len(text), maxSource)
	}
	return source(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))), nil
}

// files is a flag's value that adds a script each time.
func (c *Config) files() definition.Several {
	return definition.Several{Kind: "file", Given: c.Files, Add: c.addFile, Clear: func() { c.Script, c.More = Script{}, nil }}
}

// definitions is a flag's value that adds parameters each time, as pgbench's -D does. The first time
// replaces a scenario's.
func (c *Config) definitions() definition.Several {
	given := false
	return definition.Several{Kind: "string", Given: func() []string { return []string{c.Define} }, Clear: func() { given = false },
		Add: func(text string) error {
			if given {
				text = c.Define + "," + text
			}
			c.Define, given = text, true
			return nil
		}}
}

// maxWeight is pgbench's.
const maxWeight = 1<<31 - 1

// addFile takes FILE or FILE@WEIGHT.
func (c *Config) addFile(given string) error {
	var s Script
	s.File = given
	if at := strings.LastIndexByte(given, '@'); at > 0 {
		if n, err := strconv.ParseInt(given[at+1:], 10, 64); err == nil {
			if n < 0 || n > maxWeight {
				return &store.OptionError{Option: "weight", Value: given[at+1:], Want: "0 to 2147483647, as in FILE@3"}
			}
			s.File, s.Weight = given[:at], &n
		}
	}
	var err error
	if s.Text, err = readSource(s.File); err != nil {
		return err
	}
	if c.File == "" {
		c.Script = s
	} else {
		c.More = append(c.More, s)
	}
	return nil
}

// Validate returns a *store.OptionError, or an *Error for a faulty script.
func (c Config) Validate() error {
	if err := definition.CheckFlags(c.Flags()); err != nil {
		return err
	}
	switch {
	case c.File == "":
		return &store.OptionError{Option: "script", Value: "", Want: "a file: assay run script FILE"}
	case c.Existing && (c.Setup != "" || c.AllowForeign):
		return &store.OptionError{Option: "--use-existing", Value: "with --setup or --allow-foreign", Want: "without: nothing is made, and the script's own tables are there"}
	}
	p, err := c.compile(0)
	if err == nil {
		_, err = p.rehearsed()
	}
	return err
}

// compile compiles for a database's language; 0 if unknown.
func (c Config) compile(language Language) (*program, error) {
	defines, err := c.defines()
	if err != nil {
		return nil, err
	}
	known := &statements{anySchema: c.AllowForeign || c.Existing, existing: c.Existing, language: language}
	p, err := c.read(defines, known)
	if err == nil {
		p.mend = c.Mend
	}
	return p, err
}

func (c Config) read(defines map[string]string, known *statements) (*program, error) {
	of, err := c.languageOfScripts()
	if err != nil {
		return nil, err
	}
	if of == PgbenchLanguage {
		if err := known.inLanguage(SQL, "a script in pgbench's language", "one in Starlark, FILE.star"); err != nil {
			return nil, &Error{File: c.File, Line: 1, Column: 1, Reason: err.Error(), Err: err}
		}
		return parseSQL(c, defines, known)
	}
	switch {
	case c.Setup != "":
		return nil, &store.OptionError{Option: "--setup", Value: c.Setup, Want: "with a script in pgbench's language; one in Starlark has a function setup"}
	case c.Existing:
		return nil, &store.OptionError{Option: "--use-existing", Value: c.File, Want: "with a script in pgbench's language, whose statements name their tables"}
	case c.Protocol != "":
		return nil, &store.OptionError{Option: "--protocol", Value: string(c.Protocol), Want: "with a script in pgbench's language"}
	case len(c.More) > 0 || c.Weight != nil:
		return nil, &Error{File: c.File, Reason: "several files and weights are for scripts in pgbench's language", Advice: "declare several transactions in one file, each with its weight"}
	}
	return parse(c.File, string(c.Text), defines, known)
}

func (c Config) defines() (map[string]string, error) {
	all := map[string]string{}
	if c.Define == "" {
		return all, nil
	}
	for part := range strings.SplitSeq(c.Define, ",") {
		name, value, found := strings.Cut(part, "=")
		name = strings.TrimSpace(name)
		if _, twice := all[name]; !found || name == "" || twice {
			return nil, &store.OptionError{Option: "--define", Value: c.Define, Want: "NAME=VALUE, each name once, separated by commas"}
		}
		all[name] = strings.TrimSpace(value)
	}
	return all, nil
}
