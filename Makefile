# The tools that are written in Go come from the Go module proxy, at the versions that the go.mod files
# of this repository pin. "make help" lists the targets.
SHELL := /usr/bin/env bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

include images/references.env

# IMG is the operator's image, TOOLS_IMG the tools image.
IMG ?= $(OPERATOR_IMAGE):$(IMAGE_TAG)
TOOLS_IMG ?= $(TOOLS_IMAGE):$(IMAGE_TAG)

# CEPH_IMAGE is the base of the tools image: use your cluster's version.
CEPH_IMAGE ?= $(CEPH_IMAGE_$(CEPH_LINE))

# MANIFESTS is the kustomization to deploy, such as config/namespaced.
MANIFESTS ?= config/namespaced

# CONTAINER_TOOL builds images: docker, podman or buildah.
CONTAINER_TOOL ?= docker

# TESTFLAGS are additional flags for go test, such as -run Name or -count=1.
TESTFLAGS ?=

CONTROLLER_GEN := go tool -modfile=hack/tools/go.mod controller-gen
KUSTOMIZE := go tool -modfile=hack/tools/go.mod kustomize
CRD_REF_DOCS := go tool -modfile=hack/apidocs/go.mod crd-ref-docs
ACTIONLINT := go tool -modfile=hack/workflows/go.mod actionlint
GOLANGCI_LINT := go tool -modfile=hack/lint/go.mod golangci-lint-kube-api-linter

# GENERATED lists the files that "make generate" writes. "make verify" fails if "make generate" would
# change them.
GENERATED := api/v1alpha1/zz_generated.deepcopy.go config/argocd/argocd-cm.yaml config/crd/bases config/rbac/role.yaml \
	dashboards/benchmark.json dashboards/fleet.json dashboards/sweep.json docs/api.md docs/cli.md docs/metrics.md \
	charts/cephtune/files charts/cephtune/README.md charts/cephtune/values.schema.json

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*##/ {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Development

.PHONY: generate
generate: manifests dashboards chart ## Generate all generated files.
	$(CONTROLLER_GEN) object paths=./api/...
	hack/one-line-rules _api
	$(CRD_REF_DOCS) --source-path=_api --config=hack/apidocs/config.yaml --templates-dir=hack/apidocs/templates \
		--renderer=markdown --output-path=docs/api.md --log-level=WARN
	rm -r _api
	go run ./internal/cli/gendocs >docs/cli.md.new
	mv docs/cli.md.new docs/cli.md
	go run ./internal/metrics/reference >docs/metrics.md.new
	mv docs/metrics.md.new docs/metrics.md
	hack/argocd-cm >config/argocd/argocd-cm.yaml

