// Answers questions about apimachinery: it reads a line of JSON for each and prints the answer as a
// line of JSON. scripts/record-apimachinery.ts asks, and keeps the answers as vectors for tests.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

type question struct {
	Ask string `json:"ask"`
	// Quantities: texts, and the factor of a product.
	A, B string
	By   int64
	// Objects of a built-in kind.
	APIVersion, Kind string
	First, Second    json.RawMessage
}

type answer map[string]any

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for lines.Scan() {
		var asked question
		must(json.Unmarshal(lines.Bytes(), &asked))
		text, err := json.Marshal(reply(asked))
		must(err)
		fmt.Fprintf(out, "%s\n", text)
	}
	must(lines.Err())
}

func reply(asked question) answer {
	switch asked.Ask {
	case "quantity":
		return quantity(asked.A)
	case "two quantities":
		return twoQuantities(asked.A, asked.B, asked.By)
	case "equal":
		return equal(asked)
	case "patch":
		return patch(asked)
	}
	panic("no such question: " + asked.Ask)
}

func quantity(text string) answer {
	q, err := resource.ParseQuantity(text)
	if err != nil {
		return answer{"error": err.Error()}
	}
	up := q.DeepCopy()
	exact := up.RoundUp(0)
	negative := q.DeepCopy()
	negative.Neg()
	return answer{
		"text": q.String(), "format": string(q.Format), "sign": q.Sign(),
		"value": strconv.FormatInt(q.Value(), 10), "milli": strconv.FormatInt(q.MilliValue(), 10),
		"number": q.AsFloat64Slow(), "up": up.String(), "exact": exact, "negative": negative.String(),
	}
}

func twoQuantities(first, second string, by int64) answer {
	parse := func(text string) resource.Quantity { return resource.MustParse(text) }
	sum, difference, product := parse(first), parse(first), parse(first)
	sum.Add(parse(second))
	difference.Sub(parse(second))
	product.Mul(by)
	a := parse(first)
	return answer{
		"compared": a.Cmp(parse(second)), "sum": sum.String(), "difference": difference.String(),
		"product": product.String(),
	}
}

func object(asked question, of json.RawMessage) (runtime.Object, error) {
	gv, err := schema.ParseGroupVersion(asked.APIVersion)
	must(err)
	into, err := scheme.Scheme.New(gv.WithKind(asked.Kind))
	must(err)
	return into, json.Unmarshal(of, into)
}

func equal(asked question) answer {
	first, err := object(asked, asked.First)
	if err != nil {
		return answer{"error": err.Error()}
	}
	second, err := object(asked, asked.Second)
	if err != nil {
		return answer{"error": err.Error()}
	}
	return answer{
		"equal":      equality.Semantic.DeepEqual(first, second),
		"derivative": equality.Semantic.DeepDerivative(first, second),
	}
}

func patch(asked question) answer {
	into, err := object(asked, json.RawMessage("{}"))
	must(err)
	made, err := strategicpatch.CreateTwoWayMergePatch(asked.First, asked.Second, into)
	if err != nil {
		return answer{"error": err.Error()}
	}
	applied, err := strategicpatch.StrategicMergePatch(asked.First, made, into)
	if err != nil {
		return answer{"patch": json.RawMessage(made), "error": err.Error()}
	}
	return answer{"patch": json.RawMessage(made), "applied": json.RawMessage(applied)}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
