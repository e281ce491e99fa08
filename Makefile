# Needs Go and git. `make help` lists the targets; `make test` and then `make ci` are what CI runs.

TAGS     := urfave_cli_no_docs
PREFIX   ?= /usr/local
FUZZTIME ?= 10s

# What `make bench` measures, for how long each, and where.
BENCH     ?= .
BENCHTIME ?= 2s

# How often `make bench-smithers` takes turns, and the captures and loads of a turn.
ROUNDS   ?= 7
CAPTURES ?= 200

# The race detector needs a C compiler; the product does not. Two libraries are not watched every day: with SQLite, which is
# C made into Go, tests take six times longer, with the compressor twice as long (docs/decisions/0031).
CC_FOUND := $(shell command -v "$$(go env CC)")
UNRACED  := -race '-gcflags=modernc.org/...=-race=false' '-gcflags=github.com/klauspost/...=-race=false'
RACE     := $(if $(CC_FOUND),$(UNRACED))

# -trimpath lets all checkouts of a machine share what Go has compiled. Whatever compiles has the same flags, so that nothing is
# compiled twice.
TESTFLAGS := -parallel 4 -trimpath -tags $(TAGS) -timeout 20m
GOTEST    := CGO_ENABLED=0 go test $(TESTFLAGS)
EVERYDAY  := CGO_ENABLED=0 tools/gotest.sh
RACED     := CGO_ENABLED=$(if $(RACE),1,0) tools/gotest.sh

# Where goroutines or processes meet, the race detector watches every day; everywhere else, in a soak.
MEET     := SideBySide|AtOnce|Beside|Meanwhile
MEETINGS := ./internal/engine ./objstore ./refs ./internal/refs/... $(patsubst %,./internal/%/...,flock fsx gitexec jsontext lazyregexp lru patience plain procgroup repotest smithersnames)

# Tests of objstore in which nothing runs side by side. With the race detector, which a soak runs them with, they take
# minutes.
ALONE := ^Test(AFlippedBit|AMergeThatMeetsAFault|APackThatGitHas|ASealThatSpares|FilesThatGit|LargeFilesAre|LooseObjectsGo|MergeAfterGC|MergeMakesOne|PacksOfTheFuture|PlanMerge|SealingAPack|TheNewestVersion|ThePacksStayFew|ValuesThatChange|WhatIsTooLarge)

# Tests that a soak alone runs: they take long, and others show nearly the same.
LONG := ^TestScript$$/^import-huge$$|^TestSmithers(Features|GoesOn|Loop|Notices|TakesTheSignals)|^TestLangGraph$$/^(newest|together|questions|import)$$

# The scripts that run with the newer git, too. A soak runs all of them with it.
NEWER_SCRIPTS ?= ^TestScript$$/^(code-(git|jj|none|rebase|worktrees)|fetch|git|land|plain-git|push|repositories)

# The scripts that run with the newer jj, too. A soak runs all of jj with it.
NEWER_JJ_SCRIPTS ?= ^TestScript$$/^(code-jj|land-jj|worktrees-prune-jj)$$

# The scripts that run in the repositories that git 3 makes. A soak runs all of them there.
GIT_3_SCRIPTS ?= ^TestScript$$/^(code-(none|rebase|replay|resume|worktrees)$$|frames$$|git$$|land$$|prune|reftable|repositories|seal|sha256|travel$$)
GIT_3         := GIT_DEFAULT_HASH=sha256 GIT_DEFAULT_REF_FORMAT=reftable

NEWER_GIT := .tools/newer-git/bin
LINT      := .tools/golangci-lint

.DEFAULT_GOAL := help
.PHONY: help demo demo-workflow screenshots repositories test ci check checks build vet cross tidy fmt-check lint house api vuln fmt tools everyday race newer-git test-smithers test-langgraph test-agents test-mcp agents-older agents-newest look unit e2e fuzz soak findings crash cover bench bench-smithers bench-langgraph bench-gates man man-check demo-check install dist release clean cc

help: ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS='	' read -r name what; do printf '  %-14s %s\n' "$$name" "$$what"; done

demo: build ## a recorded agent on a scratch repository: look, what if, go back, land
	@PATH="$(CURDIR)/bin:$$PATH" sh testdata/demo/demo.sh

demo-workflow: build ## workflows on a scratch repository: fail, fork, replay, approve, go back
	@PATH="$(CURDIR)/bin:$$PATH" sh testdata/demo/workflow.sh

