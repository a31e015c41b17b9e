package kubernetestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"assay/cluster/server"
)

// Token is a user's token.
func (s *Server) Token(user string) string { return user + token }

// Kubeconfig writes a file for a user's access.
func (s *Server) Kubeconfig(user, namespace string) (path string, err error) {
	return s.kubeconfig(user, s.Token(user), namespace)
}

func (s *Server) kubeconfig(user, token, namespace string) (path string, err error) {
	path = filepath.Join(s.folder, user+"-"+namespace+".kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: %[2]s, user: {token: %[3]q}}]
contexts: [{name: test, context: {cluster: test, user: %[2]s, namespace: %[4]s}}]
current-context: test
`, s.Host(), user, token, namespace)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// ServiceAccount is the service account of deploy/role.yaml.
const ServiceAccount = "assay"

// Granted creates a role file's objects (deploy/role.yaml) in a namespace of its own, and writes a
// kubeconfig with a token that the API server issued to the service account. The rights are in
// force.
func (s *Server) Granted(ctx context.Context, roles, namespace string) (kubeconfig string, err error) {
	if err := s.Namespace(ctx, namespace); err != nil {
		return "", err
	}
	data, err := os.ReadFile(roles)
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(data), "namespace: db\n", "namespace: "+namespace+"\n")
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(text), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", err
		}
		resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s"}
		resource.Group = o.GroupVersionKind().Group
		if _, err := s.Client.Resource(resource).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return "", err
		}
	}
	secret, err := s.issue(ctx, namespace)
	if err != nil {
		return "", err
	}
	if err := s.inForce(ctx, namespace); err != nil {
		return "", err
	}
	return s.kubeconfig(ServiceAccount, secret, namespace)
}

// issue requests a token of the service account (authentication.k8s.io/v1, TokenRequest).
func (s *Server) issue(ctx context.Context, namespace string) (string, error) {
	request := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"metadata": map[string]any{"name": ServiceAccount, "namespace": namespace}, "spec": map[string]any{"expirationSeconds": int64(3600)}}}
	accounts := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	answer, err := s.Client.Resource(accounts).Namespace(namespace).Create(ctx, request, metav1.CreateOptions{}, "token")
	if err != nil {
		return "", err
	}
	secret, _, err := unstructured.NestedString(answer.Object, "status", "token")
	return secret, err
}

func (s *Server) inForce(ctx context.Context, namespace string) error {
	reviews := schema.GroupVersionResource{Group: "authorization.k8s.io", Version: "v1", Resource: "subjectaccessreviews"}
	review := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
		"spec": map[string]any{"user": "system:serviceaccount:" + namespace + ":" + ServiceAccount,
			"resourceAttributes": map[string]any{"namespace": namespace, "verb": "list", "resource": "pods"}}}}
	return server.Until(ctx, 100*time.Millisecond, "the rights of the role", func(ctx context.Context) error {
		answer, err := s.Client.Resource(reviews).Create(ctx, review.DeepCopy(), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if allowed, _, _ := unstructured.NestedBool(answer.Object, "status", "allowed"); !allowed {
			return errors.New("they are not in force")
		}
		return nil
	})
}
