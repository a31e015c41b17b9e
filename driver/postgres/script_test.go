package postgres

import (
	"net/url"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/script"
)

func TestScript(t *testing.T) {
	for name, changes := range map[string][]func(*url.URL){"": nil, "without prepared statements": {parameter("default_query_exec_mode", "exec")}} {
		t.Run(name, func(t *testing.T) {
			drivertest.RunScript(t, drivertest.Script{
				Secret: secret, OperationsOnly: changes != nil, Others: others("assay_script"),
				Open: func(t *testing.T) script.Store {
					store, err := script.Opener(Open)(t.Context(), target(t, changes...))
					if err != nil {
						t.Fatal(err)
					}
					return store
				},
			})
		})
	}
}
