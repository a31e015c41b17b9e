package application

import (
	"strings"
	"testing"
)

// TestCommandsAreShownWithoutPasswords: users write them into --reset and into their own arguments.
func TestCommandsAreShownWithoutPasswords(t *testing.T) {
	for command, want := range map[string]string{
		`psql -q 'postgres://me:hidden@host/shop?sslmode=disable' -f shop.sql`: `psql -q 'postgres://me:xxxxx@host/shop?sslmode=disable' -f shop.sql`,
		`PGPASSWORD=hidden psql -f shop.sql`:                                   `PGPASSWORD=xxxxx psql -f shop.sql`,
		`psql "host=h password=hidden dbname=shop"`:                            `psql "host=h password=xxxxx dbname=shop"`,
		`mariadb --password=hidden shop`:                                       `mariadb --password=xxxxx shop`,
		`python3 place_orders.py --pieces 3`:                                   `python3 place_orders.py --pieces 3`,
	} {
		if got := redacted(command); got != want || strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", command, got)
		}
	}
	e := &ResetError{Command: "PGPASSWORD=hidden psql", How: "ended with 1", Said: "no"}
	if text := e.Error(); strings.Contains(text, "hidden") {
		t.Error(text)
	}
}
