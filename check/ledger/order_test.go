package ledger

import (
	"testing"

	"assay/history"
)

func unknown(d *deed) { d.outcome = history.Unknown }
func unheard(d *deed) { d.unheard = true }

func TestOrderTales(t *testing.T) {
	judgeTales(t, []tale{
		{"a version given twice",
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9), give(1, 2, 4, 1, 0, 9).but(unheard)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9), give(1, 3, 4, 1, 0, 9).but(unheard)},
			"order:lost-update",
			"transfer 1099511627776 (client 1, operation 0) and transfer 2199023255552 (client 2, operation 0) both gave account 1 version 2: one of the two updates is lost"},
		{"a version given twice, and more after it",
			story{give(1, 1, 2, 1, 0, 9), give(1, 1, 3, 1, 0, 9), give(1, 2, 4, 1, 0, 9), give(1, 3, 5, 1, 0, 9)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 4, 3, 1, 0, 9), give(1, 2, 4, 1, 0, 9), give(1, 3, 5, 1, 0, 9)},
			"order:lost-update", "both gave account 1 version 1"},
		{"a version missing",
			story{give(1, 1, 2, 1, 0, 9), give(1, 3, 3, 1, 0, 9).but(unheard)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(unheard)},
			"order:missing-version", "no journal row gave account 1 version 2, though transfer 1099511627776 (client 1, operation 0) gave it version 3"},
		{"the first versions missing",
			story{give(1, 3, 2, 1, 0, 9), give(1, 4, 2, 2, 0, 9)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:missing-version", "gave account 1 any of the versions 1 to 2"},
		{"version nought",
			story{give(1, 0, 2, 1, 0, 9), give(1, 1, 2, 2, 0, 9)},
			story{give(1, 2, 2, 2, 0, 9), give(1, 1, 2, 1, 0, 9)},
			"order:impossible-version", "gave account 1 version 0; versions count from 1"},
		{"a version beyond all rows",
			story{give(1, 1, 2, 1, 0, 9), give(1, 5, 2, 2, 0, 9)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:impossible-version", "gave account 1 version 5, but only 2 journal rows touch it"},
		{"two transfers in opposite orders",
			story{give(1, 1, 2, 2, 0, 9), give(1, 2, 2, 1, 0, 9)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:dirty-write",
			"2 transfers each come before the next and the last before the first (dirty write, G0): "},
		{"three transfers in a ring",
			story{give(1, 1, 2, 2, 0, 9), give(2, 1, 3, 2, 0, 9), give(3, 1, 1, 2, 0, 9)},
			story{give(1, 1, 2, 2, 0, 9), give(2, 1, 3, 2, 0, 9), give(3, 1, 1, 0, 0, 9).but(func(d *deed) { d.source, d.destination, d.versions = 4, 3, [2]int64{1, 1} })},
			"order:dirty-write", "3 transfers"},
		{"opposite orders, with others between on one account",
			story{give(1, 1, 2, 4, 0, 9), give(1, 2, 2, 1, 0, 9), give(3, 1, 2, 2, 0, 9), give(3, 2, 2, 3, 0, 9)},
			story{give(1, 2, 2, 4, 0, 9), give(1, 1, 2, 1, 0, 9), give(3, 1, 2, 2, 0, 9), give(3, 2, 2, 3, 0, 9)},
			"order:dirty-write", "2 transfers"},
		{"acknowledged before it started, on one account",
			story{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 1, 10, 20)},
			story{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 1, 9, 20)},
			"order:stale-order", "transfer 0 (client 0, operation 0) had ended at 0.000000 s when transfer 1099511627776 (client 1, operation 0) was started at 0.000000 s, and yet comes after it: " +
				"transfer 1099511627776 gave account 1 version 1 and transfer 0 gave it version 2"},
		{"over another one, which was in flight all the time",
			story{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 15), give(3, 1, 4, 1, 10, 20)},
			story{give(1, 2, 2, 1, 0, 10), give(1, 1, 3, 2, 5, 15), give(3, 1, 4, 1, 10, 20)},
			"order:stale-order", "transfer 2199023255552 gave account 3 version 1 and transfer 1099511627776 (client 1, operation 0) gave it version 2; transfer 1099511627776 gave account 1 version 1"},
		{"over one whose end nobody saw",
			story{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 6).but(unknown), give(3, 1, 4, 1, 10, 20)},
			story{give(1, 2, 2, 1, 0, 9).but(unknown), give(1, 1, 3, 2, 5, 6).but(unknown), give(3, 1, 4, 1, 10, 20)},
			"order:stale-order", "gave account 3 version 1"},
		{"over one without a record",
			story{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 6).but(func(d *deed) { d.unrecorded = true }), give(3, 1, 4, 1, 10, 20)},
			story{give(1, 2, 2, 1, 0, 9), give(1, 1, 3, 2, 5, 6), give(3, 1, 4, 1, 10, 20).but(func(d *deed) { d.unrecorded = true })},
			"order:stale-order", "gave account 3 version 1"},
		{"one that came much too early is told once",
			story{give(1, 2, 2, 1, 0, 1), give(1, 3, 3, 1, 2, 3), give(1, 4, 4, 1, 4, 5), give(1, 1, 5, 1, 10, 20)},
			story{give(1, 2, 2, 1, 0, 10), give(1, 3, 3, 1, 2, 10), give(1, 4, 4, 1, 4, 10), give(1, 1, 5, 1, 10, 20)},
			"order:stale-order", "version 2"},
		{"a balance acknowledged otherwise",
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(func(d *deed) { d.told = map[int]int64{0: 7} }), give(1, 3, 4, 1, 0, 9)},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 3, 1, 0, 9).but(func(d *deed) { d.unheard = true }), give(1, 3, 4, 1, 0, 9)},
			"order:acknowledged-balance", "was acknowledged with 997 in account 1 at version 2; the 1 versions before and the transfer make it 990: off by 7"},
		{"a destination's balance acknowledged otherwise",
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9).but(func(d *deed) { d.told = map[int]int64{2: -1} })},
			story{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 0, 9)},
			"order:acknowledged-balance", "with 1009 in account 2 at version 2; the 1 versions before and the transfer make it 1010: off by -1"},
	})
}

