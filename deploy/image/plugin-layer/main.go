// plugin-layer makes the operator's image with the plugins of one project. The platform runs it as a child process.
//
//	plugin-layer append BASE LAYER OUT     adds the tar LAYER to every image of the OCI layout BASE, into the new layout OUT
//	plugin-layer push LAYOUT REFERENCE     pushes the layout's image; credentials: REGISTRY_AUTH_FILE, a docker config
//
// Both print the digest of the image index. Exit code 2: the registry refused the image, and will refuse it again.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const usage = "usage: plugin-layer append BASE LAYER OUT | push LAYOUT REFERENCE"

// An index that only leads to other indexes is nothing that a build makes; this ends one that leads to itself.
const maxImages = 32

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	digest, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if refused(err) {
			os.Exit(2)
		}
		os.Exit(1)
	}
	fmt.Println(digest)
}

func run(ctx context.Context, args []string) (v1.Hash, error) {
	switch {
	case len(args) == 4 && args[0] == "append":
		return appendLayer(args[1], args[2], args[3])
	case len(args) == 3 && args[0] == "push":
		return push(ctx, args[1], args[2])
	}
	return v1.Hash{}, errors.New(usage)
}

func appendLayer(base, file, out string) (v1.Hash, error) {
	images, err := imagesOf(base)
	if err != nil {
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, image := range images {
		baked, platform, err := withLayer(image, file)
		if err != nil {
			return v1.Hash{}, err
		}
		descriptor := v1.Descriptor{Platform: platform}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: baked, Descriptor: descriptor})
	}
	path, err := layout.Write(out, empty.Index)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := path.AppendIndex(index); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}

// imagesOf gives the images of a layout that names one image, or one index with an image for each architecture.
func imagesOf(base string) ([]v1.Image, error) {
	root, top, err := only(base)
	if err != nil {
		return nil, err
	}
	if top.MediaType.IsImage() {
		image, err := root.Image(top.Digest)
		return []v1.Image{image}, err
	}
	index, err := root.ImageIndex(top.Digest)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var images []v1.Image
	for _, each := range manifest.Manifests {
		// What a builder says about the image that it made, by that image's digest: it does not hold for the new one.
		if !each.MediaType.IsImage() || each.Platform == nil || each.Platform.OS == "unknown" {
			continue
		}
		image, err := index.Image(each.Digest)
		if err != nil {
			return nil, err
		}
		images = append(images, image)
	}
	if len(images) == 0 || len(images) > maxImages {
		return nil, fmt.Errorf("the base image's index has %d images for a platform; 1 to %d are needed", len(images), maxImages)
	}
	return images, nil
}

func only(folder string) (v1.ImageIndex, v1.Descriptor, error) {
	root, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, v1.Descriptor{}, err
	}
	manifest, err := root.IndexManifest()
	if err != nil {
		return nil, v1.Descriptor{}, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, v1.Descriptor{}, fmt.Errorf("the layout names %d images; it must name one", len(manifest.Manifests))
	}
	top := manifest.Manifests[0]
	if !top.MediaType.IsImage() && !top.MediaType.IsIndex() {
		return nil, v1.Descriptor{}, fmt.Errorf("the layout names no image but a %q", top.MediaType)
	}
	return root, top, nil
}

func withLayer(image v1.Image, file string) (v1.Image, *v1.Platform, error) {
	config, err := image.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	mediaType, err := image.MediaType()
	if err != nil {
		return nil, nil, err
	}
	layerType := types.OCILayer
	if mediaType != types.OCIManifestSchema1 {
		layerType = types.DockerLayer
	}
	layer, err := tarball.LayerFromFile(file, tarball.WithMediaType(layerType))
	if err != nil {
		return nil, nil, err
	}
	// The base's own time: the same plugins on the same base give the same digest.
	history := v1.History{Created: config.Created, CreatedBy: "sallyport: plugins"}
	baked, err := mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: layerType, History: history})
	return baked, config.Platform(), err
}

func push(ctx context.Context, folder, reference string) (v1.Hash, error) {
	target, err := name.NewTag(reference, name.StrictValidation)
	if err != nil {
		return v1.Hash{}, err
	}
	root, top, err := only(folder)
	if err != nil {
		return v1.Hash{}, err
	}
	index, err := root.ImageIndex(top.Digest)
	if err != nil {
		return v1.Hash{}, err
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	return top.Digest, remote.WriteIndex(target, index, options...)
}

// refused: the registry understood and said no. Anything else may go well another time.
func refused(err error) bool {
	var answer *transport.Error
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.StatusCode
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}