# All five at once took 6:50 where one after the other took 5:23, on two cores.
LANES := $(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

repositories: build ## make the test repository of this version of the format anew; versions before it stay as they are
	sh testdata/repositories/make.sh bin/git-smithers testdata/repositories/format-2.bundle

test: ## the tests of the program: needs Go and git, and fetches jj with npm if npm is there
	@rm -rf .tests && tools/jj.sh
	@$(MAKE) --no-print-directory everyday

# Two lanes run side by side: much of a test is waiting, and more take turns of the processor.
ci: tools ## everything else that must pass at every commit: linters, the race detector, a newer git, Codex CLI, Smithers, LangGraph, Chromium
	@$(LANES) checks race newer-git test-smithers test-langgraph look

checks: build vet tidy fmt-check man-check demo-check lint ## everything that must pass but the tests

check: test ci ## everything that must pass at every commit

build: ## build bin/git-smithers and bin/git-smithers-desk
	CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags='-s -w' -tags $(TAGS) -o bin/git-smithers .
	CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags='-s -w' -tags $(TAGS) -o bin/git-smithers-desk ./cmd/git-smithers-desk

vet: ## go vet
	go vet -trimpath -tags $(TAGS) ./...
	go vet -C tools/release -trimpath ./...

cross: ## build for macOS and Windows, and vet: the tests too for macOS; those for Windows assume Unix
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go vet -trimpath -tags $(TAGS) ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build -trimpath -tags $(TAGS) -o /dev/null . ./cmd/git-smithers-desk
	@tools/lint.sh
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 GOFLAGS=-trimpath $(LINT) run --allow-parallel-runners --default=none --enable=govet --tests=false ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build -trimpath -tags $(TAGS) -o /dev/null . ./cmd/git-smithers-desk

tidy: ## go.mod and go.sum say what is imported
	go mod tidy -diff

fmt-check: ## every file is gofmt'ed
	@files=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); [ -z "$$files" ] || { printf 'not gofmt-ed, run make fmt:\n%s\n' "$$files"; exit 1; }

lint: house api ## golangci-lint, the shape of the house, what the library promises, and actionlint for the setup action
	@tools/lint.sh && tools/actionlint.sh
	GOFLAGS=-trimpath $(LINT) run --allow-parallel-runners ./...
	cd tools/release && GOFLAGS=-trimpath ../../$(LINT) run --allow-parallel-runners --config ../../.golangci.yml --disable forbidigo,noctx ./...

screenshots: build ## draw docs/pictures: the terminal view as SVG
	@PATH="$(CURDIR)/bin:$$PATH" sh tools/screenshots.sh

house: ## how large the packages are, and what they import, against testdata/house.txt; HOUSE=-update writes the table anew
	@go run -C tools ./house $(HOUSE)

api: ## what the promised packages export, against testdata/api; API=-update writes the lists anew
	@go run -C tools ./api $(API)

