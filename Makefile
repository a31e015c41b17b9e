# make            build ./assay
# make test       everything, against real servers that it installs and starts; pictures
#                 of the pages go to screenshots/ (ASSAY_SCREENSHOTS)
# make check      the quick part, before each commit
# make trust      the fuzz tests, and the trial of the checkers: every bug over 100 seeds,
#                 an honest database over 1000 and over 100 power cuts; and the sample
#                 applications at every event
# make managers   the long tests of PostgreSQL under Patroni, repmgr and pg_auto_failover
# make mysql      the tests on MySQL, which it installs
# make record     every known bug, in the broken and the mended version, and
#                 docs/record.md (an hour or more)
# make fuzz       the fuzz tests alone
# make bench      assay beside pgbench, psql, sysbench, wrk, Locust, and bare loops
# make benchmarks the benchmarks of the hot paths, in Go
# make compare-benchmarks
#                 some of these, and the client's instructions on each database, beside
#                 the parent commit's
# make demo       docs/demo and the README's picture, on an idle machine
# make install    the program, its manual pages and completions, below PREFIX

GO ?= go
# The servers for the tests are here or in the system's folders.
SERVERS = ./scripts/install-servers.sh compiler postgres mongodb mariadb cassandra redis etcd pgbouncer haproxy patroni pg-auto-failover repmgr faketime xfs chromium axe terminal duckdb frameworks kubernetes

PREFIX ?= /usr/local

.PHONY: build test check format lint words unit fuzz bench extras install clean

# grpcnotrace drops gRPC's web pages: their templates would make the linker keep all methods.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -tags grpcnotrace -ldflags "-s -w" -o assay ./cmd/assay

# Not under the race detector: SQLite, translated from C, would cost five times the processor time, and
# the checks.
UNWATCHED = modernc.org/... ./check/...
RACE = -race $(foreach package,$(UNWATCHED),-gcflags=$(package)=-race=false)

# These tests run assay in processes of its own, and its concurrency is in other packages, which have the
# detector. What starts beside a command here (for signals, the screen, an agent's input) is used by
# runs of a program that the tests build with the detector, by the flags in ASSAY_RACE. They mostly
# wait, and have the machine for themselves: four at once.
COMMANDS = $(FOLDERS) ASSAY_RACE='$(RACE)' CGO_ENABLED=0 ./scripts/run-tests.sh $(GO) test -vet=off -trimpath -skip '$(TRIALS)' -parallel 4 -timeout 60m ./cmd/assay

# Packages that start nothing beside, also in their tests (TestSequentialPackages): no race detector.
# What clients share of them, the drivers' tests watch. Not here: driver/mem, whose own state clients
# share, and packages whose tests start servers, which would wait alone, or take pictures.
SEQUENTIAL = . ./check/... ./driver/ordered ./driver/ownership ./driver/rows ./driver/sqldb ./driver/uri ./fault/chaosmesh ./internal/procfs ./internal/quantity ./internal/resp ./internal/spelling \
	./report ./report/article ./report/compare ./report/junit ./report/scalability ./report/trend ./runner/advise ./runner/catalog ./runner/figures ./runner/judge \
	./runner/known ./runner/readback ./runner/record ./runner/series ./store ./store/durability ./store/promise ./workload ./workload/availability ./workload/candles \
	./workload/churn ./workload/entity ./workload/isolation ./workload/journal ./workload/smallbank ./workload/tpcb ./workload/ycsb

# The trials of the checkers, of the bugs that they must find, and of bytes: hundreds of runs that show no race
# beyond the other tests of their packages.
TRIALS = ^TestTrust

# The long tests of clusters with a manager, for which they wait.
MANAGED = ^TestManaged

# The tests on MySQL, which is in no release of Debian.
MYSQL = ^TestOnMySQL

# Statistics over thousands of simulated runs without concurrency: no race detector.
STATISTICS = ^(TestNoiseIsNoDegradation|TestNoiseIsNotInvalid|TestDriftOfAFifthIsFound|TestFalseSteadyRate|TestLevelNoiseIsSteady|TestLatencyIntervalsCover|TestKneeRates)$$

# The slowest packages begin first. In alphabetical order the last would run alone at the end.
LONGEST = ./runner ./fault ./driver/postgres ./driver/mongodb ./driver/mysql ./driver/cassandra ./cluster ./cluster/cassandra

# Tests mostly wait for servers: three packages at once, and in each as many tests as processors. With
# four tests of each, servers exceeded their own time limits.
TOGETHER = -p 3

# Builds stay on the disk, and the files of servers are in memory if there is room.
FOLDERS = ASSAY_SCREENSHOTS=$${ASSAY_SCREENSHOTS-$(CURDIR)/screenshots} GOTMPDIR=$${TMPDIR:-/tmp} TMPDIR=$$(./scripts/test-folder.sh)

