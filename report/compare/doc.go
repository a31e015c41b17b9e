// Package compare lays groups of runs side by side: which figure changed, by how
// much, and whether repeats of the same would differ as much by chance. It says
// which groups must not be compared, judges a gate for pipelines, and makes the
// tables and charts of a comparison.
//
// It reads the folders of runs and of series. It must not run anything, nor know
// the command line or the terminal.
//
// The statistics are benchstat's (golang.org/x/perf/benchmath): medians,
// with the confidence interval of the order statistics, and the Mann-Whitney U
// test, which assumes no distribution. Times of databases have long tails, so that
// a test that assumes a normal distribution would be wrong (H. B. Mann, D. R.
// Whitney, Annals of Mathematical Statistics 18, 1947).
package compare
