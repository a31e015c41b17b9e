package ledger

import "testing"

func TestAuditsText(t *testing.T) {
	for _, c := range []struct {
		partial, accounts, full int64
		want                    string
	}{
		{7, 83, 0, "7 audits of 83 accounts"},
		{1, 1, 0, "1 audit of 1 account"},
		{0, 0, 1, "1 audit of all accounts"},
		{0, 0, 2, "2 audits of all accounts"},
		{55, 1866, 6, "55 audits of 1,866 accounts and 6 of all accounts"},
	} {
		if got := auditsText(c.partial, c.accounts, c.full); got != c.want {
			t.Errorf("%d, %d, %d: %q, want %q", c.partial, c.accounts, c.full, got, c.want)
		}
	}
}