.PHONY: manifests
manifests: ## Generate CRDs and RBAC.
	@rm -f config/crd/bases/*.yaml
	hack/one-line-rules _api
	$(CONTROLLER_GEN) crd rbac:roleName=manager paths=./_api/... paths=./controllers/... \
		output:crd:dir=config/crd/bases output:rbac:dir=config/rbac
	rm -r _api

.PHONY: dashboards
dashboards: ## Generate the dashboards for Grafana.
	cd dashboards && go run ./write .

.PHONY: chart
chart: manifests dashboards ## Generate the copies, the schema and the README of the Helm chart.
	hack/chart/files
	cd hack/chart && go run ./schema >../../charts/cephtune/values.schema.json
	cd hack/chart && go tool helm-docs --chart-search-root ../../charts --sort-values-order file --log-level warning

.PHONY: fmt
fmt: ## Format the code.
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: ## Run the linters for Go and shell, find code that only tests reach, and vet the plugin for Windows and macOS.
	$(GOLANGCI_LINT) config verify
	$(GOLANGCI_LINT) run --disable kubeapilinter
	cd dashboards && go tool -modfile=../hack/lint/go.mod golangci-lint-kube-api-linter run --disable kubeapilinter
	hack/one-line-rules _api
	$(GOLANGCI_LINT) run --enable-only kubeapilinter ./_api/v1alpha1
	rm -r _api
	hack/deadcode
	for os in windows darwin; do GOOS=$$os go vet ./cmd/kubectl-cephtune || exit 1; done
	hack/shellcheck
	$(MAKE) workflows

.PHONY: workflows
workflows: ## Check the workflows in .github with actionlint and zizmor.
	$(ACTIONLINT) -shellcheck=shellcheck .github/workflows/*.yml
	hack/workflows/zizmor

.PHONY: test
test: ## Run unit tests, envtest against a real API server, and tests of dashboards, alerts, health scripts and the chart.
	assets=$$(hack/envtest-assets); \
	KUBEBUILDER_ASSETS="$$assets" go test -timeout 40m $(TESTFLAGS) ./...
	cd dashboards && go test $(TESTFLAGS) ./...
# -count=1, because Go's test cache ignores changes of files outside a module, such as the alerts and health scripts.
	cd hack/alerts && go test -count=1 $(TESTFLAGS) ./...
	cd hack/gitops && go test -count=1 $(TESTFLAGS) ./...
# The chart and the parts of a release are outside the next two modules.
	cd hack/chart && go test -count=1 $(TESTFLAGS) ./...
	cd hack/release && go test -count=1 $(TESTFLAGS) ./...

.PHONY: race
race: ## Run the unit tests, envtest and a few stories with Go's race detector. They take several times as long as without it.
	assets=$$(hack/envtest-assets); \
	KUBEBUILDER_ASSETS="$$assets" CEPHTUNE_STORM_STORIES=20 go test -race -timeout 90m $(TESTFLAGS) ./...

# FUZZTIME is the time that "make fuzz" spends on each target.
FUZZTIME ?= 2m

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME.
	hack/fuzz $(FUZZTIME)

.PHONY: simulate
simulate: ## Run the simulations of the docs in full, with 25 times as many sweeps as in tests. It takes hours.
	CEPHTUNE_SIMULATION=long go test -timeout 3h -run Simulated -v $(TESTFLAGS) ./internal/stats ./internal/design/sweep ./internal/design/switchback ./internal/design/curve \
		./internal/design/changepoint ./internal/history

# STORIES is the number of stories of "make storm", half of them of sweeps and half of benchmarks. SEED is the first of
# their seeds. PLOTS are the packages with stories.
STORIES ?= 20000
SEED ?= 1
PLOTS ?= ./controllers/cephtuningsweep ./controllers/cephbenchmark

.PHONY: storm
storm: ## Tell STORIES random stories of sweeps and benchmarks under random faults, from SEED on. It prints the next seed.
	CEPHTUNE_STORM_STORIES=$$((($(STORIES) + 1) / 2)) CEPHTUNE_STORM_SEED=$(SEED) go test -timeout 24h -run '^TestStorm$$' -v $(TESTFLAGS) $(PLOTS)

.PHONY: storm-real
storm-real: ## Tell 30 stories on a real API server.
	assets=$$(hack/envtest-assets); \
	KUBEBUILDER_ASSETS="$$assets" CEPHTUNE_STORM_STORIES=15 CEPHTUNE_STORM_SEED=$(SEED) \
	go test -timeout 1h -run '^TestStormOnRealServer$$' -v $(TESTFLAGS) $(PLOTS)

.PHONY: sameness
sameness: ## Compare decisions, verdicts of archived ledgers, and rendered manifests with the recorded ones.
	go test -count=1 -run '^TestSameness$$' $(TESTFLAGS) ./config ./controllers/cephtuningsweep
	go test -count=1 -run '^TestAnExport' $(TESTFLAGS) ./internal/cli/analyze
	cd hack/chart && go test -count=1 -run '^Test(Golden|Copies)$$' $(TESTFLAGS) ./...

# CRS is the number of CRs that "make bench-crs" creates, FINISHED the number of finished ones that it stores, QUEUE the number
# of benchmarks that run or wait, and NAMESPACES the number of benchmark namespaces.
CRS ?= 1000
FINISHED ?= 1000
QUEUE ?= 1000
NAMESPACES ?= 500

.PHONY: bench-crs
bench-crs: ## Measure how time, requests and memory grow with CRS and FINISHED CRs, a queue of QUEUE, NAMESPACES namespaces, and large clusters (docs/scale.md).
	assets=$$(hack/envtest-assets); \
	KUBEBUILDER_ASSETS="$$assets" CEPHTUNE_CRS=$(CRS) CEPHTUNE_FINISHED=$(FINISHED) CEPHTUNE_NAMESPACES=$(NAMESPACES) \
	go test -timeout 2h -run '^$$' -bench '^Benchmark(ManyCRs|FinishedCRs|Namespaces)$$' -benchtime 1x $(TESTFLAGS) ./cmd/manager
	CEPHTUNE_QUEUE=$(QUEUE) go test -timeout 2h -count=1 -v $(TESTFLAGS) ./controllers
	go test -count=1 -v -run '^Test(ManyClientsWithLongCourses|MemoryOfALargeCluster|TenClusters.*|ADeadCluster.*|TheSidecarHasMemory.*)$$' $(TESTFLAGS) \
		./internal/conclusion ./internal/clusterwatch ./internal/ceph ./config

# COMMITS are the commits that "make count" compares.
COMMITS ?= HEAD

.PHONY: count
count: ## Count code, tests, scripts, YAML, packages, types and rooms of COMMITS, side by side.
	hack/count $(COMMITS)

.PHONY: verify
verify: ## Check generated files, modules and manifests, and run the linters.
	$(MAKE) generate
	hack/verify-generated $(GENERATED)
	hack/verify-modules
	for file in config/*/kustomization.yaml dashboards/kustomization.yaml; do $(KUSTOMIZE) build "$${file%/*}" >/dev/null; done
	$(MAKE) lint

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in code that the programs reach. It asks vuln.go.dev.
	go tool -modfile=hack/workflows/go.mod govulncheck ./cmd/...

