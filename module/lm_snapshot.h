/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Layout of debugfs latency_mon/snapshot, shared with its readers. Little endian, no padding.
 *
 *   struct lm_snap_header
 *   header.probes times: struct lm_snap_probe, then header.buckets times __le64
 *   header.recent + header.worst times: struct lm_snap_event
 *   __le32 crc32c over all bytes before it
 *
 * A reader steps by the sizes in the header: fields may be added at the end of each structure.
 */
#ifndef LM_SNAPSHOT_H
#define LM_SNAPSHOT_H

#include <linux/types.h>

#define LM_SNAP_MAGIC	"LMSNAP\r\n"
#define LM_SNAP_VERSION 1

struct lm_snap_header {
	__u8 magic[8];
	__le32 version;
	__le32 header_bytes;
	__le32 probe_bytes;
	__le32 event_bytes;
	__le32 probes;
	__le32 buckets;
	__le32 sub_buckets;
	__le32 recent;
	__le32 worst;
	__le32 period_us;
	__le32 threshold_us;
	__le32 hz;
	__le32 timer_res_ns;
	__le32 console;
	__le64 seq;
	__le64 events;
	__le64 lost;
	__le64 clock_ns;
};

/* console in the header. */
enum lm_snap_console {
	LM_SNAP_CONSOLE_OFF = 0,
	LM_SNAP_CONSOLE_CLASSIC = 1,
	LM_SNAP_CONSOLE_EXTENDED = 2,
};

/* kind of a probe or an event. */
enum lm_snap_kind {
	LM_SNAP_NORMAL = 0,
	LM_SNAP_HIGHPRI = 1,
	LM_SNAP_UNBOUND = 2,
	LM_SNAP_BH = 3,
	LM_SNAP_KTHREAD = 4,
};

#define LM_SNAP_PROBE_ONLINE	  0x1
#define LM_SNAP_PROBE_PENDING	  0x2
#define LM_SNAP_PROBE_SCHED_KNOWN 0x4

struct lm_snap_probe {
	__le32 cpu;
	__le32 kind;
	__le32 flags;
	__le32 reserved;
	__le64 beats;
	__le64 missed;
	__le64 over;
	__le64 self;
	__le64 max_ns;
	__le64 max_due_ns;
	__le64 max_run_ns;
	__le64 pending_ns;
	__le64 irq_max_ns;
	__le64 sched_max_ns;
	__le64 wq_max_ns;
};

#define LM_SNAP_EVENT_SCHED_KNOWN 0x1
#define LM_SNAP_EVENT_CUT	  0x2

struct lm_snap_event {
	__le64 number;
	__le32 cpu;
	__le32 kind;
	__le32 run_cpu;
	__le32 flags;
	__le32 pid;
	__le32 held_pid;
	__le64 total_ns;
	__le64 due_ns;
	__le64 run_ns;
	__le64 irq_ns;
	__le64 sched_ns;
	__le64 self_ns;
	__le64 held_ns;
	__le64 due_mono_ns;
	__u8 func[64];
	__u8 module[56];
};

#endif
