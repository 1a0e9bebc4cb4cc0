// What kstatus and the gitops-engine say of Kubernetes objects: a JSON array of objects on stdin, a JSON array of
// verdicts of the same length on stdout.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/pkg/health"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	// Current, InProgress, Failed, Terminating, NotFound, Unknown; "error" when kstatus cannot read the object.
	Kstatus string `json:"kstatus"`
	// Healthy, Progressing, Degraded, Suspended, Missing, Unknown; "none" for a kind that the engine has no check for;
	// "error" when it cannot read the object.
	Engine string `json:"engine"`
}

func main() {
	verdicts, err := judgeAll()
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(verdicts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func judgeAll() ([]verdict, error) {
	var texts []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&texts); err != nil {
		return nil, err
	}
	verdicts := make([]verdict, 0, len(texts))
	for _, text := range texts {
		object := &unstructured.Unstructured{}
		// Its own decoder: encoding/json would make every count a float, which kstatus refuses.
		if err := object.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		verdicts = append(verdicts, judge(object))
	}
	return verdicts, nil
}

func judge(object *unstructured.Unstructured) verdict {
	given := verdict{Kstatus: "error", Engine: "error"}
	if result, err := status.Compute(object.DeepCopy()); err == nil {
		given.Kstatus = string(result.Status)
	}
	if result, err := health.GetResourceHealth(object.DeepCopy(), nil); err == nil {
		given.Engine = "none"
		if result != nil {
			given.Engine = string(result.Status)
		}
	}
	return given
}