.PHONY: next-versions
next-versions: ## Compare the tested versions of Kubernetes, Rook and Ceph with the newest releases. It asks GitHub.
	hack/next-versions

##@ Build and run

.PHONY: build
build: ## Build the binaries into bin/.
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/...

.PHONY: run
run: ## Run the manager on this machine, against the cluster of KUBECONFIG.
	go run ./cmd/manager --health-probe-bind-address=127.0.0.1:8081

.PHONY: images
images: ## Build the images IMG and TOOLS_IMG with CONTAINER_TOOL.
	$(CONTAINER_TOOL) build -t $(IMG) -f images/operator/Dockerfile --build-arg GO_IMAGE=$(GO_IMAGE) .
	$(CONTAINER_TOOL) build -t $(TOOLS_IMG) -f images/tools/Dockerfile \
		--build-arg CEPH_IMAGE=$(CEPH_IMAGE) --build-arg FIO_VERSION=$(FIO_VERSION) images/tools

.PHONY: manifest
manifest: ## Print the manifests of the whole installation, with IMG and TOOLS_IMG.
# Both the Deployment and the operator config name these images.
	@$(KUSTOMIZE) build $(MANIFESTS) | sed -E 's#(image|runner): $(OPERATOR_IMAGE):.*#\1: $(IMG)#; s#(image|tools): $(TOOLS_IMAGE):.*#\1: $(TOOLS_IMG)#'

# VERSION is the version of the release. PUBLISHER is the account on ghcr.io and github.com that
# publishes the images, the chart and the downloads.
VERSION ?= 0.1.0
PUBLISHER ?= cephtune

# DIGESTS is the file that images/tools/build writes when it pushes the tools images. Without it, "make release"
# makes a trial, which names images by tag and cannot be published.
DIGESTS ?=

# DIST is the folder that "make release" writes. PLATFORMS limits the plugin to some platforms, such as
# linux/amd64, for a quick trial. If PLATFORMS is empty, the plugin is built for all platforms.
DIST ?= dist
PLATFORMS ?=

.PHONY: release
release: ## Write a release of VERSION into DIST: plugin, images, chart, manifests, SBOMs, checksums, notes. It publishes nothing.
	dist=$$(realpath -m $(DIST)); cd hack/release && go run . -version $(VERSION) -publisher $(PUBLISHER) $(if $(PLATFORMS),-platforms $(PLATFORMS)) \
		$(if $(DIGESTS),-digests $(abspath $(DIGESTS))) -out "$$dist"

# REGISTRY is the registry to which "make publish" pushes. For a trial, use a registry on this machine.
REGISTRY ?= ghcr.io/$(PUBLISHER)

