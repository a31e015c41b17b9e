// Package subprocess has commands run in sessions of their own, out of reach of the terminal's signals:
// those are meant for assay, which then ends the command or heals what it did. A command has no
// terminal there. A client that asks for a password fails at once; in a process group in the
// background it would be stopped for ever.
//
// It imports no other package of assay.
package subprocess
