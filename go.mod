module rules_dnn

go 1.24

require (
	github.com/bazelbuild/buildtools v0.0.0-20250930140053-2eb4fccefb52
	github.com/stretchr/testify v1.12.1
	go.starlark.net v0.0.0-20250906160240-bf296ed553ea
	google.golang.org/protobuf v1.36.12
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sys v0.0.0-20220715151400-c0bba94af5f8 // indirect
)