.PHONY: publish
publish: ## Push the operator's image and the chart in DIST to REGISTRY. Before that, log in to REGISTRY with docker login or crane auth login.
	VERSION=$(VERSION) hack/publish $(DIST) $(REGISTRY)

.PHONY: install
install: ## Install the CRDs into the cluster of KUBECONFIG.
	$(KUSTOMIZE) build config/crd | kubectl apply --server-side -f -

.PHONY: uninstall
uninstall: ## Remove the CRDs, and with them every CephBenchmark and CephTuningSweep.
	$(KUSTOMIZE) build config/crd | kubectl delete --ignore-not-found -f -

.PHONY: deploy
deploy: ## Install everything, with IMG and TOOLS_IMG, into the cluster of KUBECONFIG.
	$(MAKE) --no-print-directory manifest | kubectl apply --server-side -f -

.PHONY: install-local
install-local: images ## Build IMG and TOOLS_IMG, load them into the cluster of the current context (kind, k3d or minikube), and install everything there.
	IMG=$(IMG) TOOLS_IMG=$(TOOLS_IMG) hack/install-local

.PHONY: undeploy
undeploy: ## Remove everything from the cluster of KUBECONFIG, including the CRDs and cephtune's CephClients.
# Delete sweeps and benchmarks first, because only a running operator can restore settings and tear down pools.
	if kubectl get crd cephtuningsweeps.cephtune.dev cephbenchmarks.cephtune.dev >/dev/null; then \
		kubectl delete cephtuningsweeps,cephbenchmarks --all --all-namespaces --timeout=15m; fi
	$(MAKE) --no-print-directory manifest | kubectl delete --ignore-not-found -f -

.PHONY: site
site: ## Build a searchable website of docs/ in bin/site. It fails if a link has no target.
	hack/site/build bin/site

.PHONY: site-check
site-check: site ## Open every page of the website, and its search, in a headless browser.
	test/lab/parts/browser up
	NODE_PATH=$$(test/lab/build/browser/build --dir) node test/site/check.js bin/site bin/screenshots

##@ Lab

.PHONY: demo
demo: ## Start the lab, run a sweep on it, and follow the sweep to its verdict.
	test/lab/demo

.PHONY: lab-up
lab-up: ## Start Kubernetes, Rook, a Ceph cluster and the operator on this machine.
	test/lab/lab up

.PHONY: lab-status
lab-status: ## Show which parts of the lab are up.
	test/lab/lab status

E2E := go test -tags e2e -count=1

.PHONY: e2e
e2e: ## Run the end-to-end tests on the lab. With KUBECONFIG=FILE, run them on another cluster.
# An exported KUBECONFIG does not count, because it may belong to any cluster. Only one on the command line counts.
ifeq ($(origin KUBECONFIG),command line)
	E2E_OPERATOR_IMAGE=$(IMG) E2E_TOOLS_IMAGE=$(TOOLS_IMG) $(E2E) -timeout 75m -skip '^Test(Long|Nodes|Chaos)' $(TESTFLAGS) ./test/e2e
else
	test/lab/lab up # This deploys the operator of this checkout.
	eval "$$(test/lab/lab environment)"; $(E2E) -timeout 75m -skip '^Test(Long|Nodes|Chaos)' $(TESTFLAGS) ./test/e2e
endif

.PHONY: e2e-long
e2e-long: ## Run the long end-to-end tests on the lab: whole sweeps, and rarely used targets. A sweep takes a quarter of an hour or more.
	test/lab/lab up
	eval "$$(test/lab/lab environment)"; $(E2E) -v -timeout 7h -run '^TestLong' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-nodes
e2e-nodes: ## Run the end-to-end tests that need several nodes, on a lab of three: nodes die, hang and are drained, and links break.
	NODES=3 test/lab/lab up # This fails while a lab with another number of nodes is up.
	eval "$$(test/lab/lab environment)"; $(E2E) -v -timeout 5h -run '^TestNodes' $(TESTFLAGS) ./test/e2e

# CHAOS_FAULTS is the number of faults that "make e2e-chaos" plants. CHAOS_SEED continues an earlier run.
CHAOS_FAULTS ?= 60
CHAOS_SEED ?= 1

