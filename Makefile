# make test is all that a change needs; it needs only Go (and uses the race
# detector where there is a C compiler). make help lists the targets.
GO ?= go
# The race detector needs cgo, and a compiler for it.
RACE := $(shell command -v "$$($(GO) env CC)" >/dev/null 2>&1 && echo -race)
TESTENV := $(if $(RACE),CGO_ENABLED=1,CGO_ENABLED=0)

.PHONY: help build test lint vulncheck integration bench golden

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

build: ## build bin/knee, without cgo
	CGO_ENABLED=0 $(GO) build -o bin/knee ./cmd/knee

lint: ## gofmt, vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

vulncheck: ## known vulnerabilities of what is linked in; not part of lint, since it asks https://vuln.go.dev
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...

test: lint ## everything that needs only Go: build, unit, property, golden and command tests
	CGO_ENABLED=0 $(GO) build ./...
	$(TESTENV) $(GO) test $(RACE) -timeout 20m ./...

integration: ## the real thing: quick start from a clean clone, interrupted profiles, PostgreSQL, a full disk
	./test/integration/run

bench: ## the benchmarks; those against measured data of others need KNEE_BENCH
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

golden: ## write the golden files anew; look at the difference before you commit it
	$(GO) test ./plots ./allocate/export -update
	$(GO) test ./cmd/knee -run TestCommandReference -update
