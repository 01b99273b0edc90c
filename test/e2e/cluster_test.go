//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	utilexec "k8s.io/client-go/util/exec"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// cluster is a connection to the Kubernetes cluster and the Ceph cluster in it.
type cluster struct {
	client.Client
	settings
	config *rest.Config
	pods   *kubernetes.Clientset // for logs and exec
}

// forTest connects to the cluster in the environment's settings.
func forTest(t testing.TB) *cluster {
	t.Helper()
	s, err := settingsFromEnvironment(os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	c, err := connect(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func connect(s settings) (*cluster, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; set KUBECONFIG", err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	pods, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &cluster{Client: c, settings: s, config: config, pods: pods}, nil
}

// exitError is the error of a command in a pod that ended with a status other than 0.
type exitError struct {
	status int
	stderr string
}

func (e *exitError) Error() string {
	return fmt.Sprintf("exit status %d: %s", e.status, strings.TrimSpace(e.stderr))
}

// toolbox runs a command in Rook's toolbox as Ceph's administrator, and returns its output. A
// command that fails results in an *exitError. Other errors come from the container runtime, which
// sometimes cannot start a process on a busy machine. Then the command is tried again, so it must
// be repeatable.
func (c *cluster) toolbox(ctx context.Context, command ...string) (string, error) {
	const tries = 3
	var errs []error
	for range tries {
		output, err := c.toolboxOnce(ctx, nil, command)
		if _, ended := errors.AsType[*exitError](err); err == nil || ended || ctx.Err() != nil {
			return output, err
		}
		errs = append(errs, err)
	}
	return "", fmt.Errorf("%q did not run in %d tries: %w", command, tries, errors.Join(errs...))
}

// toolboxTime limits a command in the toolbox. Many commands have the context of a test, which has
// no deadline.
const toolboxTime = 2 * time.Minute

func (c *cluster) toolboxOnce(ctx context.Context, stdin io.Reader, command []string) (string, error) {
	var stdout, stderr bytes.Buffer
	err := c.execInToolbox(ctx, command, remotecommand.StreamOptions{Stdin: stdin, Stdout: &stdout, Stderr: &stderr})
	if exit, ok := errors.AsType[utilexec.CodeExitError](err); ok {
		err = &exitError{status: exit.Code, stderr: stderr.String()}
	}
	return strings.TrimSpace(stdout.String()), err
}

func (c *cluster) execInToolbox(ctx context.Context, command []string, streams remotecommand.StreamOptions) error {
	ctx, cancel := context.WithTimeout(ctx, toolboxTime)
	defer cancel()
	pod, err := c.runningPod(ctx, c.rookNamespace, "rook-ceph-tools")
	if err != nil {
		return err
	}
	request := c.pods.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: streams.Stdin != nil, Stdout: true, Stderr: true}, clientgoscheme.ParameterCodec)
	executor, err := remotecommand.NewWebSocketExecutor(c.config, "GET", request.URL().String())
	if err != nil {
		return err
	}
	return executor.StreamWithContext(ctx, streams)
}

// ceph runs the ceph command as administrator.
func (c *cluster) ceph(ctx context.Context, args ...string) (string, error) {
	return c.toolbox(ctx, append([]string{"ceph", "--connect-timeout", "15"}, args...)...)
}

// cephJSON runs the ceph command as administrator and decodes its output.
func (c *cluster) cephJSON(ctx context.Context, target any, args ...string) error {
	out, err := c.ceph(ctx, append(args, "-f", "json")...)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(out), target)
}

func (c *cluster) runningPod(ctx context.Context, namespace, app string) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": app}); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if pods.Items[i].Status.Phase == corev1.PodRunning && pods.Items[i].DeletionTimestamp == nil {
			return &pods.Items[i], nil
		}
	}
	return nil, fmt.Errorf("no pod of app %s runs in namespace %s", app, namespace)
}

// logs returns the log of a container, at most a megabyte of it.
func (c *cluster) logs(ctx context.Context, namespace, pod, container string) (string, error) {
	return c.logsSince(ctx, namespace, pod, container, time.Time{})
}

// logsSince returns the log since a time; the zero time is the beginning.
func (c *cluster) logsSince(ctx context.Context, namespace, pod, container string, since time.Time) (string, error) {
	options := &corev1.PodLogOptions{Container: container}
	if !since.IsZero() {
		options.SinceTime = &metav1.Time{Time: since}
	}
	stream, err := c.pods.CoreV1().Pods(namespace).GetLogs(pod, options).Stream(ctx)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(stream, 1<<20))
	return string(text), errors.Join(err, stream.Close())
}

// eventually polls until holds returns no error. At the deadline it fails the test with the last
// error.
func eventually(t testing.TB, within time.Duration, goal string, holds func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %v for %s: %v", within, goal, err)
		case <-ticker.C:
		}
	}
}
