package script

import (
	"fmt"
	"path/filepath"
	"strings"

	"assay/store"
)

// ScriptLanguage is what a script is written in.
type ScriptLanguage string

const (
	StarlarkLanguage ScriptLanguage = "starlark"
	PgbenchLanguage  ScriptLanguage = "pgbench"
)

// languageOfScripts is what was chosen or, without that, what each file is.
func (c *Config) languageOfScripts() (ScriptLanguage, error) {
	switch c.Language {
	case StarlarkLanguage, PgbenchLanguage:
		return c.Language, nil
	case "":
	default:
		return "", &store.OptionError{Option: "--language", Value: string(c.Language), Want: "pgbench or starlark"}
	}
	first, err := languageOfScript(c.Script)
	for _, more := range c.More {
		next, wrong := languageOfScript(more)
		switch {
		case err != nil:
		case wrong != nil:
			err = wrong
		case next != first:
			err = &Error{File: more.File, Reason: fmt.Sprintf("it is in another language than %s", c.File), Advice: "give scripts of one language, or --language"}
		}
	}
	return first, err
}

// languageOfScript tells it by the name of the file.
func languageOfScript(s Script) (ScriptLanguage, error) {
	if strings.EqualFold(filepath.Ext(s.File), ".sql") {
		return PgbenchLanguage, nil
	}
	return StarlarkLanguage, nil
}
