package mysql

import (
	"fmt"
	"testing"

	"assay/application/wire"
)

// TestExecutableComments are a part of the text where the server does them.
func TestExecutableComments(t *testing.T) {
	for _, c := range []struct {
		greets, text, want string
	}{
		{"8.4.3", "/*!40101 SET NAMES utf8 */", "SET NAMES utf8[]0"}, {"8.4.3", "/*!90101 SET NAMES utf8 */", ""},
		{"8.4.3", "/*! COMMIT */", "COMMIT[]2"}, {"8.4.3", "/*!50000COMMIT*/", "COMMIT[]2"}, {"8.4.3", "/*! BEGIN */; SELECT 1", "BEGIN[]1 SELECT ?[1]0"},
		{"8.4.3", "INSERT /*! IGNORE */ INTO t VALUES ('/*! no */', /*!80403 7 */ /*!80404 , 8 */)", "INSERT IGNORE INTO t VALUES (? ... )['/*! no */' 7]0"},
		{"8.4.3", "SELECT 1 /*!99999 /* within */ + 1 */ + 2", "SELECT ? + ?[1 2]0"}, {"8.4.3", "SELECT 1 /*!1 + 1 */ -- /*! + 2 */", "SELECT ? ? + ?[1 1 1]0"},
		{"8.4.3", "/*M! ROLLBACK */ SELECT `/*!`, 'it''s\\' /*!'", "SELECT `/*!`, ?['it''s\\' /*!']0"}, {"8.4.3", "/*! COMMIT", "COMMIT[]2"},
		{"5.5.5-10.6.5-MariaDB", "/*M! COMMIT */", "COMMIT[]2"}, {"10.11.6-MariaDB", "/*M!100600 COMMIT */", "COMMIT[]2"}, {"10.11.6-MariaDB", "/*M!110000 COMMIT */", ""},
		{"10.11.6-MariaDB", "/*!80000 COMMIT */", ""}, {"10.11.6-MariaDB", "/*!50100 COMMIT */", "COMMIT[]2"}, {"10.11.6-MariaDB", "/*!100100 COMMIT */", "COMMIT[]2"}, {"10.11.6-MariaDB", "/*!999999\\- no */", ""},
	} {
		to := &talk{server: &Server{}}
		to.takeLogin(append(append([]byte{10}, c.greets...), make([]byte, 60)...), nil)
		got := ""
		for i, s := range to.statements(c.text) {
			got += map[bool]string{true: " "}[i > 0] + fmt.Sprintf("%s%v%d", s.Shape, s.Values, s.Kind)
		}
		if got != c.want {
			t.Errorf("%s: %s is read as %q, want %q", c.greets, c.text, got, c.want)
		}
	}
	if n := placeholders(opened("SELECT ? /*! + ? */ /*!99999 + ? */", 80403, false)); n != 2 {
		t.Errorf("%d parameters", n)
	}
	if s := (&talk{}).statements("CREATE TABLE t (n int); CREATE OR REPLACE TEMPORARY TABLE t (n int); SET autocommit = 1; ANALYZE SELECT 1"); !s[0].Implicit || s[1].Implicit || !s[2].Implicit || s[3].Implicit || s[3].Kind != wire.Other {
		t.Error("what commits is taken for another")
	}
}
