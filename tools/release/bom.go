package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// bom writes the software bill of materials of a platform: its programs, and the modules that Go has recorded in each of them. The same
// programs give the same bytes.
func (r *release) bom(p platform) error {
	bom := cdx.NewBOM()
	identity := sha256.New()
	var components []cdx.Component
	var dependencies []cdx.Dependency
	var has []string // the programs
	for _, program := range programs {
		name := filepath.Join(r.bin, p.String(), p.program(program.name))
		info, err := buildinfo.ReadFile(name)
		if err != nil {
			return err
		}
		sum, err := sumOf(name)
		if err != nil {
			return err
		}
		identity.Write([]byte(sum))
		parts := append([]*debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
		var uses []string
		for _, module := range parts {
			part, err := component(module)
			if err != nil {
				return err
			}
			uses = append(uses, part.BOMRef)
			if !slices.ContainsFunc(components, func(c cdx.Component) bool { return c.BOMRef == part.BOMRef }) {
				components = append(components, part)
			}
		}
		components = append(components, programComponent(p.program(program.name), r.version, sum, info))
		dependencies = append(dependencies, cdx.Dependency{Ref: p.program(program.name), Dependencies: &uses})
		has = append(has, p.program(program.name))
	}
	dependencies = append(dependencies, cdx.Dependency{Ref: "release", Dependencies: &has})
	slices.SortFunc(components, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	slices.SortFunc(dependencies, func(a, b cdx.Dependency) int { return strings.Compare(a.Ref, b.Ref) })
	u := identity.Sum(nil)
	u[6], u[8] = u[6]&0x0f|0x80, u[8]&0x3f|0x80 // RFC 9562, version 8: the content is defined by the program that makes the id
	bom.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", u[0:4], u[4:6], u[6:8], u[8:10], u[10:16])
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.when.UTC().Format(time.RFC3339),
		Component: &cdx.Component{
			BOMRef: "release", Type: cdx.ComponentTypeApplication, Name: "git-smithers", Version: r.version,
			PackageURL: "pkg:golang/github.com/git-smithers/git-smithers@v" + r.version,
			Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "MIT"}}},
			Properties: &[]cdx.Property{{Name: "platform", Value: p.os + "/" + p.arch}},
		},
	}
	bom.Components, bom.Dependencies = &components, &dependencies
	return create(filepath.Join(r.out, r.archiveName(p, ".cdx.json")), func(w io.Writer) error {
		return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	})
}

// programComponent returns a program as a component, with the settings that it was built with.
func programComponent(name, version, sum string, info *debug.BuildInfo) cdx.Component {
	var settings []cdx.Property
	for _, setting := range info.Settings {
		settings = append(settings, cdx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	return cdx.Component{
		BOMRef: name, Type: cdx.ComponentTypeApplication, Name: name, Version: version,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}, Properties: &settings,
	}
}

// component returns a module as a component, with its sum from go.sum. This sum covers all files of the module
// (golang.org/x/mod/sumdb/dirhash), so it is a property and not a hash of CycloneDX. A replaced module is an error, because releases are built
// without replacements.
func component(module *debug.Module) (cdx.Component, error) {
	if module.Replace != nil {
		return cdx.Component{}, fmt.Errorf("%s is replaced", module.Path)
	}
	name := module.Path + "@" + module.Version
	part := cdx.Component{BOMRef: name, Type: cdx.ComponentTypeLibrary, Name: module.Path, Version: module.Version, PackageURL: "pkg:golang/" + name}
	if sum, found := strings.CutPrefix(module.Sum, "h1:"); found {
		if _, err := base64.StdEncoding.DecodeString(sum); err != nil {
			return cdx.Component{}, fmt.Errorf("%s has the sum %q: %w", name, module.Sum, err)
		}
		part.Properties = &[]cdx.Property{{Name: "go:sum", Value: module.Sum}}
	}
	return part, nil
}
