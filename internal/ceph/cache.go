package ceph

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// CacheBytes returns the memory that the given OSDs together may use, in bytes: the sum of
// osd_memory_target. It reads the value of one OSD of each device class, and assumes it for the rest of the
// class.
func CacheBytes(ctx context.Context, client Client, conn Connection, osds []OSD) (int64, error) {
	byClass := map[string]int64{}
	total := int64(0)
	for _, osd := range osds {
		if _, asked := byClass[osd.DeviceClass]; !asked {
			target, err := memoryTarget(ctx, client, conn, osd.ID)
			if err != nil {
				return 0, err
			}
			byClass[osd.DeviceClass] = target
		}
		total += byClass[osd.DeviceClass]
	}
	return total, nil
}

func memoryTarget(ctx context.Context, client Client, conn Connection, osd int) (int64, error) {
	text, err := client.ConfigShow(ctx, conn, osd, "osd_memory_target")
	if err != nil {
		return 0, err
	}
	bytes, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("osd.%d has osd_memory_target %q, which is not a number", osd, text)
	}
	return bytes, nil
}
