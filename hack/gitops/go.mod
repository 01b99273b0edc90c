module github.com/cephtune/cephtune/hack/gitops

go 1.26.0

require (
	github.com/cephtune/cephtune v0.0.0
	github.com/google/go-cmp v0.7.0
	github.com/yuin/gopher-lua v1.1.1
	k8s.io/apimachinery v0.36.3
	sigs.k8s.io/cli-utils v0.37.2
	sigs.k8s.io/yaml v1.6.0
)

replace github.com/cephtune/cephtune => ../..