// What the check of transfers convicts is not told again by the order.
func TestTheOrderDoesNotRepeatTransfers(t *testing.T) {
	whole := story{give(1, 1, 2, 1, 0, 9), give(1, 2, 2, 2, 10, 19), give(1, 3, 3, 1, 20, 29), give(3, 2, 1, 4, 30, 39),
		read(40, 50, 1, 4, 2, 2, 3, 2), readAll(40, 50, 6, 6000, 8)}
	if got := convictions(whole.run().results(t)); got != "" {
		t.Fatalf("convicted of %q", got)
	}
	for name, spoil := range map[string]func(r *run){
		"doubled": func(r *run) { r.rows = append(r.rows, r.rows[1]) },
		"doubled, applied": func(r *run) {
			r.rows = append(r.rows, r.rows[1])
			r.rows[4].SourceVersion, r.rows[4].DestinationVersion = 5, 3
		},
		"another amount":       func(r *run) { r.rows[1].Amount++ },
		"another account":      func(r *run) { r.rows[1].Destination = 4 },
		"no such account":      func(r *run) { r.rows[1].Source = 99 },
		"to itself":            func(r *run) { r.rows[1].Destination = 1 },
		"another id":           func(r *run) { r.rows[1].ID = -5 },
		"of an audit":          func(r *run) { r.rows[1].ID = r.books.ID(4, 0) },
		"of nobody, in excess": func(r *run) { r.rows = append(r.rows, Row{-1, 1, 2, 3, 2, 2}) },
	} {
		r := whole.run()
		spoil(&r)
		results := r.results(t)
		for _, check := range []string{"order", "snapshots"} {
			if results[check].Found != 0 {
				t.Errorf("%s: %s found %v", name, check, results[check].Evidence)
			}
		}
		if results["transfers"].Found == 0 {
			t.Errorf("%s: transfers found nothing", name)
		}
	}
}
