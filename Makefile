# make            build ./assay
# make test       everything, against real servers that it installs and starts
# make check      the quick part, before each commit
# make trust      the trial of the checkers: every bug over 100 seeds, an honest
#                 database over 1000
# make figures    the benchmarks

GO ?= go
# A server that the tests need is installed here or by the system's packages.
SERVERS = ./scripts/install-servers.sh compiler postgres mongodb mariadb cassandra faketime chromium

.PHONY: build test check format lint unit fuzz figures clean

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o assay ./cmd/assay

# The race detector needs cgo and a C compiler; install-servers.sh sees to it.
test: servers format lint
	$(GO) test -race -timeout 60m ./...
	$(MAKE) fuzz
	$(MAKE) build

.PHONY: servers
servers:
	$(SERVERS)

check: format lint unit

format:
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "not formatted (gofmt -w .):"; echo "$$out"; exit 1; fi

lint:
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

# Without the packages whose tests start real servers or take their time.
unit:
	$(GO) test -timeout 10m $$($(GO) list ./... | grep -v -e /cluster -e /driver/ -e /study -e /cmd/)

# Each fuzz test for some inputs; `go test -fuzz NAME PACKAGE` goes on for longer.
# A number and not a time: at the end of its time Go before 1.27 may take its own
# deadline for a failure (golang/go issue 75804).
FUZZTIME ?= 5000x
fuzz:
	@$(GO) list ./... | while read -r package; do \
		dir=$${package#assay}; dir=.$$dir; \
		for name in $$(grep -hos '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | sed 's/^func //'); do \
			echo "fuzz $$package $$name"; \
			$(GO) test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$package" || exit 1; \
		done; \
	done

.PHONY: trust
trust:
	$(GO) test ./study -count=1 -timeout 2h -run TestTrust -v -trust.seeds=100 -trust.honest=500

figures:
	$(GO) test -run '^$$' -bench . -benchmem ./...

clean:
	rm -f assay
