package catalog

import (
	"errors"
	"strings"
	"testing"
	"time"

	"assay/load"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/tpcc"
)

// TestDefinitionsAreComplete for commands, scenarios and reports, and a run without flags works.
func TestDefinitionsAreComplete(t *testing.T) {
	keys := map[string]string{}
	for _, w := range Workloads() {
		if w.Short == "" || w.Long == "" || w.Example == "" || w.State == "" || w.Key == "" || (len(w.Unused) > 0) != (w.WhyUnused != "") {
			t.Errorf("%s is not complete: %+v", w.Name, w)
		}
		if other := keys[w.Key]; other != "" {
			t.Errorf("%s and %s have the key %s", w.Name, other, w.Key)
		}
		keys[w.Key] = w.Name
		c, p := w.Config(), load.Defaults()
		if w.Load != nil {
			p = w.Load()
		}
		p, err := c.Plan(p)
		valid := c.Validate()
		if w.Argument != "" { // a run wants its file
			var missing *store.OptionError
			if _, has := definition.Lookup(c, w.Argument); !has || !errors.As(valid, &missing) || missing.Option != w.Argument {
				t.Errorf("%s: a run without its %s: %v", w.Name, w.Argument, valid)
			}
			valid = nil
		}
		if err = errors.Join(err, p.Validate(), valid); err != nil {
			t.Errorf("%s: a run without flags: %v", w.Name, err)
		}
		if again, err := c.Plan(p); err != nil || again != p {
			t.Errorf("%s: planned twice, %+v became %+v (%v)", w.Name, p, again, err)
		}
		if len(c.Options(definition.Support{})) == 0 {
			t.Errorf("%s has no settings for the report", w.Name)
		}
		for _, f := range c.Flags() {
			switch f.Value.(type) {
			case *string, *int, *int64, *float64, *bool, interface{ Set(string) error }:
			default:
				t.Errorf("%s --%s has a value of type %T, which no command knows", w.Name, f.Name, f.Value)
			}
			if f.Usage == "" {
				t.Errorf("%s --%s has no help", w.Name, f.Name)
			}
		}
	}
}

// TestValuesThatAFlagDoesNotTakeAreRefused by the flag's name.
func TestValuesThatAFlagDoesNotTakeAreRefused(t *testing.T) {
	for _, w := range Workloads() {
		for i, f := range w.Config().Flags() {
			var wrong []float64
			if f.Max != 0 {
				wrong = []float64{f.Min - 1, f.Max + 1}
			} else if _, text := f.Value.(*string); text && f.Values != nil && !f.Open {
				wrong = []float64{0}
			}
			for _, n := range wrong {
				c := w.Config()
				switch value := c.Flags()[i].Value.(type) {
				case *int:
					*value = int(n)
				case *int64:
					*value = int64(n)
				case *float64:
					*value = n
				case *string:
					*value = "none of them"
				}
				var refused *store.OptionError
				if err := c.Validate(); !errors.As(err, &refused) || refused.Option != "--"+f.Name {
					t.Errorf("%s --%s: %v", w.Name, f.Name, err)
				}
			}
		}
	}
}

func TestUnknownWorkload(t *testing.T) {
	var unknown *store.OptionError
	if _, err := WorkloadOf("bnak"); !errors.As(err, &unknown) || unknown.Value != "bnak" {
		t.Errorf("got %v", err)
	}
}

// TestDocumentsAreRefusedInSQL before connecting.
func TestDocumentsAreRefusedInSQL(t *testing.T) {
	for _, d := range sqlDrivers() {
		db, err := d.Support(tpcc.Name).Open(t.Context(), store.Target{Address: "none", Schema: tpcc.SchemaDenormalized})
		var refused *store.OptionError
		if db != nil || !errors.As(err, &refused) || refused.Option != "--schema" || !strings.Contains(err.Error(), "MongoDB") {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
}

// TestDefaultRunsAreShort: a run without flags can end within a minute, with setup and judging.
func TestDefaultRunsAreShort(t *testing.T) {
	for _, w := range Workloads() {
		p := load.Defaults()
		if w.Load != nil {
			p = w.Load()
		}
		if p.Ops == 0 && p.Warmup+p.Duration > 55*time.Second {
			t.Errorf("%s works for %v after %v", w.Name, p.Duration, p.Warmup)
		}
	}
}
