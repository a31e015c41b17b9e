package runner

import (
	"cmp"
	"errors"
	"strings"

	"assay/runner/catalog"
	"assay/store"
	"assay/workload/definition"
)

const flagExisting = "--use-existing"

var errExisting = errors.New("the run used existing tables, which others may have changed since; they are read back by the run alone")

func (s Scenario) validateExisting() error {
	if !s.UseExisting {
		return nil
	}
	refuse := func(value, reason, want string) error {
		return &store.OptionError{Option: flagExisting, Value: value, Reason: reason, Want: want}
	}
	if _, can := s.Config.(definition.Existing); !can {
		var names []string
		for _, w := range catalog.Workloads() {
			if _, can := w.Config().(definition.Existing); can {
				names = append(names, w.Name)
			}
		}
		return refuse("for "+s.Workload, "the workload judges what it has loaded itself", "without it, or "+strings.Join(names, ", "))
	}
	switch {
	case s.Database == "":
		return refuse("without --db", "the tables are in a database that runs already", "with --db, the address of that database")
	case s.Cluster != "":
		return refuse("with --cluster", "servers that a run starts have no tables", "with --db, the address of a database that runs already")
	case s.Drop:
		return refuse("with --drop", "nothing is dropped that assay did not make", "without --drop")
	case s.Overhead:
		return refuse("with --overhead", "the overhead is taken on tables that are made anew", "without --overhead")
	}
	return nil
}

const noTables = "none"

func (s Scenario) existingTables() string {
	c, can := s.Config.(definition.Existing)
	if !can || !s.UseExisting {
		return ""
	}
	read, written := c.Touched()
	return "existing tables: reads " + cmp.Or(strings.Join(read, ", "), noTables) + "; writes " + cmp.Or(strings.Join(written, ", "), noTables)
}

// tellExisting says, before anything is sent, which tables the run touches.
func (r *run) tellExisting() {
	if text := r.scenario.existingTables(); text != "" {
		r.options.Progress.Note(text + ". Nothing is made, loaded, marked, altered or dropped. " +
			"No lease keeps other runs of assay out: let nobody else write these tables meanwhile")
	}
}

// noteAltering notes what depends on the tables and may explain what is found.
func (r *run) noteAltering(p store.Product) {
	for _, s := range p.Settings {
		if s.Name == store.SettingAltering {
			text := "nothing that is found says anything about " + p.Name + ", since these can change what is read and written: " + s.Value
			r.note(text)
			r.options.Progress.Note(text)
		}
	}
}

func (r *run) noteExisting() {
	text := r.scenario.existingTables()
	if text == "" {
		return
	}
	_, written := r.scenario.Config.(definition.Existing).Touched()
	what := "existing table"
	if len(written) > 1 {
		what += "s"
	}
	r.note(what + "; records not written by this run were not judged (" + text + ")")
}
