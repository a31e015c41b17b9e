// Package compare lays groups of runs side by side: which figure changed, by how
// much, and whether repeats of the same would differ as much by chance. It says
// which groups must not be compared, judges a gate for pipelines, and makes the
// tables and charts of a comparison.
//
// It reads the folders of runs and of series. It must not run anything, nor know
// the command line or the terminal.
//
// Medians have the confidence interval of the order statistics, as benchstat
// gives it (golang.org/x/perf/benchmath). The test of difference is the
// Mann-Whitney U test, and Gehan's where runs cut values off (censored.go). Neither
// assumes a distribution: times of databases have long tails, so that a test that
// assumes a normal distribution would be wrong (H. B. Mann, D. R. Whitney, Annals
// of Mathematical Statistics 18, 1947).
package compare
