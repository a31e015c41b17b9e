package mysql

import (
	"slices"
	"strings"

	"assay/application/wire"
)

// commitsFirst reports whether the server may commit what is open before it does a statement (MySQL
// 8.4 manual, "Statements That Cause an Implicit Commit"; MariaDB Server Documentation, "SQL statements
// That Cause an Implicit Commit"). The status behind its answer says whether it did.
func commitsFirst(shape string) bool {
	words := strings.Fields(strings.ToUpper(shape[:min(len(shape), 80)]))
	if len(words) < 2 {
		return false
	}
	switch second := words[1]; words[0] {
	case "ALTER", "CREATE", "DROP":
		return second != "TEMPORARY" && second != "PREPARE" && !slices.Contains(words[:min(len(words), 4)], "TEMPORARY")
	case "RENAME", "TRUNCATE", "GRANT", "REVOKE", "INSTALL", "UNINSTALL", "LOCK", "UNLOCK", "FLUSH", "RESET", "CHANGE", "STOP", "CACHE":
		return true
	case "START":
		return second != "TRANSACTION"
	case "ANALYZE", "CHECK", "OPTIMIZE", "REPAIR": // of MariaDB, ANALYZE is of statements, too
		return slices.Contains([]string{"TABLE", "TABLES", "VIEW", "LOCAL", "NO_WRITE_TO_BINLOG"}, second)
	case "LOAD":
		return second == "INDEX"
	case "SET":
		return second == "PASSWORD" || switchesOn(shape)
	}
	return false
}

// switchesOn is true of SET autocommit, which commits where it is switched on.
func switchesOn(shape string) bool {
	upper := strings.ToUpper(shape)
	return strings.HasPrefix(upper, "SET ") && strings.Contains(upper, "AUTOCOMMIT")
}

// before is what became of the transaction that was open before a statement that commits it, by the
// code of its error: the server reads the text and asks whether it may write at all before it commits,
// and looks at names and rights behind that. Tried on MariaDB 10.11 and MySQL 9.7.
func before(s *wire.Statement, code uint16) wire.Outcome {
	switch {
	case !s.Implicit || switchesOn(s.Shape):
		return ""
	case slices.Contains([]uint16{
		1046, 1064, 1115, 1149, 4161, // the text: no database, syntax, an unknown character set or type
		1192, 1290, 1399, 1415, 1568, 1792, 1836, // not allowed in this state, or by a server that takes no writes
	}, code):
		return ""
	case slices.Contains([]uint16{
		1007, 1008, 1049, 1050, 1051, 1060, 1061, 1068, 1069, 1072, 1091, 1146, 1304, 1305, 1359, 1360, 1396, 1539, 4091, 4092, // what is there or not
		1044, 1133, 1141, 1142, 1147, 1227, 1410, // rights
		1071, 1074, 1126, 1205, 1451, 1701, 3730, // lengths, files, locks, references
	}, code):
		return wire.Committed
	}
	return wire.Unknown
}
