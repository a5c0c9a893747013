// The oracle of the gate's resolve: what Kubeflow Trainer itself makes of a TrainJob over its runtime.
//
// It reads one JSON document a line, {"trainJob": …, "runtime": …}, and answers each with one line: {"objects": […]}, or
// {"error": …} where Trainer (or the strict decoding of its types) refuses. Only Trainer's own code computes here; the same
// file is built against each version of it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"

	"github.com/go-logr/logr"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	trainer "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	"github.com/kubeflow/trainer/v2/pkg/runtime"
	"github.com/kubeflow/trainer/v2/pkg/runtime/core"
	utiltesting "github.com/kubeflow/trainer/v2/pkg/util/testing"
)

const maxLine = 16 << 20

type question struct {
	TrainJob json.RawMessage `json:"trainJob"`
	Runtime  json.RawMessage `json:"runtime"`
}

type answer struct {
	Objects []apiruntime.ApplyConfiguration `json:"objects,omitempty"`
	Error   string                          `json:"error,omitempty"`
}

func main() {
	log.SetLogger(logr.Discard())
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		objects, err := resolve(in.Bytes())
		answered := answer{Objects: objects}
		if err != nil {
			answered.Error = err.Error()
		}
		if err := json.NewEncoder(out).Encode(answered); err != nil {
			fail(err)
		}
		if err := out.Flush(); err != nil {
			fail(err)
		}
	}
	if err := in.Err(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// resolve asks Trainer for the objects of one TrainJob; a panic of Trainer is its error.
func resolve(line []byte) (objects []apiruntime.ApplyConfiguration, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	var job trainer.TrainJob
	if err := yaml.UnmarshalStrict(asked.TrainJob, &job); err != nil {
		return nil, fmt.Errorf("trainJob: %w", err)
	}
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(asked.Runtime, &kind); err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	var object client.Object = &trainer.ClusterTrainingRuntime{}
	if kind.Kind == trainer.TrainingRuntimeKind {
		object = &trainer.TrainingRuntime{}
	}
	if err := yaml.UnmarshalStrict(asked.Runtime, object); err != nil {
		return nil, fmt.Errorf("runtime: %w", err)
	}
	ctx := context.Background()
	builder := utiltesting.NewClientBuilder().WithObjects(object)
	runtimes, err := start(ctx, builder.Build(), utiltesting.AsIndex(builder))
	if err != nil {
		return nil, err
	}
	key := schema.GroupKind{Group: trainer.GroupVersion.Group, Kind: kind.Kind}.String()
	return runtimes[key].NewObjects(ctx, &job)
}

// start calls core.New with its arguments; since 2.2 it takes a configuration, which is left empty.
func start(ctx context.Context, c client.Client, indexer client.FieldIndexer) (map[string]runtime.Runtime, error) {
	create := reflect.ValueOf(core.New)
	arguments := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(c), reflect.ValueOf(indexer)}
	for i := len(arguments); i < create.Type().NumIn(); i++ {
		arguments = append(arguments, reflect.New(create.Type().In(i).Elem()))
	}
	results := create.Call(arguments)
	err, _ := results[1].Interface().(error)
	runtimes, _ := results[0].Interface().(map[string]runtime.Runtime)
	return runtimes, err
}
