package statement

import (
	"strings"
	"testing"
)

func TestFingerprints(t *testing.T) {
	for _, c := range []struct {
		dialect    Dialect
		text, want string
	}{
		{Postgres, "SELECT  a.*, 'it''s' FROM t AS a WHERE id=-1 -- comment\n AND b = 1.5e-3;", "select a.*, ? from t as a where id = ? and b = ?"},
		{Postgres, "select * from t where a in (1, 2,\n3) and b in ($1)", "select * from t where a in (?) and b in (?)"},
		{Postgres, "insert into t values (1,'a',null),(2,'b',null)", "insert into t values (?, null)"},
		{Postgres, "insert into t(a,b) values (1,2), (3,4),(5,6)", "insert into t(a, b) values (?)"},
		{Postgres, `select "A b", E'x\'y', $tag$secret 'x$tag$, U&'d\0061', x'ff', b'01' /* a /* nested */ b */ from "T"`, `select "A b", ?, ?, ?, ?, ? from "T"`},
		{Postgres, "UPDATE x SET v = v - 1, w = -2 WHERE k = $12::int", "update x set v = v - ?, w = ? where k = ?::int"},
		{MySQL, "select `a`, \"text\", 'it\\'s' from t # comment\nwhere b = 0x1F", "select `a`, ?, ? from t where b = ?"},
		{MySQL, "select 1 /*! straight_join */", "select ? /*! straight_join */"},
		{Postgres, "select 'not closed", "select ?"},
		{Postgres, "", ""},
	} {
		if got := Fingerprint(c.text, c.dialect); got != c.want {
			t.Errorf("%s\n is %s\nwant %s", c.text, got, c.want)
		}
	}
}

func TestEffects(t *testing.T) {
	for text, want := range map[string]Effect{
		"select 1": Reads, "/* x */ SELECT 1;": Reads, "(select 1) union (select 2)": Reads, "with a as (select 1) select * from a": Reads,
		"with a as (delete from t returning 1) select * from a": Writes, "select 1 into x from y": Writes, "insert into t values (1)": Writes,
		"BEGIN;": Begins, "begin isolation level serializable": Begins, "start transaction": Begins, "START_REPLICATION SLOT a LOGICAL 0/0": Replicates,
		"END": Commits, "commit": Commits, "commit prepared 'x'": Other, "prepare transaction 'x'": Commits, "rollback": RollsBack, "rollback to savepoint a": Other,
		"rollback work to a": Other, "abort": RollsBack, "savepoint a": Other, "set a = 1": Other, "copy t from stdin": Copies, "begin; select 1; commit": Several,
		"select ';'": Reads, "select 1; -- end": Reads, "": Empty, ";": Empty, "-- only": Empty, "prepare x as select 1": Other,
	} {
		if got := EffectOf(text, Postgres); got != want {
			t.Errorf("%s has the effect %d, want %d", text, got, want)
		}
	}
	if got := EffectOf("load data infile 'x' into table t", MySQL); got != Copies {
		t.Errorf("LOAD DATA has the effect %d", got)
	}
}

