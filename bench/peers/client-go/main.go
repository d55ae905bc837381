// Command peers measures client-go on the workloads of ../README.md and prints one JSON object a
// line:
// {"peer":"client-go","work":"cycle-fresh","n":100000,"ns":270.5}.
//
//	go run . queue [WORK [N]]       queue, delay and limiter workloads; one of them; with N keys
//	go run . indexer [WORK [N]]     thread-safe store workloads
//	go run . decode pod.json        one watch object through the three decoders
//	go run . informer URL EVENTS    a shared informer on URL: CPU and wall time per watch event
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strconv"
	"time"
)

const reps = 5

// only names the one workload to run; empty means all.
var only string

// report prints the median of reps runs; run does the whole workload and ops says how many
// operations that was.
func report(work string, n, ops int, run func()) {
	if only != "" && only != work {
		return
	}
	times := make([]float64, reps)
	for i := range times {
		start := time.Now()
		run()
		times[i] = float64(time.Since(start).Nanoseconds()) / float64(ops)
	}
	sort.Float64s(times)
	emit(work, n, map[string]any{"ns": times[reps/2], "min": times[0], "max": times[reps-1]})
}

func emit(work string, n int, figures map[string]any) {
	line := map[string]any{"peer": "client-go", "work": work, "n": n}
	for k, v := range figures {
		line[k] = v
	}
	out, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(out))
}

// chosen reads [WORK [N]]: it sets only, and returns the given N or else the usual ones.
func chosen(usual ...int) []int {
	if len(os.Args) > 2 {
		only = os.Args[2]
	}
	if len(os.Args) < 4 {
		return usual
	}
	n, err := strconv.Atoi(os.Args[3])
	if err != nil || n < 1 {
		fmt.Fprintln(os.Stderr, "N expected a whole number above 0, got "+os.Args[3])
		os.Exit(2)
	}
	return []int{n}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: peers queue [WORK [N]] | indexer [WORK [N]] | decode FILE | "+
			"informer URL EVENTS")
		os.Exit(2)
	}
	switch os.Args[1] {
	case "queue":
		queueWorkloads(chosen(1_000, 100_000, 1_000_000))
	case "indexer":
		indexerWorkloads(chosen(100_000))
	case "decode":
		decodeWorkloads(os.Args[2])
	case "informer":
		informerWorkload(os.Args[2], os.Args[3])
	default:
		fmt.Fprintln(os.Stderr, "unknown workload "+os.Args[1])
		os.Exit(2)
	}
}
