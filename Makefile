# Needs Go and git. `make help` lists the targets, `make test` is what CI runs.

TAGS     := urfave_cli_no_docs
PREFIX   ?= /usr/local
FUZZTIME ?= 10s

# What `make bench` measures, for how long each, and where.
BENCH     ?= .
BENCHTIME ?= 2s
BENCH_IN  ?= ./timeline ./sqliteindex .

# The race detector needs a C compiler; the product does not. SQLite, which is C made into Go, is not watched: it would
# be six times slower (docs/decisions/0031).
CC_FOUND := $(shell command -v "$$(go env CC)")
RACE     := $(if $(CC_FOUND),-race '-gcflags=modernc.org/...=-race=false')
GOTEST   := CGO_ENABLED=$(if $(RACE),1,0) go test -tags $(TAGS) -timeout 20m

# The linter is built once for its own version and Go's.
LINT := .tools/golangci-lint-$(shell sed -n 's|.*/golangci-lint/v2 \(v[^ ]*\).*|\1|p' tools/go.mod)-$(shell go env GOVERSION)

NEWER_GIT := .tools/newer-git/bin

.DEFAULT_GOAL := help
.PHONY: help demo test check build vet tidy fmt-check lint fmt tools race newer-git test-smithers unit e2e fuzz crash cover bench man man-check demo-check install clean cc

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS='	' read -r name what; do printf '  %-13s %s\n' "$$name" "$$what"; done

demo: build ## run the main job on a scratch repository, and show it
	@PATH="$(CURDIR)/bin:$$PATH" sh testdata/demo/demo.sh

test: build vet tidy fmt-check man-check demo-check lint tools race newer-git test-smithers ## everything that must pass

check: test ## the same as test

build: ## build bin/git-smithers
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -tags $(TAGS) -o bin/git-smithers .

vet: ## go vet
	go vet -tags $(TAGS) ./...

tidy: ## go.mod and go.sum say what is imported
	go mod tidy -diff

fmt-check: ## every file is gofmt'ed
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); [ -z "$$files" ] || { printf 'not gofmt-ed, run make fmt:\n%s\n' "$$files"; exit 1; }

lint: $(LINT) ## golangci-lint, with the layer rules of docs/architecture.md
	$(LINT) run --allow-parallel-runners ./...

fmt: $(LINT) ## rewrite every file as the linter wants it
	$(LINT) fmt

tools: ## fetch the jj, and build the newer git, that tests run
	@tools/jj.sh
	@tools/newer-git.sh

race: cc ## every test but those of test-smithers, with the race detector
	$(GOTEST) $(RACE) -skip '^TestSmithers' ./...

newer-git: tools ## what runs git and jj once more, with the newer git
	@if [ -x $(NEWER_GIT)/git ]; then \
		export PATH="$(CURDIR)/$(NEWER_GIT):$$PATH" && git version && $(GOTEST) ./internal/gitexec ./jjbridge && $(GOTEST) -run '^TestScript' .; \
	else echo '*** no newer git: nothing runs once more'; [ "$$CI" != true ]; fi

test-smithers: cc ## runs go from the real Smithers, which is fetched, into the repository and back
	@tools/smithers.sh
	$(GOTEST) $(RACE) -count=1 -run '^TestSmithers' .

unit: ## every test but the end-to-end scripts, without the race detector
	$(GOTEST) -short -skip '^TestS(cript|mithers)' ./...

e2e: ## the end-to-end scripts, through real git
	$(GOTEST) -run '^TestScript' .

fuzz: ## fuzz every decoder for FUZZTIME
	@go list ./... | while read -r pkg; do \
		$(GOTEST) -list '^Fuzz' "$$pkg" | grep '^Fuzz' | while read -r target; do \
			echo "$$pkg $$target"; $(GOTEST) -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" </dev/null || exit 1; \
		done || exit 1; \
	done

crash: ## kill the process at named points, and find nothing lost
	EVERY_CUT=1 MAINTENANCE_TEST_FOR=1m $(GOTEST) -count=1 -v -run 'Crash|Killed|DeadProcess|Maintenance|CutOfPower' ./objstore ./refs ./engine ./timeline .

cover: ## test coverage as cover.out, and its total
	$(GOTEST) -coverpkg=./... -coverprofile=cover.out ./... && go tool cover -func=cover.out | tail -n 1

bench: ## the figures of the README, durable and without fsync
	@dir=$${BENCH_DIR:-$$(mktemp -d)} && BENCH_DIR=$$dir $(GOTEST) -run '^$$' -bench '$(BENCH)' -timeout 60m ./... | awk -f testdata/bench/table.awk; \
		status=$$?; [ -n "$$BENCH_DIR" ] || rm -rf "$$dir"; exit $$status

man: build ## rewrite the manual page from the help
	bin/git-smithers man >docs/git-smithers.1

man-check: build ## the manual page is up to date
	@bin/git-smithers man | diff docs/git-smithers.1 - || { echo 'docs/git-smithers.1 is out of date, run make man'; exit 1; }

demo-check: build ## the demo runs to its end
	@dir=$$(mktemp -d) && { PATH="$(CURDIR)/bin:$$PATH" TMPDIR=$$dir sh testdata/demo/demo.sh >$$dir/log 2>&1 || { cat $$dir/log; exit 1; }; } && rm -rf "$$dir"

install: build ## install the command and its man page under PREFIX
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/man/man1"
	install -m 755 bin/git-smithers "$(DESTDIR)$(PREFIX)/bin/git-smithers"
	install -m 644 docs/git-smithers.1 "$(DESTDIR)$(PREFIX)/share/man/man1/git-smithers.1"

clean: ## remove what was built
	rm -rf bin .tools cover.out

# Without a C compiler a person gets the tests without -race; CI fails.
cc:
	@$(if $(RACE),:,echo '*** no C compiler: the tests run WITHOUT the race detector'; [ "$$CI" != true ])

$(LINT):
	rm -rf .tools/golangci-lint*
	go build -C tools -trimpath -o ../$(LINT) github.com/golangci/golangci-lint/v2/cmd/golangci-lint