.PHONY: e2e-chaos
e2e-chaos: ## Plant CHAOS_FAULTS random faults in real sweeps, from CHAOS_SEED on, on a lab of three nodes. Each takes about three minutes.
	NODES=3 test/lab/lab up # This fails while a lab with another number of nodes is up.
	eval "$$(test/lab/lab environment)"; CHAOS_FAULTS=$(CHAOS_FAULTS) CHAOS_SEED=$(CHAOS_SEED) $(E2E) -v -timeout 12h -run '^TestChaos$$' $(TESTFLAGS) ./test/e2e

.PHONY: e2e-all
e2e-all: ## Run the end-to-end tests on a lab of each stack, with exactly the pinned versions of Ceph. It takes two hours. LONG=1 adds the long tests, which take most of a day.
# The recipe has "make" instead of $(MAKE), because even "make -n" runs a line with $(MAKE). This line removes a lab.
	set -e; for stack in reef tentacle; do \
		test/lab/lab down; \
		STACK=$$stack CEPH_PINNED=yes test/lab/lab up; \
		CEPH_PINNED=yes make e2e $(if $(LONG),e2e-long); \
	done

.PHONY: e2e-upgrade
e2e-upgrade: ## Upgrade Ceph 18.2.7 to 20.2.4 on a separate lab. Benchmarks run before and after the upgrade, and sweeps during it. It takes half an hour.
	STACK=upgrade test/lab/lab up # This fails while another lab is up.
	test/upgrade/run

.PHONY: e2e-sentinel
e2e-sentinel: ## Let the sentinel judge two upgrades through Rook on the lab: one that changes nothing, and one that hides a delay. It takes half an hour.
	test/upgrade/sentinel

# OVERHEAD_RUNS is the number of benchmarks that "make e2e-overhead" runs.
OVERHEAD_RUNS ?= 10

.PHONY: e2e-overhead
e2e-overhead: ## Measure on the lab the time and the writes that the operator adds to a run. Each of OVERHEAD_RUNS benchmarks takes a minute.
	eval "$$(test/lab/lab environment)"; $(E2E) -timeout 3h -run '^$$' -bench '^BenchmarkOverhead$$' -benchtime $(OVERHEAD_RUNS)x $(TESTFLAGS) ./test/e2e

.PHONY: e2e-dashboards
e2e-dashboards: ## Check every panel of the dashboards in a real Grafana on the lab. RECORDED=1 uses recorded metrics, without a lab.
	test/dashboards/run $(if $(RECORDED),recorded,lab)

.PHONY: e2e-monitoring
e2e-monitoring: ## Check on the lab that a real kube-prometheus-stack finds metrics, alerts and dashboards. Building the stack takes a quarter of an hour.
	test/monitoring/run

.PHONY: report-pictures
report-pictures: ## Take the pictures of reports in docs/images, with a headless browser.
	test/dashboards/report docs/images

# TRIALS is the number of causes that "make diagnose-trials" plants, in an order that TRIALS_SEED draws.
TRIALS ?= 12
TRIALS_SEED ?= 53

.PHONY: diagnose-trials
diagnose-trials: build ## Plant TRIALS causes of slowness in the lab's Ceph, and see whether "diagnose" names each first. Each takes two minutes.
	eval "$$(test/lab/lab environment)"; PATH="$(CURDIR)/bin:$$PATH" test/diagnose/trials $(TRIALS) $(TRIALS_SEED)

.PHONY: e2e-gitops
e2e-gitops: ## Let a real Argo CD sync sweeps and benchmarks from Git to the lab. The first build of Argo CD takes a quarter of an hour.
	test/gitops/run

.PHONY: e2e-helm
e2e-helm: ## Install, upgrade, roll back and uninstall the Helm chart on the lab, with a running sweep. It takes about half an hour.
	test/helm/run

.PHONY: e2e-release
e2e-release: ## Build a release twice and compare the two; on the lab, install its candidate from its files alone, upgrade it under a sweep, and remove it.
	VERSION=$(VERSION) PLATFORMS=$(PLATFORMS) test/release/run

.PHONY: lab-down
lab-down: ## Remove the lab, but keep its cache of builds.
	test/lab/lab down
