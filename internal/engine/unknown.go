package engine

import (
	"bytes"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// unknown returns the error for a text in an unknown format. It names what people often have instead.
func unknown(text []byte) error {
	const table = "; figures of other tools can be compared as a table, one run each row (--table)"
	found := "something else" + table
	for _, other := range others() {
		if bytes.Contains(text, []byte(other.mark)) {
			found = other.found
			break
		}
	}
	if documents := parse.Documents(text); found == "something else"+table && len(documents) > 0 && documents[0].Start == 0 {
		found = "JSON without the head of a report" + table
	}
	return &SyntaxError{Want: "an output of rados bench, rbd bench or fio 2 or 3", Found: found}
}

// other is an output that is known, but has no result of a run.
type other struct{ mark, found string }

func others() []other {
	const part = ": give the whole output, from its first to its last line"
	return []other{
		{`"jobname"`, `jobs of fio without the rest of their report: keep "fio version" and "jobs"`},
		{`"clat_ns"`, "a part of a report of fio in JSON" + part},
		{"clat percentiles (", "a part of fio's plain output" + part},
		{"issued rwts: total=", "a part of fio's plain output" + part},
		{"iops        : min=", "samples of fio without totals" + part},
		{"[global]", "a job file of fio: give the output of fio, best with --output-format=json+"},
		{`"bytes_written"`, "an output of `ceph tell osd.N bench`, which measures the disk of one OSD and neither network nor copies: give the output of rados bench, rbd bench or fio"},
		{" copied, ", "an output of dd, which has no latencies and one operation in flight: use fio"},
		{"Dbench Summary", "a summary of dbench: keep the outputs of fio from which it was made"},
		{"FIO Benchmark Summary", "a summary of kbench: keep the outputs of fio from which it was made"},
		{"Gbits/sec", "an output of iperf, which measures the network: give the output of a benchmark of storage"},
		{"RESULT TYPE ", "an output of elbencho: put the figure of each run into a row of a table (--table)"},
		{"  cluster:\n", "an output of `ceph status`, which has the rates of all clients at one moment: give the output of a benchmark"},
		{"\x1f\x8b", "a damaged file of gzip: copy it again"},
		{"BZh9", "a file that bzip2 compressed: run bunzip2 first"},
		{"\xfd7zXZ", "a file that xz compressed: run unxz first"},
		{"(\xb5/\xfd", "a file that zstd compressed: run unzstd first"},
		{"\x00\x00\x00", "binary data: convert the file to UTF-8"},
	}
}
