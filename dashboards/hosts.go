package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Metrics of the node exporter.
const (
	nodeInfo        = "node_uname_info" // has the labels instance and nodename
	nodeCPU         = "node_cpu_seconds_total"
	nodeReceived    = "node_network_receive_bytes_total"
	nodeSent        = "node_network_transmit_bytes_total"
	nodeDiskRead    = "node_disk_read_bytes_total"
	nodeDiskWritten = "node_disk_written_bytes_total"
	nodeDiskBusy    = "node_disk_io_time_seconds_total"
)

// cephOSDMetadata is the metric with the host of each OSD, in the label hostname.
const cephOSDMetadata = "ceph_osd_metadata"

// noHosts says why a panel about hosts is empty.
const noHosts = "No metrics of the hosts of these OSDs: this Prometheus has to scrape Ceph's mgr, and a node exporter on each host"

// labelHost is the label that queries create for the name of a host, without its domain.
const labelHost = "host"

// ofDisks excludes devices that are layers above disks, because they repeat the traffic of the disks.
// ofInterfaces excludes the loopback interface.
const (
	ofDisks      = `device!~"(dm-|md|bcache|drbd|rbd|nbd|loop).*"`
	ofInterfaces = `device!="lo"`
)

// hostVariable is the variable with which users choose hosts with OSDs.
func hostVariable() cog.Builder[dashboard.VariableModel] {
	return several(labelVariable("host", "Host", ofCeph(cephOSDMetadata), "hostname").
		Description("The hosts with OSDs that are drawn.").
		Regex("/^([^.]+)/"))
}

// withHost adds the label host. Its value is the host name in another label, without the domain, because
// Ceph and the kernel may report different domains.
func withHost(series, label string) string {
	return fmt.Sprintf(`label_replace(%s, %q, "$1", %q, "([^.]+).*")`, series, labelHost, label)
}

// byHost returns a query for the figure of each chosen host with OSDs of the Ceph cluster. The argument is
// a query with one series for each instance of the node exporter.
func byHost(figure string) string {
	chosen := withHost(ofCeph(cephOSDMetadata, `hostname=~"($host)([.].*)?"`), "hostname")
	instances := latest(withHost(nodeInfo, "nodename"), "instance", labelHost)
	return latest(fmt.Sprintf("%[1]s * on (instance) group_left (%[2]s) (%[3]s and on (%[2]s) %[4]s)", figure, labelHost, instances, chosen), labelHost)
}

// hostCPU returns a query for the share of time in which the processors of each host work, at each moment.
func hostCPU() string {
	rate := func(matchers ...string) string {
		return fmt.Sprintf("sum by (instance) (rate(%s[$__rate_interval]))", selector(nodeCPU, matchers...))
	}
	return byHost(fmt.Sprintf("(%s / %s)", rate(`mode!~"idle|iowait"`), rate()))
}

// saturatedHosts returns a tile with the number of hosts that were short of CPU at some moment of the time range.
func saturatedHosts(width uint32) cog.Builder[dashboard.Panel] {
	worst := fmt.Sprintf("max_over_time((%s)[$__range:1m])", hostCPU())
	values := append(mappings(state{"0", "None", blue}), dashboard.ValueMapping{RangeMap: &dashboard.RangeMap{
		Type: dashboard.MappingTypeRangeToText,
		Options: dashboard.DashboardRangeMapOptions{
			From: new(1.0), To: new(1e6), Result: dashboard.ValueMappingResult{Color: new(vermillion), Index: new(int32(1))},
		},
	}})
	return figure(about{
		title: "Hosts short of CPU",
		description: "The number of hosts with OSDs whose processors were busy for more than 90 % of a moment of the time range. If there are such hosts, a measurement shows their processors, and " +
			"not Ceph or the disks.",
		unit: count, empty: noHosts, width: width, height: 3,
	}, fmt.Sprintf("count((%[1]s) > 0.9) or 0 * count(%[1]s)", worst), values)
}

// hostPanels returns the panels about the hosts of Ceph's OSDs.
func hostPanels() []cog.Builder[dashboard.Panel] {
	rate := func(counter string, matchers ...string) string {
		return fmt.Sprintf("rate(%s[$__rate_interval])", selector(counter, matchers...))
	}
	// The query first takes the largest rate of each device, because two jobs of Prometheus may scrape the
	// same node exporter.
	disks := func(counter string) string {
		return byHost(fmt.Sprintf("sum by (instance) (%s)", latest(rate(counter, ofDisks), "instance", "device")))
	}
	busiest := func(counter, matcher string) string { return byHost(latest(rate(counter, matcher), "instance")) }
	const legend = "{{" + labelHost + "}}"
	return []cog.Builder[dashboard.Panel]{
		graph(about{
			title:       "CPU of hosts",
			description: "The share of time in which the processors of each host with OSDs are neither idle nor waiting for disks.",
			unit:        fraction, empty: noHosts, width: 12, height: 7,
		}, line{
			id: "cpu", expression: hostCPU(),
			legend: legend, color: shades(blue),
		}).Min(0).Max(1),
		graph(about{
			title:       "Network of hosts",
			description: "What the busiest network interface of each host with OSDs receives and sends. Interfaces are not added up, because a bond or a bridge repeats the traffic of others.",
			unit:        bytesPerSecond, empty: noHosts, width: 12, height: 7,
		},
			line{id: "received", expression: busiest(nodeReceived, ofInterfaces), legend: legend + " received", color: shades(orange)},
			line{id: "sent", expression: busiest(nodeSent, ofInterfaces), legend: legend + " sent", color: shades(blue)},
		).Min(0),
		graph(about{
			title:       "Disk traffic of hosts",
			description: "What all disks of each host with OSDs read and write, those of the operating system included.",
			unit:        bytesPerSecond, empty: noHosts, width: 12, height: 7,
		},
			line{id: "read", expression: disks(nodeDiskRead), legend: legend + " read", color: shades(orange)},
			line{id: "written", expression: disks(nodeDiskWritten), legend: legend + " written", color: shades(blue)},
		).Min(0),
		graph(about{
			title:       "Busiest disk of hosts",
			description: "The share of time in which the busiest disk of each host with OSDs is busy. A disk that does many operations at a time, such as an NVMe drive, can do more even at 100 %.",
			unit:        fraction, empty: noHosts, width: 12, height: 7,
		}, line{id: "busy", expression: busiest(nodeDiskBusy, ofDisks), legend: legend, color: shades(vermillion)}).Min(0).Max(1),
	}
}
