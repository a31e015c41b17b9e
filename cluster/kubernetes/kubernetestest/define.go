package kubernetestest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"assay/cluster/server"
)

const (
	chaosMesh = "chaos-mesh"
	operators = "operators"
)

func chaosMeshFiles() (all []string) {
	for _, kind := range chaosResources() {
		all = append(all, "chaos-mesh.org_"+kind+".yaml")
	}
	return all
}

// DefineOperators creates the definitions of the databases' operators and waits for them.
func (s *Server) DefineOperators(ctx context.Context) error {
	return s.define(ctx, operators, "postgresql.cnpg.io_clusters.yaml", "psmdb.percona.com_perconaservermongodbs.yaml",
		"mongodbcommunity.mongodb.com_mongodbcommunity.yaml", "k8s.mariadb.com_mariadbs.yaml", "k8ssandra.io_k8ssandraclusters.yaml")
}

func definitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

func (s *Server) define(ctx context.Context, folder string, files ...string) error {
	cache, err := server.CacheDir()
	if err != nil {
		return err
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(cache, folder, file))
		if err != nil {
			return fmt.Errorf("%w; %s", err, get)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &o.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err = s.Client.Resource(definitions()).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return err
		}
		if err := s.served(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) served(ctx context.Context, definition *unstructured.Unstructured) error {
	var made schema.GroupVersionResource
	made.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	made.Resource, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		made.Version, _, _ = unstructured.NestedString(version.(map[string]any), "name")
	}
	return server.Until(ctx, 100*time.Millisecond, "the definition of "+made.String(), func(ctx context.Context) error {
		_, err := s.Client.Resource(made).List(ctx, metav1.ListOptions{})
		return err
	})
}

// RemoveChaosMesh deletes Chaos Mesh's definitions and waits for that.
func (s *Server) RemoveChaosMesh(ctx context.Context) error {
	for _, kind := range chaosResources() {
		name := kind + ".chaos-mesh.org"
		if err := s.Client.Resource(definitions()).Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
		kinds := schema.GroupVersionResource{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: kind}
		if err := server.Until(ctx, 100*time.Millisecond, "the end of "+name, func(ctx context.Context) error {
			if _, err := s.Client.Resource(kinds).List(ctx, metav1.ListOptions{}); err == nil {
				return fmt.Errorf("%s is still served", name)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

func chaosResources() []string {
	return []string{"podchaos", "networkchaos", "iochaos", "timechaos", "stresschaos"}
}
