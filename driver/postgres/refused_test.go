package postgres

import (
	"testing"

	"assay/internal/expect"
	"assay/store"
)

// TestRefusedBeforeLoading: Create reports what the server will refuse later, and leaves nothing.
func TestRefusedBeforeLoading(t *testing.T) {
	for name, trigger := range map[string]string{
		"an index that is made late": `CREATE EVENT TRIGGER refusing ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse_event()`,
	} {
		t.Run(name, func(t *testing.T) {
			alone(t, `CREATE FUNCTION refuse_event() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not here'; END $$`)
			alone(t, trigger)
			t.Cleanup(func() { alone(t, `DROP FUNCTION refuse_event() CASCADE`) })
			db := openBank(t, target(t))
			err := db.Create(t.Context(), store.Marker{Workload: "bank"})
			if err == nil {
				t.Error("what cannot be finished was created")
			}
			if mark, err := db.Marker(t.Context()); mark != nil || err != nil {
				t.Errorf("left %+v, %v", mark, err)
			}
			expect.NoError(t, db.Close())
		})
	}
}