func TestSecretsAreFound(t *testing.T) {
	for _, text := range []string{
		"create user bob password 'x'", "ALTER ROLE bob WITH ENCRYPTED PASSWORD 'x'", "create user 'a'@'b' IDENTIFIED BY 'x'", "SET PASSWORD = 'x'",
		"SET PASSWORD FOR a = PASSWORD('x')", "grant all on *.* to a identified by 'x'", "select dblink('host=h user=u', 'select 1')", "select dblink_connect('c', 'postgres://u:p@h/d')",
		"create subscription s connection 'host=h password=x' publication p", "create user mapping for u server s options (user 'u', password 'x')",
		"CHANGE MASTER TO MASTER_PASSWORD='x'", "select crypt('x', gen_salt('bf'))", "select public.crypt('x', a) from t", "select pgp_sym_encrypt('a', 'key')",
		"copy t from program 'psql postgresql://u:p@h/d'", "select 'mysql://root:pa/ss@h'", "\\password", "select 1; alter user a password 'x'",
		"do $$ begin execute 'create role a password ''x'''; end $$", "prepare s from 'alter user a identified by ''x'''", "creat user bob password 'x'",
		"insert into log values ('{\"password\": \"x\"}')", "select set_config('app.secret', 'x', false)", "set app.api_key = 'x'", "select 'http://a', 'http://u:p@h'",
		"select check_password($1, $2)", "insert into users(password) values (md5('x') || password('x'))", "/* password=x */ select 1",
		"create server s foreign data wrapper w options (passwd 'x')", "select set_password('bob', 'x')",
	} {
		if !HoldsSecret(text, Postgres) || !HoldsSecret(text, MySQL) {
			t.Errorf("no secret is found in %s", text)
		}
	}
	for _, text := range []string{
		"select 1", "update pgbench_accounts set abalance = abalance + 1 where aid = 5", "select 'https://example.org/a?b=c'", "select 'mailto:a@b'", "select '10:30'",
		"select id, password from users where email = 'a@b'", "update users set passwd = $1 where id = 1", "insert into s(client_secret) values ($1)",
		"select u.password, \"u\".\"pwd\" from u where password is null", "delete from password_resets where password = 'x'", "insert into passwords (a) values (1)",
		"insert into public.password_history (id, password) values (1, 'x')", "create table users (id int, password text)", "create unique index i on passwords (a)",
		"alter table users add column api_key text", "with a as (select password from u) select * from a", "explain select secret from t", "prepare p as select password from u",
		"select 'Password'", "begin; select password from u; commit",
	} {
		if HoldsSecret(text, Postgres) || text != "select u.password, \"u\".\"pwd\" from u where password is null" && HoldsSecret(text, MySQL) {
			t.Errorf("a secret is found in %s", text)
		}
	}
	for value, want := range map[string]bool{
		"password=x": true, "a password = x": true, `{"client_secret":"x"}`: true, "pwd: x": true, "create role a password 'x'": true, "ftp://u:p@h": true,
		`column "password" does not exist`: false, "secret garden": false, "": false, `permission denied for table passwords`: false,
	} {
		if MayHoldSecret(value) != want {
			t.Errorf("%s: a secret is found %v, want %v", value, !want, want)
		}
	}
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		text, read, written string
	}{
		{"select * from a, b as x, c.d y join e on true left join f using (id)", "a b c.d e f", ""},
		{"insert into t select * from u where exists (select 1 from v)", "u v", "t"},
		{"update only a.t set x = 1 from u where t.id = u.id", "u", "a.t"},
		{"delete from t using u where true", "u", "t"},
		{"with w as (select 1 from a), w2 as (select 2 from w) select * from w, w2, b", "a b", ""},
		{"select extract(year from now()), substring(x from 2) from t for update", "t", ""},
		{"select * from generate_series(1, 2) g, t", "t", ""},
		{"truncate table a, b", "", "a b"},
		{`select 1 from "A b"."C"`, "A b.C", ""},
		{"merge into t using s on true when matched then update set a = 1", "s", "t"},
		{"insert into t values (1) on conflict (id) do update set a = 1", "", "t"},
		{"create table if not exists n (a int)", "", "n"},
		{"select a is distinct from b from t", "t", ""},
		{"select 'x from y'", "", ""},
	} {
		var got Touched
		got.Tables(c.text, Postgres)
		if r, w := strings.Join(got.Read, " "), strings.Join(got.Written, " "); r != c.read || w != c.written {
			t.Errorf("%s reads %q and writes %q, want %q and %q", c.text, r, w, c.read, c.written)
		}
	}
}

// Whatever the text is, no string or number of it is in the fingerprint, and taking it again
// changes nothing.
func FuzzStatement(f *testing.F) {
	for _, text := range []string{"select 'a', 1, $1, $$x$$ from t -- c", "update t set a='\\'x' where b in (1,2)", "/* /* */ */ insert into t values (1),(2)", "E'\\", "u&\"x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, dialect := range []Dialect{Postgres, MySQL} {
			got := Fingerprint(text+" '31415926'", dialect)
			if !strings.Contains(text, "31415926") && strings.Contains(got, "31415926") && !strings.ContainsAny(text, "'\"`$/-#\\*") {
				t.Errorf("the value is in %s", got)
			}
			EffectOf(text, dialect)
			HoldsSecret(text, dialect)
			MayHoldSecret(text)
			(&Touched{}).Tables(text, dialect)
		}
	})
}
