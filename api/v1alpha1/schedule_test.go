package v1alpha1_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scheduleCases are schedules of both kinds.
var scheduleCases = map[string]specCase{
	"every night":                      {`{schedule: {cron: "0 2 * * *", timeZone: Europe/Berlin, startingDeadlineSeconds: 3600}}`, ""},
	"lists, ranges, steps and names":   {`{schedule: {cron: "5,35-45/5 */6 1-7 jan,MAR-12 MON-fri"}}`, ""},
	"a word":                           {`{schedule: {cron: "@daily"}}`, ""},
	"with the default run ID":          {`{schedule: {cron: "@daily"}, runID: "1"}`, ""},
	"no cron":                          {`{schedule: {timeZone: Etc/UTC}}`, "spec.schedule.cron: Required value"},
	"four fields":                      {`{schedule: {cron: "0 2 * *"}}`, "cron must have five fields"},
	"six fields":                       {`{schedule: {cron: "0 0 2 * * *"}}`, "cron must have five fields"},
	"an hour that no clock has":        {`{schedule: {cron: "0 24 * * *"}}`, "cron must have five fields"},
	"a step of nothing":                {`{schedule: {cron: "*/0 2 * * *"}}`, "cron must have five fields"},
	"since the manager was started":    {`{schedule: {cron: "@every 10m"}}`, "cron must have five fields"},
	"a zone in the expression":         {`{schedule: {cron: "TZ=Europe/Berlin 0 2 * * *"}}`, "cron must have five fields"},
	"a zone that does not exist":       {`{schedule: {cron: "0 2 * * *", timeZone: Europe/Atlantis}}`, "timeZone must be a name of the IANA database"},
	"the zone of the manager's host":   {`{schedule: {cron: "0 2 * * *", timeZone: Local}}`, "timeZone must be a name of the IANA database"},
	"the same in small letters":        {`{schedule: {cron: "0 2 * * *", timeZone: local}}`, "timeZone must be a name of the IANA database"},
	"less than a minute late":          {`{schedule: {cron: "0 2 * * *", startingDeadlineSeconds: 59}}`, "should be greater than or equal to 60"},
	"a run ID beside the clock's":      {`{schedule: {cron: "0 2 * * *"}, runID: "2"}`, "leave runID out"},
	"a policy that would pile runs up": {`{schedule: {cron: "0 2 * * *", concurrencyPolicy: Allow}}`, "unknown field"},
}

// testScheduledChanges checks when an edit may change what is fixed for a run, if there is a schedule.
func testScheduledChanges(t *testing.T, c client.Client) {
	for _, base := range []string{minimalBenchmark, minimalSweep} {
		o := parse(t, base)
		mergeSpec(t, o, `{schedule: {cron: "0 2 * * *"}}`)
		o.SetName("scheduled")
		if err := c.Create(deadline(t), o); err != nil {
			t.Fatal(err)
		}
		const otherTemplate, noSchedule = `{"spec":{"template":{"clients":{"count":2}}}}`, `{"spec":{"schedule":null,"template":{"clients":{"count":2}}}}`
		edit := func(patch, want string) {
			t.Helper()
			checkRefusal(t, c.Patch(deadline(t), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll), want)
		}
		end := func(reason string) { t.Helper(); setRun(t, c, o, "2026-03-14T0100Z", reason) }
		edit(otherTemplate, "") // It waits for its first time.
		end("")
		edit(otherTemplate, "with a schedule, wait until the run ends")
		edit(`{"spec":{"schedule":{"cron":"0 3 * * *"}}}`, "")
		edit(noSchedule, "change runID in the same edit")
		end("Complete")
		edit(otherTemplate, "")
		edit(noSchedule, "change runID in the same edit")
		end("Failed")
		edit(otherTemplate, "")
	}
}

// testAddedSchedule checks that a schedule which is added during a run does not let the same edit change what is fixed for the run: the
// operator continues that run, although runID changes to its default.
func testAddedSchedule(t *testing.T, c client.Client) {
	for kind, base := range map[string]string{"benchmark": minimalBenchmark, "sweep": minimalSweep} {
		o := parse(t, base)
		mergeSpec(t, o, `{runID: "2"}`)
		o.SetName("added")
		if err := c.Create(deadline(t), o); err != nil {
			t.Fatal(err)
		}
		const schedule, otherToo = `{"spec":{"runID":null,"schedule":{"cron":"0 2 * * *"}}}`, `{"spec":{"runID":null,"schedule":{"cron":"0 2 * * *"},"template":{"clients":{"count":2}}}}`
		edit := func(state, patch, want string) {
			t.Helper()
			t.Logf("%s %s", kind, state)
			checkRefusal(t, c.Patch(deadline(t), o.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll), want)
		}
		edit("before its run", otherToo, "")
		setRun(t, c, o, "2", "")
		edit("during its run", otherToo, "with a schedule, wait until the run ends")
		edit("during its run", schedule, "")
		setRun(t, c, o, "2", "Complete")
		edit("after its run", otherToo, "")
	}
}

// setRun gives an object the status of a run: of one in progress, or with the condition that ends it.
func setRun(t *testing.T, c client.Client, o *unstructured.Unstructured, id, end string) {
	t.Helper()
	now, conditions := metav1.Now().UTC().Format("2006-01-02T15:04:05Z"), []any{}
	if end != "" {
		conditions = append(conditions, map[string]any{"type": end, "status": "True", "reason": end, "message": "", "lastTransitionTime": now})
	}
	if err := unstructured.SetNestedMap(o.Object, map[string]any{"startTime": now, "observedRunID": id, "conditions": conditions}, "status"); err != nil {
		t.Fatal(err)
	}
	if err := c.Status().Update(deadline(t), o); err != nil {
		t.Fatal(err)
	}
}
