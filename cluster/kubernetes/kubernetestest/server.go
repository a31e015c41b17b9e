// Package kubernetestest has for tests a real API server of Kubernetes with its etcd and Chaos
// Mesh's definitions, and a stand-in for kubelet and Chaos Mesh. No container runs: the stand-in
// marks pods as ready, replaces deleted pods, and reports injection and recovery, or hangs on
// demand.
//
// scripts/install-servers.sh kubernetes installs the programs. The package is for tests alone.
package kubernetestest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"assay/cluster/server"
)

// Server is an API server with its etcd.
type Server struct {
	Client    dynamic.Interface
	folder    string
	ports     server.Ports
	port      int
	processes []*server.Process
}

// Admin has all rights, Nobody those that a test grants. A user's token is the name with token
// behind it.
const (
	Admin  = "admin"
	Nobody = "nobody"
	token  = "-of-a-test-only"
)

const startWithin = 3 * time.Minute

const get = "scripts/install-servers.sh kubernetes builds it"

// Start starts both in a new folder, with Chaos Mesh's definitions.
func Start() (*Server, error) {
	folder, err := os.MkdirTemp("", "assay-kubernetes-test-")
	if err != nil {
		return nil, err
	}
	s := &Server{folder: folder}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start() error {
	etcd, err := server.Program{Name: "etcd", Get: get}.Find("")
	if err != nil {
		return err
	}
	apiserver, err := server.Program{Name: "kube-apiserver", Get: get}.Find("")
	if err != nil {
		return err
	}
	var ports [3]int
	for i := range ports {
		if ports[i], err = s.ports.Next(); err != nil {
			return err
		}
	}
	store := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := s.run(etcd, "--data-dir", filepath.Join(s.folder, "etcd"), "--listen-client-urls", store, "--advertise-client-urls", store,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer); err != nil {
		return err
	}
	key, tokens := filepath.Join(s.folder, "sa.key"), filepath.Join(s.folder, "tokens.csv")
	if err := writeKey(key); err != nil {
		return err
	}
	users := fmt.Sprintf("%s%s,%s,1,system:masters\n%s%s,%s,2\n", Admin, token, Admin, Nobody, token, Nobody)
	if err := os.WriteFile(tokens, []byte(users), 0o600); err != nil {
		return err
	}
	s.port = ports[2]
	if err := s.run(apiserver, "--etcd-servers", store, "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(s.port),
		"--cert-dir", filepath.Join(s.folder, "certificates"), "--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://assay.test", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.0.0.0/24", "--disable-admission-plugins", "ServiceAccount", "--allow-privileged"); err != nil {
		return err
	}
	s.Client, err = dynamic.NewForConfig(&rest.Config{Host: s.Host(), BearerToken: Admin + token, QPS: 200, Burst: 400,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, WarningHandler: rest.NoWarnings{}})
	if err != nil {
		return err
	}
	return s.await()
}

// Host is the API server's address.
func (s *Server) Host() string { return fmt.Sprintf("https://127.0.0.1:%d", s.port) }

func (s *Server) run(program string, args ...string) error {
	name := filepath.Base(program)
	p, err := server.StartProcess(server.ProcessOptions{Name: name, Program: program, Args: args, Dir: s.folder, Log: filepath.Join(s.folder, name+".log")})
	if err != nil {
		return err
	}
	s.processes = append(s.processes, p)
	return nil
}

func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	err := server.Until(ctx, 200*time.Millisecond, "the API server", func(ctx context.Context) error {
		for _, p := range s.processes {
			if !p.Running() {
				return server.Permanent(p.Ended())
			}
		}
		_, err := s.Client.Resource(namespaces).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return s.define(ctx, chaosMesh, chaosMeshFiles()...)
}

// Close ends both and removes their data.
func (s *Server) Close() error {
	var failed []error
	for _, p := range s.processes {
		failed = append(failed, p.Kill())
	}
	return errors.Join(append(failed, os.RemoveAll(s.folder))...)
}

func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
