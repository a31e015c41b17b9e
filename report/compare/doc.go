// Package compare compares groups of runs: which figure changed, by how much, and whether chance
// explains it. It says which groups must not be compared, judges gates for pipelines, and makes
// tables and charts.
//
// It reads the folders of runs and of series. It must not run anything, nor know the command line
// or the terminal.
//
// Medians have the confidence interval of the order statistics, like benchstat
// (golang.org/x/perf/benchmath). The test of difference is the Mann-Whitney U test (H. B. Mann,
// D. R. Whitney, Annals of Mathematical Statistics 18, 1947), or Gehan's if runs cut values off
// (censored.go). Neither assumes a distribution, since times of databases have long tails.
package compare