findings: ## what other programs do, by hand: it needs the network
	@for script in findings/*.sh; do echo "== $$script" && sh $$script || exit 1; done

vuln: ## gosec, and known vulnerabilities of what the program calls, if govulncheck reaches its database
	@tools/lint.sh
	GOFLAGS=-trimpath $(LINT) run --allow-parallel-runners --config tools/gosec.yml ./...
	cd tools/release && GOFLAGS=-trimpath ../../$(LINT) run --allow-parallel-runners --config ../gosec.yml ./...
	@tools/vuln.sh $(TAGS)

fmt: ## rewrite every file as the linter wants it
	@tools/lint.sh
	$(LINT) fmt

tools: ## fetch and build what the tests run: jj, a newer git and jj, Smithers, Codex CLI, LangGraph
	@{ tools/smithers.sh && tools/agents.sh codex && tools/langgraph.sh; } & fetched=$$!; tools/jj.sh && tools/newer-git.sh && tools/newer-jj.sh && wait $$fetched

# Go begins with the packages that are named first: the two that take longest. Else the processor waits for them in the end.
everyday: ## the tests that `make test` runs: without the race detector, temporary files in memory
	@go test -C tools/release -trimpath ./...
	@$(EVERYDAY) everyday -memory $(TESTFLAGS) -skip '^TestSmithers|^TestLangGraph|^TestAgent|$(LONG)' . ./timeline ./...

race: cc tools ## tests of what runs side by side, with the race detector
	@$(RACED) race -memory $(TESTFLAGS) $(RACE) -skip '$(ALONE)' $(MEETINGS)
	@$(RACED) race-timeline -memory $(TESTFLAGS) $(RACE) -run '$(MEET)' $$(git grep -lE --untracked '^func Test[A-Za-z]*($(MEET))' -- 'timeline/*_test.go' 'internal/peer/*_test.go' 'internal/share/*_test.go' 'internal/upkeep/*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')

newer-git: tools ## tests of how git and jj are run, once more with the newer git and jj, and in repositories as git 3 makes them
	@if [ -x $(NEWER_GIT)/git ]; then \
		export PATH="$(CURDIR)/$(NEWER_GIT):$$PATH" && git version && \
		$(EVERYDAY) newer-git -memory $(TESTFLAGS) ./internal/gitexec && \
		$(EVERYDAY) newer-git-scripts -memory $(TESTFLAGS) -run '$(NEWER_SCRIPTS)' . && \
		$(GIT_3) $(EVERYDAY) git-3 -memory $(TESTFLAGS) ./refs ./jjbridge && \
		$(GIT_3) $(EVERYDAY) git-3-scripts -memory $(TESTFLAGS) -run '$(GIT_3_SCRIPTS)' .; \
	else echo '*** no newer git: nothing runs with it'; [ "$$CI" != true ]; fi
	@if [ -x .tools/newer-jj/bin/jj ]; then \
		export JJ_TOOL=newer-jj PATH="$(CURDIR)/$(NEWER_GIT):$$PATH" && .tools/newer-jj/bin/jj --version && \
		$(EVERYDAY) newer-jj-scripts -memory $(TESTFLAGS) -run '$(NEWER_JJ_SCRIPTS)' .; \
	else echo '*** no newer jj: nothing runs with it'; [ "$$CI" != true ]; fi

test-smithers: tools ## runs go from the real Smithers into the repository and back; a session of the real Codex CLI
	@AGENTS=1 $(EVERYDAY) test-codex $(TESTFLAGS) -count=1 -run '^TestAgentCodex' .
	@$(EVERYDAY) test-smithers -memory $(TESTFLAGS) -count=1 -run '^TestSmithers' -skip '$(LONG)' .

test-langgraph: tools ## LangGraph keeps its threads here: its own tests for savers, and the examples under node and bun
	@$(EVERYDAY) test-langgraph -memory $(TESTFLAGS) -count=1 -run '^TestLangGraph' -skip '$(LONG)' .

test-agents: ## real coding agents, in a network of their own with a fake model
	@tools/agents.sh && tools/agents.sh --older pi
	@AGENTS=1 $(EVERYDAY) agents $(TESTFLAGS) -count=1 -run '^TestAgent' .

# The agents whose tests are quick: the others wait for a network that is not there.
OLDER ?= claude codex qwen

agents-older: ## coding agents in an older version, those of OLDER
	@tools/agents.sh --older $(OLDER)
	@AGENTS=older $(EVERYDAY) agents-older $(TESTFLAGS) -count=1 -run '^TestAgent($(shell echo $(OLDER) | sed 's/\b./\U&/g; s/ /|/g'))' .

agents-newest: ## coding agents in the newest versions that npm has, as a table: by hand, it needs the network
	@tools/agents-newest.sh $(TESTFLAGS)

test-mcp: ## the MCP server with the inspector, the conformance tests, Claude Code, Codex CLI and Gemini CLI
	@tools/mcp.sh && tools/agents.sh claude codex gemini
	@MCP=1 $(EVERYDAY) mcp $(TESTFLAGS) -count=1 -run 'Inspector|Conforms' ./internal/desk/mcp
	@AGENTS=1 $(EVERYDAY) mcp-agent $(TESTFLAGS) -count=1 -run '^TestAgentClaudeCallsItsTools|^TestAgentsAsk' .

look: ## reports in Chromium, on paper and in html-validate; .tests/report has the pages and pictures
	@tools/chromium.sh && tools/html-validate.sh
	@BROWSER=1 $(EVERYDAY) look $(TESTFLAGS) -count=1 -run Browser ./internal/web/report

unit: ## every test but the end-to-end scripts, without the race detector
	$(GOTEST) -skip '^Test(Script|Smithers|LangGraph)' ./...

e2e: ## the end-to-end scripts, through real git
	$(GOTEST) -run '^TestScript' .

fuzz: ## fuzz every decoder for FUZZTIME
	@CGO_ENABLED=0 tools/fuzz.sh $(FUZZTIME) $(TESTFLAGS)

soak: cc tools ## everything, at length: see docs/testing.md
	@tools/soak.sh $(TESTFLAGS)

crash: ## kill the process at named points, and find nothing lost
	EVERY_CUT=1 MAINTENANCE_TEST_FOR=1m $(GOTEST) -count=1 -v -run 'Crash|Killed|DeadProcess|Maintenance|CutOfPower' ./objstore ./refs ./internal/engine ./timeline ./internal/peer/agent .

cover: ## test coverage as cover.out, and its total
	$(GOTEST) -coverpkg=./... -coverprofile=cover.out ./... && go tool cover -func=cover.out | tail -n 1

bench: ## the figures of docs/benchmarks.md, durable and without fsync
	@dir=$${BENCH_DIR:-$$(mktemp -d)} && BENCH_DIR=$$dir $(GOTEST) -run '^$$' -bench '$(BENCH)' -timeout 60m ./... | awk -f testdata/bench/table.awk; \
		status=$$?; [ -n "$$BENCH_DIR" ] || rm -rf "$$dir"; exit $$status

bench-smithers: ## the same captures and loads here and in the real Smithers, by turns
	@CGO_ENABLED=0 tools/bench-smithers.sh $(ROUNDS) $(CAPTURES) $(TESTFLAGS)

bench-gates: build ## the CPU of commands by turns with other programs, against the limits of docs/benchmarks.md
	@{ tools/langgraph.sh && tools/langgraph-sqlite.sh; } >/dev/null; go build -C tools -trimpath -o ../bin/gates ./gates && bin/gates bin/git-smithers

bench-langgraph: build ## puts and reads of LangGraph threads, by turns with its SqliteSaver
	@tools/langgraph.sh && tools/bench-langgraph.sh bin/git-smithers

man: build ## rewrite the manual page from the help, and the JSON Schema of workflow files from the table of keys
	bin/git-smithers man >docs/git-smithers.1
	bin/git-smithers check --schema >docs/workflow.schema.json

man-check: build ## the manual page and the JSON Schema are up to date
	@bin/git-smithers man | diff docs/git-smithers.1 - || { echo 'docs/git-smithers.1 is out of date, run make man'; exit 1; }
	@bin/git-smithers check --schema | diff docs/workflow.schema.json - || { echo 'docs/workflow.schema.json is out of date, run make man'; exit 1; }

demo-check: build ## the demos run to their ends
	@dir=$$(mktemp -d) && for demo in demo workflow; do \
		PATH="$(CURDIR)/bin:$$PATH" TMPDIR=$$dir sh testdata/demo/$$demo.sh >$$dir/log 2>&1 || { cat $$dir/log; exit 1; }; \
	done && rm -rf "$$dir"

install: build ## install the commands, the man page and completions under PREFIX
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/man/man1" "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" \
		"$(DESTDIR)$(PREFIX)/share/zsh/site-functions" "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d"
	install -m 755 bin/git-smithers "$(DESTDIR)$(PREFIX)/bin/git-smithers"
	install -m 755 bin/git-smithers-desk "$(DESTDIR)$(PREFIX)/bin/git-smithers-desk"
	install -m 644 docs/git-smithers.1 "$(DESTDIR)$(PREFIX)/share/man/man1/git-smithers.1"
	bin/git-smithers completion bash >"$(DESTDIR)$(PREFIX)/share/bash-completion/completions/git-smithers"
	bin/git-smithers completion zsh >"$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_git-smithers"
	bin/git-smithers completion fish >"$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/git-smithers.fish"

dist: ## the files of a release in dist, from the newest commit: needs npm, dpkg, rpm and ruby
	@tools/release.sh

release: ## tag VERSION=v1.2.3 here, with its notes in the changelog, and make its files in dist
	@[ -n "$(VERSION)" ] || { echo 'usage: make release VERSION=v1.2.3' >&2; exit 2; }
	@tools/release.sh $(VERSION)

clean: ## remove what was built
	rm -rf bin .tools .tests .soak cover.out dist

# Without a C compiler a person gets the tests without -race; CI fails.
cc:
	@$(if $(RACE),:,echo '*** no C compiler: the tests run WITHOUT the race detector'; [ "$$CI" != true ])
