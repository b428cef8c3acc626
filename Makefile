# make test is all that a change needs; it needs only Go. make help lists the
# targets.
GO ?= go

PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: help build test race lint vulncheck integration bench golden release

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | column -t -s "$$(printf '\t')"

build: ## build bin/knee, without cgo
	CGO_ENABLED=0 $(GO) build -o bin/knee ./cmd/knee

lint: vulncheck ## gofmt, vet, staticcheck, known vulnerabilities
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "gofmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

vulncheck: ## known vulnerabilities of what is linked in, where https://vuln.go.dev can be reached
	@if curl -sf --max-time 10 -o /dev/null https://vuln.go.dev/index/db.json; then \
		$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...; \
	else echo "govulncheck: https://vuln.go.dev cannot be reached by curl, so known vulnerabilities were not looked for"; fi

test: lint ## everything that needs only Go: build, unit, property, golden and command tests
	CGO_ENABLED=0 $(GO) build ./...
	CGO_ENABLED=0 $(GO) test -timeout 30m ./...

race: ## the same tests under the race detector, which needs a C compiler
	CGO_ENABLED=1 $(GO) test -race -timeout 60m ./...

integration: ## the real thing: quick start from a clean clone, interrupted profiles, PostgreSQL, a full disk
	./test/integration/run

bench: ## the benchmarks; those against measured data of others need KNEE_BENCH
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

golden: ## write the golden files anew; look at the difference before you commit it
	$(GO) test ./plots ./allocate/export -update
	$(GO) test ./cmd/knee -run TestCommandReference -update

# The same revision gives the same bytes: no paths, no dates but that of the
# revision. It needs GNU tar.
release: ## archives for linux, darwin and windows with manual and completions, and their checksums, in dist/
	rm -rf dist && mkdir -p dist/manual/man1 dist/manual/completions
	$(GO) run ./cmd/knee man dist/manual/man1 -q
	@for shell in bash zsh fish powershell; do $(GO) run ./cmd/knee completion $$shell > dist/manual/completions/knee.$$shell || exit 1; done
	@for p in $(PLATFORMS); do \
		name=knee_$$(echo $$p | tr / _); mkdir dist/$$name && cp -r dist/manual/* LICENSE README.md docs/changes.md dist/$$name/ && \
		CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build -trimpath -buildvcs=true -ldflags='-s -w' -o dist/$$name/ ./cmd/knee && \
		tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime=@$$(git log -1 --format=%ct) -C dist -c $$name | gzip -n > dist/$$name.tar.gz && \
		rm -r dist/$$name || exit 1; echo $$name; done
	rm -r dist/manual && cd dist && sha256sum *.tar.gz > SHA256SUMS && cat SHA256SUMS
