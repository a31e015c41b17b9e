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
		`mariadb --password='hidden' shop`:                                     `mariadb --password=xxxxx shop`,
		`PASS=hidden ./app`:                                                    `PASS=xxxxx ./app`,
		`DB_PASS='hid den' ./app --pass="hidden"`:                              `DB_PASS=xxxxx ./app --pass=xxxxx`,
		`{"pass": "hidden"}, the second pass: 3`:                               `{"pass": xxxxx}, the second pass: 3`,
		`./app --db-pass hidden --passes=3`:                                    `./app --db-pass xxxxx --passes=3`,
		`app --password hidden --pieces 3`:                                     `app --password xxxxx --pieces 3`,
		`app --db-secret "hidden and more" shop`:                               `app --db-secret xxxxx shop`,
		`mysql -u me -phidden -P 3306 shop < shop.sql`:                         `mysql -u me -pxxxxx -P 3306 shop < shop.sql`,
		`/usr/bin/mysqldump -p'hidden' shop | psql -p 5432`:                    `/usr/bin/mysqldump -pxxxxx shop | psql -p 5432`,
		`mysql -p shop`:                       `mysql -p shop`,
		`mongosh -u me -p hidden shop`:        `mongosh -u me -p xxxxx shop`,
		`psql --no-password shop -f shop.sql`: `psql --no-password shop -f shop.sql`,
		`mysql --skip-password shop`:          `mysql --skip-password shop`,
		`mongodump -p hidden -d shop`:         `mongodump -p xxxxx -d shop`,
		`mongo_orders.py -p 3`:                `mongo_orders.py -p 3`,
		`mongod -p 27018`:                     `mongod -p 27018`,
		`redis-cli -a hidden PING`:            `redis-cli -a xxxxx PING`,
		`sh -c 'mysql -phidden shop'`:         `sh -c 'mysql -pxxxxx shop'`,
		`curl -d '{"password": "hidden"}'`:    `curl -d '{"password": xxxxx}'`,
		`psql --password -d shop -p 5432`:     `psql --password -d shop -p 5432`,
		`python3 place_orders.py --passes 3`:  `python3 place_orders.py --passes 3`,
		`python3 place_orders.py --pieces 3`:  `python3 place_orders.py --pieces 3`,
	} {
		if got := redacted(command); got != want || strings.Contains(got, "hidden") {
			t.Errorf("%s: %s", command, got)
		}
	}
	for _, command := range [][]string{{"app", "--password", "hidden"}, {"mysql", "-phidden", "shop"}, {"sh", "-c", "mysql -phidden shop"}, {"mongosh", "-p", "hidden"}} {
		if got := redactedWords(command); len(got) != len(command) || strings.Contains(strings.Join(got, " "), "hidden") || got[0] != command[0] {
			t.Errorf("%q: %q", command, got)
		}
	}
	e := &ResetError{Command: "PGPASSWORD=hidden psql", How: "ended with 1", Said: "no"}
	if text := e.Error(); strings.Contains(text, "hidden") {
		t.Error(text)
	}
}
