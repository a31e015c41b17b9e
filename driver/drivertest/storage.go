package drivertest

import (
	"slices"
	"testing"

	"assay/store"
	"assay/store/durability"
)

// StorageOf has a user make tables by SQL. It returns the database's description and promise of
// durability.
func StorageOf(t *testing.T, d Store, statements ...string) ([]store.Setting, durability.Guarantee) {
	t.Helper()
	f := d.fixture(t, openSchema())
	f.must("Create", f.store.Create(f.ctx, f.marker("storage")))
	var all []said
	for _, text := range statements {
		all = append(all, said{text: text})
	}
	f.must("RecordMade", f.make(f.store, all...))
	f.must("FinishLoad", f.store.FinishLoad(f.ctx))
	product, err := f.store.Describe(f.ctx)
	f.must("Describe", err)
	var reported []durability.Setting
	for _, s := range product.Settings {
		reported = append(reported, durability.Setting(s))
	}
	return product.Settings, durability.Of(product.Name, reported)
}

// Value is a setting's value, empty if the setting is missing.
func Value(settings []store.Setting, name string) string {
	i := slices.IndexFunc(settings, func(s store.Setting) bool { return s.Name == name })
	if i < 0 {
		return ""
	}
	return settings[i].Value
}
