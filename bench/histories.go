//go:build linux

package main

// historyRows are the histories that other tools record, judged from a file of EDN.
func historyRows() (all []row) {
	for _, kind := range []string{"register", "set", "queue", "kafka"} {
		file := kind + ".edn"
		all = append(all, row{name: "check of 1 M recorded operations, " + kind,
			before: `awk -v kind=` + kind + ` -v n=1000000 -f "$FILES/history.awk" > ` + file, after: `rm ` + file,
			ours: side{read: readTime(1_000_000), run: `"$ASSAY" check ` + file + ` > /dev/null`}, reach: "200,000/s, 500 MiB"})
	}
	return all
}
