package drivertest

import (
	"slices"
	"testing"

	"assay/durability"
	"assay/history"
	"assay/workload"
	"assay/workload/script"
)

// StorageOf has a script make tables by these statements, and returns what the store then
// says of itself and what that promises.
func StorageOf(t *testing.T, store script.Store, statements ...string) ([]workload.Setting, durability.Guarantee) {
	t.Helper()
	ctx := t.Context()
	if err := store.Create(ctx, workload.Marker{Run: "storage", Workload: script.Name}); err != nil {
		t.Fatal(err)
	}
	session, err := store.Session(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, text := range statements {
		if r := session.Single(ctx, script.Statement{Text: text}); r.Outcome != history.Committed || r.Err != nil {
			t.Fatalf("%s: %+v", text, r)
		}
	}
	if err := store.FinishLoad(ctx); err != nil { // what is there now is the script's
		t.Fatal(err)
	}
	product, err := store.Describe(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var reported []durability.Setting
	for _, s := range product.Settings {
		reported = append(reported, durability.Setting(s))
	}
	return product.Settings, durability.Of(product.Name, reported)
}

// Value is the value of a setting, empty if there is none.
func Value(settings []workload.Setting, name string) string {
	i := slices.IndexFunc(settings, func(s workload.Setting) bool { return s.Name == name })
	if i < 0 {
		return ""
	}
	return settings[i].Value
}