# The race detector needs cgo and a C compiler (install-servers.sh). The fuzz tests run their seeds;
# make trust runs more. lint has vetted all packages, and no debugger needs the tests' programs.
test: servers format lint
	$(FOLDERS) ./scripts/run-tests.sh $(GO) test -vet=off -ldflags=-w $(RACE) -skip '$(TRIALS)|$(MANAGED)|$(MYSQL)|$(STATISTICS)' $(TOGETHER) -timeout 60m \
		$(LONGEST) $$({ $(GO) list ./...; $(GO) list $(SEQUENTIAL) ./cmd/assay; } | sort | uniq -u)
	$(COMMANDS)
	CGO_ENABLED=0 ./scripts/run-tests.sh $(GO) test -vet=off -trimpath -timeout 60m $(SEQUENTIAL)
	CGO_ENABLED=0 ./scripts/run-tests.sh $(GO) test -vet=off -trimpath -run '$(TRIALS)|$(STATISTICS)' -timeout 60m ./runner ./measure ./driver/bugs ./application/mysql ./application/mongodb
	$(MAKE) build

.PHONY: servers
servers:
	$(SERVERS)

check: format lint words unit

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "not formatted (gofmt -w .):"; echo "$$out"; exit 1; fi

lint:
	$(GO) vet ./...
	$(GO) -C bench vet ./...
	$(GO) tool staticcheck ./...

# A guide is one sitting, so the documents' words are counted.
words:
	./scripts/count-words.sh

# Without the packages whose tests start real servers or are slow.
unit:
	$(GO) test -timeout 10m $$($(GO) list ./... | grep -v -e /cluster -e /driver/ -e /runner -e /cmd/)

# Each fuzz test for some inputs; `go test -fuzz NAME PACKAGE` continues for longer. A number, because
# Go before 1.27 may take the end of a -fuzztime for a failure (golang/go issue 75804).
FUZZTIME ?= 5000x
fuzz:
	@$(GO) list ./... | while read -r package; do \
		dir=.$${package#$$($(GO) list -m)}; \
		for name in $$(grep -hos '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | sed 's/^func //'); do \
			echo "fuzz $$package $$name"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" || exit 1; \
		done; \
	done

.PHONY: managers
managers:
	./scripts/install-servers.sh postgres etcd pgbouncer haproxy patroni pg-auto-failover repmgr
	$(GO) test ./cluster ./cluster/patroni ./cluster/pgautofailover ./cluster/repmgr ./fault ./runner -count=1 -p 1 -timeout 1h -run '$(MANAGED)' -v

.PHONY: trust
trust: fuzz
	$(GO) test ./cluster/disk -count=1 -timeout 2h -run 'WorstCut|OtherCuts|SQLite' -v -disk.steps=100000 -disk.cuts=100
	$(GO) test ./runner -count=1 -timeout 2h -run '$(TRIALS)|^(TestServers|TestBugsOnRealDatabases)$$' -v -trust.gone -trust.seeds=100 -trust.cuts=100 -trust.honest=1000 -trust.agents=100
	$(GO) test ./cmd/assay -count=1 -timeout 2h -run '^TestTrustApplications$$' -v
	$(GO) test ./check/cycle -count=1 -timeout 2h -run 'Agrees?With|UnknownIsRare' -v \
		-cycle.histories=3000 -cycle.longer=200 -cycle.rare=20 -cycle.raretxns=2000

# Package driver/mysql starts a MariaDB for its other tests.
.PHONY: mysql
mysql:
	./scripts/install-servers.sh mariadb mysql
	$(GO) test ./application/mysql ./cluster ./cluster/mysql ./driver/mysql -count=1 -p 1 -timeout 60m -run '$(MYSQL)' -v

# Earlier findings stay in the record. The page is made also where a bug was not found.
.PHONY: record
record: build
	./scripts/install-servers.sh postgres mongodb mariadb mysql cassandra redis patroni repmgr
	./scripts/record-bugs.sh

bench:
	./scripts/install-servers.sh postgres mongodb mariadb cassandra redis etcd pgbouncer compiler rivals
	$(GO) -C bench run .
	$(GO) -C bench run . -proxies

.PHONY: benchmarks
benchmarks:
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: compare-benchmarks
compare-benchmarks:
	./scripts/install-servers.sh counters
	./scripts/compare-benchmarks.sh

# Some three minutes. Runs that other programs make invalid replace nothing.
.PHONY: demo
demo:
	./scripts/install-servers.sh mongodb chromium terminal
	./scripts/record-session.sh
	./scripts/make-demo.sh

# Manual pages and completions, made from the commands.
extras: build
	rm -rf extras
	mkdir -p extras/completions
	ASSAY_MANPAGES=$(CURDIR)/extras/man $(GO) test ./cmd/assay -run '^TestManualPages$$' -count=1
	./assay completion bash > extras/completions/assay.bash
	./assay completion zsh > extras/completions/_assay
	./assay completion fish > extras/completions/assay.fish

# docs/reference, which a test compares with the program.
.PHONY: reference
reference: build
	rm -rf docs/reference
	./assay reference docs/reference

install: extras
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 assay $(DESTDIR)$(PREFIX)/bin/assay
	install -m 644 extras/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -D -m 644 extras/completions/assay.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/assay
	install -D -m 644 extras/completions/_assay $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_assay
	install -D -m 644 extras/completions/assay.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/assay.fish

clean:
	rm -rf assay extras dist
